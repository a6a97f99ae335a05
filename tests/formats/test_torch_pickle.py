from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ln_audit.core import Declared, Range, Stored, TensorInfo
from ln_audit.errors import FormatError, UnsupportedError
from ln_audit.formats.assembly import read_sharded
from ln_audit.formats.dtypes import DTYPES, array, decode
from ln_audit.formats.torch_pickle import Placed, place_tensor, read_checkpoint, read_tensors, recognises
from tests.formats.memory_source import MemorySource
from tests.formats.torch_files import Call, Global, Tensor, save, save_legacy, tensors
from tests.shared import needs

BASE = np.arange(24, dtype=np.float32)
ARRAYS: dict[str, np.ndarray] = {
    "transformer.ln_f.weight": np.linspace(0.5, 2, 6, dtype=np.float32),
    "half": np.array([1.5, -0.0, np.inf], dtype=ml_dtypes.bfloat16),
    "eighth": np.array([1.5, -0.5], dtype=ml_dtypes.float8_e4m3fn),
    "counts": np.arange(-2, 4).reshape(2, 3),
    "unsigned": np.arange(3, dtype=np.uint32),
    "mask": np.array([[True, False]]),
    "scalar": np.array(2.25),
    "nothing": np.zeros((3, 0), np.float32),
}
both = pytest.mark.parametrize("write", [save, save_legacy])


def opened(data: bytes):
    return read_checkpoint(MemorySource({"f": data}), "f")


def refusal(data: bytes) -> FormatError:
    with pytest.raises(FormatError) as caught:
        opened(data)
    return caught.value


@both
def test_every_kind_of_tensor_comes_back(write):
    checkpoint = opened(write(tensors(ARRAYS)))
    stored = checkpoint.read(list(ARRAYS))
    assert (checkpoint.format, checkpoint.files, checkpoint.declared) == ("pytorch", ("f",), ())
    for name, wrote in ARRAYS.items():
        dtype = next(known for known, (_, numpy) in DTYPES.items() if numpy == wrote.dtype.name)
        assert checkpoint.tensors[name] == TensorInfo(name, dtype, wrote.shape, wrote.nbytes)
        assert stored[name] == Stored(dtype, wrote.shape, wrote.tobytes())


@both
def test_views_of_one_storage_each_come_back_in_their_own_order(write):
    value = {
        "a.whole": Tensor("0", BASE, 0, (4, 6), (6, 1)),
        "a.turned": Tensor("0", BASE, 0, (6, 4), (1, 6)),
        "a.row": Tensor("0", BASE, 6, (6,), (1,)),
        "a.column": Tensor("0", BASE, 2, (4,), (6,)),
        "a.again": Tensor("0", BASE, 6, (2, 3), (3, 1)),
    }
    checkpoint = opened(write(value))
    whole = BASE.reshape(4, 6)
    found = {name: decode(stored).tolist() for name, stored in checkpoint.read(list(value)).items()}
    assert found == {
        "a.whole": whole.tolist(),
        "a.turned": whole.T.tolist(),
        "a.row": whole[1].tolist(),
        "a.column": whole[:, 2].tolist(),
        "a.again": whole[1].reshape(2, 3).tolist(),
    }
    tied = (("a.whole", "a.turned"), ("a.row", "a.again"))
    assert checkpoint.declared == (Declared("tied", tied, "f"),)


@both
def test_a_training_checkpoint_gives_its_model_and_says_where_it_was(write):
    tied = Tensor("0", BASE, 0, (4, 6), (6, 1))
    model = {"wte.weight": tied, "ln_f.weight": Tensor("1", BASE[:6], 0, (6,), (1,)), "head.weight": tied}
    moments = {"state": {n: {"exp_avg": tied, "exp_avg_sq": tied} for n in range(3)}, "param_groups": [{"lr": 0.1}]}
    parameter = Call(
        Global("torch._utils", "_rebuild_parameter"), (tied, True, Call(Global("collections", "OrderedDict"), ()))
    )
    value = {"optimizer": moments, "nested": {"model_state": model}, "step": 7, "best": {"p.q": parameter}}
    checkpoint = opened(write(value))
    assert list(checkpoint.tensors) == ["wte.weight", "ln_f.weight", "head.weight"]
    assert checkpoint.declared == (
        Declared("state_dict", "nested.model_state", "f"),
        Declared("tied", (("wte.weight", "head.weight"),), "f"),
    )


@both
def test_a_file_cut_at_any_length_is_refused(write):
    data = write(tensors(ARRAYS))
    for length in range(len(data)):
        assert refusal(data[:length]).message.startswith("f: ")


