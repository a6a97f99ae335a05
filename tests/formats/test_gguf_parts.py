from __future__ import annotations

import pytest

from ln_audit.core import Declared, Stored, TensorInfo
from ln_audit.errors import FormatError, UnsupportedError
from ln_audit.formats.gguf import read_checkpoint
from ln_audit.formats.gguf_header import read_header
from ln_audit.formats.gguf_parts import Split, part_names, read_split
from tests.formats.gguf_file import ARRAY, I32, STRING, U16, U32, GgufFile, Tensor, floats
from tests.formats.memory_source import MemorySource


def part(number: int, parts: int, *tensors: Tensor, total: int | None = None, **keys: str) -> bytes:
    values: list = [(f"general.{key}", STRING, value) for key, value in keys.items()]
    values += [("split.no", U16, number), ("split.count", U16, parts)]
    values += [("split.tensors.count", I32, total)] if total is not None else []
    return GgufFile(values, list(tensors)).whole()


def name(number: int, parts: int = 3) -> str:
    return f"Q8/m-{number:05d}-of-{parts:05d}.gguf"


def ones(tensor: str, value: float) -> Tensor:
    return Tensor(tensor, "F32", (2,), floats(value, value))


def three() -> dict[str, bytes]:
    """As `llama-gguf-split --no-tensor-first-split` writes them: all keys in the first part, tensors in the others."""
    return {
        name(1): part(0, 3, total=3, architecture="gpt2"),
        name(2): part(1, 3, ones("a", 1), ones("b", 2), total=3, name="ignored by loaders"),
        name(3): part(2, 3, ones("output_norm.weight", 3), total=3),
    }


def refused(files: dict[str, bytes], file: str = name(1)) -> FormatError:
    with pytest.raises(FormatError) as caught:
        read_checkpoint(MemorySource(files), file)
    return caught.value


def test_the_first_part_stands_for_all_of_them():
    source = MemorySource(three())
    checkpoint = read_checkpoint(source, name(1))
    assert checkpoint.format == "gguf"
    assert checkpoint.files == (name(1), name(2), name(3))
    assert checkpoint.tensors == {each: TensorInfo(each, "F32", (2,), 8) for each in ("a", "b", "output_norm.weight")}
    assert checkpoint.read(["output_norm.weight", "a"]) == {
        "output_norm.weight": Stored("F32", (2,), floats(3, 3)),
        "a": Stored("F32", (2,), floats(1, 1)),
    }
    assert checkpoint.declared == (
        Declared("general.architecture", "gpt2", name(1)),
        Declared("split.no", 0, name(1)),
        Declared("split.count", 3, name(1)),
        Declared("split.tensors.count", 3, name(1)),
    )
    assert (checkpoint.index, checkpoint.read_from) == (None, None)
    assert source.asked == [name(2), name(3)]


def test_a_missing_part_is_named():
    files = three()
    del files[name(3)]
    error = refused(files)
    assert error.message == f"{name(1)}: split.count: expected {name(3)} beside it, found no such file"
    assert error.hint == "1 of 3 parts are not there: the download is not complete"


def test_a_later_part_says_which_file_to_name():
    error = refused(three(), name(2))
    assert error.message == f"{name(2)}: split.no: expected the first part, found part 2 of 3"
    assert error.hint == f"name {name(1)}; the other parts are read with it"


def test_a_part_under_another_name_cannot_be_completed():
    error = refused({"renamed.gguf": three()[name(1)]}, "renamed.gguf")
    assert error.message == (
        "renamed.gguf: split.no: expected a name that ends in -00001-of-00003.gguf, as the file is part 1 of 3, "
        "found another name"
    )


def test_parts_that_were_mixed_up_are_refused():
    files = three()
    files[name(2)], files[name(3)] = files[name(3)], files[name(2)]
    assert refused(files).message == f"{name(2)}: split.no: expected part 2 of 3, found part 3 of 3"
    files = three() | {name(2): GgufFile(tensors=[ones("a", 1)]).whole()}
    assert refused(files).message == f"{name(2)}: split.no: expected part 2 of 3, found a whole model"


def test_a_part_that_is_damaged_is_named_itself():
    files = three()
    files[name(3)] = files[name(3)][:-28]
    assert refused(files).message.startswith(f"{name(3)}: 'output_norm.weight': expected bytes ")


def test_a_tensor_in_two_parts_is_refused():
    files = three()
    files[name(3)] = part(2, 3, ones("a", 3), total=3)
    assert refused(files).message == (f"{name(1)}: 'a': expected it in one part, found it in {name(2)} and {name(3)}")


def test_all_parts_hold_as_many_tensors_as_the_first_one_says():
    files = three()
    files[name(1)] = part(0, 3, total=4)
    assert refused(files).message == f"{name(1)}: split.tensors.count: expected 4 tensors in all parts, found 3"
    files[name(1)] = part(0, 3)
    assert len(read_checkpoint(MemorySource(files), name(1)).tensors) == 3


def test_a_set_of_one_is_a_whole_model_of_any_name():
    data = part(0, 1, ones("a", 1))
    assert read_checkpoint(MemorySource({"f": data}), "f").files == ("f",)


def split(*values) -> Split | None:
    return read_split(read_header(MemorySource({"f": GgufFile(list(values)).header()}), "f"))


def test_the_keys_say_which_part_a_file_is():
    assert split() is None
    assert split(("split.count", U16, 0)) is None
    assert split(("split.no", U16, 1), ("split.count", U16, 2)) == Split(1, 2, None)
    assert split(("split.no", U32, 0), ("split.count", U32, 2), ("split.tensors.count", I32, 7)) == Split(0, 2, 7)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([("split.count", U16, 2)], "split.no: expected a number below 2, found no such key"),
        ([("split.no", U16, 2), ("split.count", U16, 2)], "split.no: expected a number below 2, found 2"),
        ([("split.count", STRING, "2")], "split.count: expected a count, found '2'"),
        ([("split.count", I32, -1)], "split.count: expected a count, found -1"),
        ([("split.count", ARRAY, (STRING, ["2"]))], "split.count: expected a count, found None"),
        (
            [("split.no", U16, 0), ("split.count", U16, 65_535)],
            "split.count: expected at most 4,096 parts, found 65,535",
        ),
    ],
)
def test_keys_that_contradict_each_other_are_refused(values, message):
    with pytest.raises(FormatError) as caught:
        split(*values)
    assert caught.value.message == f"f: {message}"
    assert isinstance(caught.value, UnsupportedError) == ("at most" in message)


def test_names_are_those_that_llama_cpp_looks_for():
    assert part_names("a-00001-of-00002.gguf", Split(0, 2, None)) == ["a-00001-of-00002.gguf", "a-00002-of-00002.gguf"]
    with pytest.raises(FormatError, match=r"expected a name that ends in -00001-of-00003\.gguf"):
        part_names("a-00001-of-00002.gguf", Split(0, 3, None))
