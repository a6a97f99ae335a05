from __future__ import annotations

import pytest

from ln_audit.errors import FormatError, UnsupportedError
from ln_audit.formats.dtypes import DTYPES
from ln_audit.formats.pickle_stack import Group, Pairs
from ln_audit.formats.torch_names import names
from ln_audit.formats.torch_views import Kind, Storage, View

STORAGE = Storage("0", "F32", 4, 48)
UNTYPED = Storage("1", "U8", 1, 48)
V2 = (STORAGE, 2, (2, 3), (3, 1), False, Pairs())
TENSOR = View(STORAGE, "F32", 4, 2, (2, 3), (3, 1))


def made(name: str, *arguments: object) -> object:
    make = names()[name].make
    assert make is not None
    return make(arguments, "f: byte 7")


def refusal(name: str, *arguments: object) -> str:
    with pytest.raises(FormatError) as caught:
        made(name, *arguments)
    return caught.value.message


def test_the_table_is_these_names():
    """Whoever adds one opens the door a little further: it is to be seen here."""
    plain = {name for name, known in names().items() if not isinstance(known, Kind)}
    assert plain == {
        "collections.OrderedDict", "collections.Counter", "builtins.set", "builtins.complex", "builtins.bytearray",
        "_codecs.encode", "torch.Size", "torch.device", "torch.serialization._get_layout", "torch.Tensor",
        "torch.nn.parameter.Parameter", "torch._utils._rebuild_tensor", "torch._utils._rebuild_tensor_v2",
        "torch._utils._rebuild_tensor_v3", "torch._utils._rebuild_parameter", "torch._utils._rebuild_parameter_with_state",
        "torch._tensor._rebuild_from_type_v2",
    }  # fmt: skip
    kinds = {name for name, known in names().items() if isinstance(known, Kind)}
    assert len(kinds) == 2 * 12 + 1 + 22
    assert all(name.startswith("torch.") for name in kinds)
    assert all(known.name == name for name, known in names().items())


def test_a_dtype_is_as_wide_as_the_dtypes_say():
    kinds = [known for known in names().values() if isinstance(known, Kind)]
    assert {kind.dtype for kind in kinds} - DTYPES.keys() == {"C32", "C128", "float4_e2m1fn_x2"}
    for kind in kinds:
        assert kind.make is None
        assert DTYPES.get(kind.dtype, (8 * kind.width,))[0] == 8 * kind.width


def test_tensors_are_views_of_their_storage():
    assert made("torch._utils._rebuild_tensor", *V2[:4]) == TENSOR
    assert made("torch._utils._rebuild_tensor_v2", *V2) == TENSOR
    assert made("torch._utils._rebuild_tensor_v2", *V2, Pairs([("neg", False)])) == TENSOR
    assert made("torch._utils._rebuild_parameter", TENSOR, True, Pairs()) is TENSOR
    assert made("torch._utils._rebuild_parameter_with_state", TENSOR, True, Pairs(), Pairs()) is TENSOR
    v3 = (UNTYPED, 2, (2, 3), (3, 1), False, Pairs(), names()["torch.uint16"])
    assert made("torch._utils._rebuild_tensor_v3", *v3) == View(UNTYPED, "U16", 2, 2, (2, 3), (3, 1))
    kind = names()["torch._utils._rebuild_tensor_v2"]
    assert made("torch._tensor._rebuild_from_type_v2", kind, names()["torch.Tensor"], V2, Pairs()) == TENSOR


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "f: byte 7: expected storage, offset, size and stride of a tensor, found ()"),
        ((TENSOR, 0, (), ()), "f: byte 7: expected storage, offset, size and stride of a tensor, found (a view, 0, a tuple, a tuple)"),
        ((STORAGE, -1, (), ()), "f: byte 7: offset: expected an integer from 0 to 2^63 - 1, found -1"),
        ((STORAGE, 0, None, ()), "f: byte 7: size: expected a tuple of integers, found None"),
        ((STORAGE, 0, (2,), ()), "f: byte 7: expected a stride for each of 1 sizes, found 0"),
        ((STORAGE, 0, (2,), (-1,)), "f: byte 7: stride: expected an integer from 0 to 2^63 - 1, found -1"),
        ((STORAGE, 0, (13,), (1,)), "f: byte 7: storage '0': expected at least 52 bytes for F32 [13], found 48"),
    ],
)  # fmt: skip
def test_a_tensor_that_is_none_is_refused(arguments, message):
    assert refusal("torch._utils._rebuild_tensor", *arguments) == message
    assert refusal("torch._utils._rebuild_tensor_v2", *arguments) == message