@both
def test_bytes_behind_the_end_are_refused(write):
    assert refusal(write(tensors(ARRAYS)) + b"\0").message.startswith("f: ")


@both
def test_a_flipped_byte_anywhere_is_read_or_refused_never_a_crash(write):
    data = write(tensors({name: ARRAYS[name] for name in ("transformer.ln_f.weight", "half", "unsigned")}))
    outcomes = {"read": 0, "refused": 0}
    for position in range(len(data)):
        for flip in (0x01, 0x20, 0x80, 0xFF):
            damaged = bytearray(data)
            damaged[position] ^= flip
            try:
                checkpoint = opened(bytes(damaged))
                for stored in checkpoint.read(list(checkpoint.tensors)).values():
                    array(stored)
                outcomes["read"] += 1
            except FormatError:
                outcomes["refused"] += 1
    assert min(outcomes.values()) > 0, outcomes


@both
def test_a_size_blown_up_anywhere_is_refused_or_read_as_it_was(write):
    """Every four bytes in turn become the largest number: lengths, counts, offsets, sizes, strides, places in the file."""
    data = write(tensors({"a.b": ARRAYS["transformer.ln_f.weight"]}))
    for position in range(len(data) - 4):
        for new in (b"\xff\xff\xff\xff", b"\xff\xff\xff\x7f", bytes(4)):
            blown = data[:position] + new + data[position + 4 :]
            try:
                checkpoint = opened(blown)
                stored = checkpoint.read(list(checkpoint.tensors))
            except FormatError:
                continue
            assert sum(len(value.data) for value in stored.values()) <= len(data)


GOOD = {write: write(tensors(ARRAYS)) for write in (save, save_legacy)}
edits = st.lists(
    st.tuples(
        st.floats(0, 1, exclude_max=True),
        st.integers(0, 12),
        st.binary(max_size=12)
        | st.sampled_from([b"(", b"t", b"R", b"b", b"\x81", b"cos\nsystem\n", b"2", b"u", b"\x93"]),
    ),
    min_size=1,
    max_size=4,
)


@both
@settings(max_examples=300, deadline=5_000)
@given(changes=edits)
def test_nothing_but_a_format_error_leaves_the_reader(write, changes):
    data = bytearray(GOOD[write])
    for at, removed, put in changes:
        place = int(at * len(data))
        data[place : place + removed] = put
    said = ""
    try:
        checkpoint = opened(bytes(data))
        stored = checkpoint.read(list(checkpoint.tensors))
        assert all(checkpoint.tensors[name].nbytes == len(value.data) for name, value in stored.items())
    except FormatError as error:
        said = error.message
    assert "\n" not in said


@pytest.mark.parametrize(
    ("data", "found"),
    [
        (b"", "an empty file (0 bytes)"),
        (
            b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 12\n",
            "a Git LFS pointer to a file of 12 bytes",
        ),
        (b"<!DOCTYPE html><html></html>", "an HTML page"),
        (b"GGUF\3\0\0\0", "a GGUF file"),
        (b"\x89HDF\r\n\x1a\n", "an HDF5 file (Keras, TensorFlow)"),
        (b"abc", "3 bytes of an unknown format"),
        (bytes(100), "only zero bytes at its beginning"),
    ],
)
def test_impostors_are_called_what_they_are(data, found):
    assert not recognises(data)
    assert refusal(data).message == f"f: expected a PyTorch file, found {found}"


@both
def test_its_own_beginning_is_recognised(write):
    assert recognises(write(tensors(ARRAYS))[:512])


def test_shards_are_joined_by_their_index():
    index = b'{"metadata": {"total_size": 48}, "weight_map": {"a.b": "m-1.bin", "c.d": "m-2.bin"}}'
    first, second = (save(tensors({name: ARRAYS["transformer.ln_f.weight"]})) for name in ("a.b", "c.d"))
    source = MemorySource({"pytorch_model.bin.index.json": index, "m-1.bin": first, "m-2.bin": second})
    checkpoint = read_sharded(source, "pytorch_model.bin.index.json", read_checkpoint)
    stored = checkpoint.read(["c.d", "a.b"])
    assert {value.data for value in stored.values()} == {ARRAYS["transformer.ln_f.weight"].tobytes()}
    assert (checkpoint.format, checkpoint.files) == ("pytorch", ("pytorch_model.bin.index.json", "m-1.bin", "m-2.bin"))


@both
def test_any_tensor_of_any_object_can_be_read_by_what_leads_to_it(write):
    value = {"before": Tensor("0", BASE, 0, (4, 6), (6, 1)), "hidden_states": [Tensor("1", BASE[:3], 1, (2,), (1,))]}
    source = MemorySource({"f.pt": write(value)})
    found = read_tensors(source, "f.pt", ["hidden_states.0", "before"])
    assert {name: decode(stored).tolist() for name, stored in found.items()} == {
        "hidden_states.0": [1, 2],
        "before": BASE.reshape(4, 6).tolist(),
    }
    with pytest.raises(FormatError) as caught:
        read_tensors(source, "f.pt", ["after"])
    assert caught.value.message == "f.pt: 'after': expected a tensor of that name, found 'before', 'hidden_states.0'"
    alone = MemorySource({"f.pt": write(value["before"])})
    assert decode(read_tensors(alone, "f.pt", ["tensor"])["tensor"]).tolist() == BASE.reshape(4, 6).tolist()


@both
def test_a_tensor_says_where_it_lies_if_its_elements_lie_in_their_order(write):
    data = write({"a.b": Tensor("0", BASE, 6, (2, 3), (3, 1)), "turned": Tensor("0", BASE, 0, (6, 4), (1, 6))})
    source = MemorySource({"f": data})
    placed = place_tensor(source, "f", "a.b")
    assert placed == Placed("F32", (2, 3), Range(placed.range.begin, placed.range.begin + 24))
    assert data[placed.range.begin : placed.range.end] == BASE[6:12].tobytes()
    with pytest.raises(
        UnsupportedError, match=r"'turned': expected elements one behind the other, found a view of strides \[1, 6\]"
    ):
        place_tensor(source, "f", "turned")
    with pytest.raises(FormatError, match=r"^f: 'c': expected a tensor of that name, found 'a\.b', 'turned'$"):
        place_tensor(source, "f", "c")


def test_a_big_endian_tensor_is_not_placed():
    source = MemorySource({"f": save({"a.b": Tensor("0", BASE, 0, (6,), (1,))}, byteorder=b"big")})
    with pytest.raises(UnsupportedError, match="found big-endian ones"):
        place_tensor(source, "f", "a.b")


def test_the_real_training_checkpoints():
    """What their own makers say of them: `n_params` 211,712, the tied head once; `ln_f.gamma` and no bias."""
    data = needs("real", "torch", "slm-4096-ckpt.pt").read_bytes()
    checkpoint = opened(data)
    masks = [name for name in checkpoint.tensors if name.endswith(".attn.mask")]
    sizes = {name: info.elements for name, info in checkpoint.tensors.items()}
    assert sum(sizes.values()) == 280_704
    assert sum(sizes.values()) - sum(sizes[name] for name in masks) == 215_168
    assert checkpoint.declared == (
        Declared("state_dict", "model_state", "f"),
        Declared("tied", (("tok_emb.weight", "head.weight"),), "f"),
    )
    assert 215_168 - sizes["head.weight"] == 211_712
    other = opened(needs("real", "torch", "gpt-by-hand-ckpt.pt").read_bytes())
    assert [name for name in other.tensors if "ln_f" in name] == ["transformer.ln_f.gamma"]
    assert decode(other.read(["transformer.ln_f.gamma"])["transformer.ln_f.gamma"]).shape == (16,)
    assert other.declared[0] == Declared("state_dict", "model", "f")


def test_every_real_file_is_read_or_refused_with_the_reason():
    paths = sorted(needs("real", "torch").rglob("*.pt"))
    assert len(paths) == 156
    refused = []
    for path in paths:
        try:
            checkpoint = opened(path.read_bytes())
            assert len(checkpoint.read(list(checkpoint.tensors))) >= 1
        except FormatError as error:
            refused.append((path.name, error.message))
    assert refused == [("broken.pt", "f: expected a PyTorch file, found 3 bytes of an unknown format")]


def test_wrapped_names_are_read_as_they_are_and_their_values_too():
    checkpoint = opened(needs("cases", "BR-13", "ckpt", "model.pt").read_bytes())
    assert all(name.startswith("module._orig_mod.transformer.") for name in checkpoint.tensors)
    assert decode(
        checkpoint.read(["module._orig_mod.transformer.ln_f.weight"])["module._orig_mod.transformer.ln_f.weight"]
    ).shape == (16,)


def test_a_call_beside_the_state_dict_refuses_the_file_and_is_not_made(capfd):
    error = refusal(needs("cases", "BR-56", "ckpt", "pytorch_model.bin").read_bytes())
    assert error.message == "f: builtins.print: expected tensors, found a name that makes none"
    assert "LN_AUDIT_PICKLE_EXECUTED" not in "".join(capfd.readouterr())