def test_a_view_to_be_conjugated_or_negated_is_not_read_as_it_is():
    with pytest.raises(UnsupportedError, match="expected elements as they are stored, found a view marked 'conj'"):
        made("torch._utils._rebuild_tensor_v2", *V2, Pairs([("conj", True), ("neg", False)]))
    assert refusal("torch._utils._rebuild_tensor_v2", *V2, 1) == "f: byte 7: expected metadata of the tensor, found 1"


def test_other_arguments_than_a_writers_are_refused():
    assert refusal("torch._utils._rebuild_tensor_v3", *V2) == "f: byte 7: expected the tensor's dtype, found None"
    assert refusal("torch._utils._rebuild_tensor_v3", *V2, names()["torch.Size"]).endswith("found torch.Size")
    assert (
        refusal("torch._utils._rebuild_parameter", STORAGE)
        == "f: byte 7: expected the parameter's tensor, found a storage"
    )
    assert refusal("torch._utils._rebuild_parameter") == "f: byte 7: expected the parameter's tensor, found None"
    from_type = "torch._tensor._rebuild_from_type_v2"
    assert (
        refusal(from_type, V2) == "f: byte 7: expected function, type, arguments and state of a tensor, found 1 values"
    )
    itself = names()[from_type]
    message = "f: byte 7: torch._tensor._rebuild_from_type_v2: expected a function that makes a tensor, found another"
    assert refusal(from_type, itself, None, (itself, None, (), None), None) == message
    assert "torch.Size: expected a function that makes a tensor" in refusal(
        from_type, names()["torch.Size"], None, (), None
    )


def test_containers_are_copied_as_their_members():
    assert made("collections.OrderedDict") == Pairs()
    assert made("collections.OrderedDict", [["a", 1], ("b", 2)]) == Pairs([("a", 1), ("b", 2)])
    assert made("collections.Counter", Pairs([("a", 1)])) == Pairs([("a", 1)])
    assert made("builtins.set", [1, 1]) == Group([1, 1])
    assert made("torch.Size", (1, 2)) == (1, 2)
    assert refusal("collections.OrderedDict", ["ab", 1]) == "f: byte 7: expected pairs of a key and a value, found 'ab'"
    assert refusal("collections.OrderedDict", 10**9) == "f: byte 7: expected a list of pairs, found 1000000000"
    assert refusal("builtins.set", 10**9) == "f: byte 7: expected a list of members, found 1000000000"


def test_byte_strings_are_made_of_latin1_and_of_no_other_codec():
    assert made("_codecs.encode", "a\xff", "latin1") == b"a\xff"
    assert made("builtins.bytearray", "a\xff", "latin-1") == made("builtins.bytearray", b"a\xff") == b"a\xff"
    assert refusal("_codecs.encode", "a", "rot13") == "f: byte 7: expected text in latin1, found 'a' in 'rot13'"
    assert refusal("_codecs.encode", "a", ["latin1"]) == "f: byte 7: expected text in latin1, found 'a' in a list"
    assert refusal("_codecs.encode", "\u0142", "latin1") == "f: byte 7: expected text in latin1, found '\\u0142' in it"
    assert refusal("builtins.bytearray", 10**12) == "f: byte 7: expected text in latin1, found 1000000000000 in None"


def test_what_no_tensor_is_made_of_is_left_aside():
    assert made("torch.device", "cuda", 0) is None
    assert made("builtins.complex", 1.0, 2.0) is None
    assert made("torch.serialization._get_layout", "torch.strided") is None
