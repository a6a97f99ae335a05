"""PyTorch's own files and PyTorch's own reading, against ours: every dtype, both containers, strides, shared storages."""

from __future__ import annotations

import io
import pickle
import random
import warnings
from pathlib import Path

import numpy as np
import pytest

from ln_audit.errors import FormatError
from ln_audit.formats import torch_pickle
from ln_audit.formats.dtypes import DTYPES
from scripts.fuzz_torch import good_files, mutate, mutate_inside
from tests.formats import torch_files
from tests.formats.memory_source import MemorySource
from tests.shared import needs

torch = pytest.importorskip("torch")
pytestmark = [
    pytest.mark.peers,
    pytest.mark.filterwarnings("ignore:Detected pickle protocol"),
    pytest.mark.filterwarnings("ignore:TypedStorage is deprecated"),
]

# Every dtype that PyTorch saves as plain elements, and ours for it.
KINDS = {
    "float64": "F64", "float32": "F32", "float16": "F16", "bfloat16": "BF16", "int64": "I64", "int32": "I32", "int16": "I16",
    "int8": "I8", "uint8": "U8", "bool": "BOOL", "uint16": "U16", "uint32": "U32", "uint64": "U64", "complex64": "C64",
    "complex128": "C128", "float8_e5m2": "F8_E5M2", "float8_e4m3fn": "F8_E4M3", "float8_e8m0fnu": "F8_E8M0",
    "float8_e5m2fnuz": "F8_E5M2FNUZ", "float8_e4m3fnuz": "F8_E4M3FNUZ",
}  # fmt: skip
both = pytest.mark.parametrize("zipped", [True, False], ids=["zip", "legacy"])


def saved(value: object, *, zipped: bool) -> bytes:
    file = io.BytesIO()
    torch.save(value, file, _use_new_zipfile_serialization=zipped)
    return file.getvalue()


def octets(tensor) -> bytes:
    """The elements in their order, as bytes."""
    flat = tensor.detach().contiguous().reshape(-1)
    return flat.view(torch.uint8).numpy().tobytes() if flat.numel() else b""


def ours(data: bytes) -> dict[str, tuple[str, tuple[int, ...], bytes]]:
    """Name → dtype, shape and bytes, of everything in the file."""
    found = torch_pickle.read_checkpoint(MemorySource({"f.pt": data}), "f.pt")
    stored = found.read(list(found.tensors))
    assert {name: (info.dtype, info.shape) for name, info in found.tensors.items()} == {
        name: (value.dtype, value.shape) for name, value in stored.items()
    }
    return {name: (value.dtype, value.shape, value.data) for name, value in stored.items()}


def theirs(tensors) -> dict[str, tuple[str, tuple[int, ...], bytes]]:
    return {
        name: (KINDS[str(tensor.dtype).removeprefix("torch.")], tuple(tensor.shape), octets(tensor))
        for name, tensor in tensors.items()
    }


@both
@pytest.mark.parametrize("kind", KINDS)
def test_every_dtype_comes_back_bit_for_bit(kind, zipped):
    dtype = getattr(torch, kind)
    raw = torch.randint(0, 2 if kind == "bool" else 256, (12 * dtype.itemsize,), dtype=torch.uint8)
    tensor = raw.view(dtype).reshape(3, 4)
    data = saved({"a": tensor, "row": tensor[1], "column": tensor[:, 2], "turned": tensor.T}, zipped=zipped)
    found = ours(data)
    for name, expected in {"a": tensor, "row": tensor[1], "column": tensor[:, 2], "turned": tensor.T}.items():
        assert found[name] == (KINDS[kind], tuple(expected.shape), octets(expected))


@both
def test_views_parameters_scalars_and_empty_tensors_come_back(zipped):
    base = torch.arange(120.0).reshape(2, 3, 4, 5)
    tensors = {
        "permuted": base.permute(3, 1, 0, 2),
        "strided": base[:, ::2, 1:, ::3],
        "repeated": base[0, 0, 0].expand(7, 5),
        "scalar": base[1, 2, 3, 4],
        "empty": base[:, :0],
        "parameter": torch.nn.Parameter(base[1]),
        "channels last": base.to(memory_format=torch.channels_last),
    }
    with warnings.catch_warnings(action="ignore"):
        assert ours(saved(tensors, zipped=zipped)) == theirs(tensors)


@both
def test_a_model_with_tied_weights_and_its_optimizer_gives_the_model(zipped):
    class Model(torch.nn.Module):  # type: ignore[misc,name-defined]
        def __init__(self):
            super().__init__()
            self.wte = torch.nn.Embedding(5, 4)
            self.ln_f = torch.nn.LayerNorm(4)
            self.head = torch.nn.Linear(4, 5, bias=False)
            self.head.weight = self.wte.weight

    model = Model()
    optimizer = torch.optim.AdamW(model.parameters())
    model.head(model.ln_f(model.wte(torch.tensor([1, 2])))).sum().backward()
    optimizer.step()
    data = saved({"optimizer": optimizer.state_dict(), "model": model.state_dict(), "step": 1}, zipped=zipped)
    checkpoint = torch_pickle.read_checkpoint(MemorySource({"f.pt": data}), "f.pt")
    assert [(fact.key, fact.value) for fact in checkpoint.declared] == [
        ("state_dict", "model"),
        ("tied", (("wte.weight", "head.weight"),)),
    ]
    assert ours(data) == theirs(model.state_dict())


@pytest.mark.parametrize("name", ["slm-4096-ckpt.pt", "gpt-by-hand-ckpt.pt"])
def test_the_real_training_checkpoints_are_read_as_torch_reads_them(name):
    path = needs("real", "torch", name)
    expected = torch.load(path, weights_only=True, map_location="cpu")
    assert ours(path.read_bytes()) == theirs(expected.get("model_state", expected.get("model")))


def flattened(value, path="") -> dict[str, object]:
    """Every tensor of nested mappings by its dotted path; a tensor by itself is called `tensor`."""
    if isinstance(value, torch.Tensor):
        return {path or "tensor": value}
    found: dict[str, object] = {}
    for key, inner in value.items() if isinstance(value, dict) else ():
        found |= flattened(inner, f"{path}.{key}" if path else str(key))
    return found


# Files whose state dict is not their outermost mapping, and where it is.
INSIDE = {
    "checkpoint": "model_state_dict",
    "complex_structure": "state",
    "top_level_key": "my_state_dict",
    "weights_with_config": "my_model",
}


def test_the_files_of_burn_are_read_as_torch_reads_them():
    paths = sorted(needs("real", "torch", "burn").glob("*.pt"))
    assert len(paths) == 54
    read = 0
    for path in paths:
        if path.stem == "broken":
            with pytest.raises(FormatError, match="expected a PyTorch file, found 3 bytes of an unknown format"):
                ours(path.read_bytes())
            continue
        expected = torch.load(path, weights_only=True)
        assert ours(path.read_bytes()) == theirs(flattened(expected.get(INSIDE.get(path.stem), expected))), path.stem
        read += 1
    assert read == 53


def test_the_files_of_gopickle_are_read_as_torch_reads_them():
    """PyTorch refuses protocols 1, 4 and 5 with `weights_only`; those files hold the tensor of protocol 2."""
    paths = sorted(needs("real", "torch", "gopickle").glob("*.pt"))
    assert len(paths) == 100
    itself = 0
    for path in paths:
        protocol = path.stem.split("proto")[1][0]
        reference = Path(str(path).replace(f"proto{protocol}", "proto2"))
        expected = torch.load(path if protocol in "23" else reference, weights_only=True)
        itself += protocol in "23"
        assert ours(path.read_bytes()) == theirs({"tensor": expected}), path.stem
    assert itself == 40


@both
def test_torch_reads_what_the_writer_of_our_tests_writes(zipped):
    base = np.arange(24, dtype=np.float32)
    value = {
        "whole": torch_files.Tensor("0", base, 0, (4, 6), (6, 1)),
        "turned": torch_files.Tensor("0", base, 1, (3, 2), (1, 6)),
        "short": torch_files.Tensor("1", np.arange(5, dtype=np.uint16), 0, (5,), (1,)),
    }
    data = torch_files.save(value) if zipped else torch_files.save_legacy(value)
    expected = torch.load(io.BytesIO(data), weights_only=True)
    assert expected["turned"].tolist() == [[1, 7], [2, 8], [3, 9]]
    assert ours(data) == theirs(expected)


def test_big_endian_storages_are_read_as_torch_reads_them():
    arrays = {"a": np.arange(6, dtype=">f4"), "c": np.array([1 + 2j, 3 - 4j], ">c8"), "i": np.arange(3, dtype=">i8")}
    data = torch_files.save(torch_files.tensors(arrays), byteorder=b"big")
    expected = torch.load(io.BytesIO(data), weights_only=True)
    assert expected["a"].tolist() == [0, 1, 2, 3, 4, 5]
    assert ours(data) == theirs(expected)


def test_a_file_without_checksums_is_read():
    torch.serialization.set_crc32_options(False)
    try:
        data = saved({"a": torch.arange(5.0)}, zipped=True)
    finally:
        torch.serialization.set_crc32_options(True)
    assert ours(data) == theirs({"a": torch.arange(5.0)})


@pytest.mark.parametrize("name", ["_rebuild_sparse_tensor", "_rebuild_qtensor"])
def test_tensors_without_plain_elements_are_refused_by_name(name):
    with warnings.catch_warnings(action="ignore"):
        value = (
            torch.eye(3).to_sparse()
            if "sparse" in name
            else torch.quantize_per_tensor(torch.ones(3), 0.1, 0, torch.qint8)
        )
        data = saved({"a": value}, zipped=True)
    with pytest.raises(FormatError) as caught:
        ours(data)
    assert caught.value.message == f"f.pt: torch._utils.{name}: expected tensors, found a name that makes none"


def test_a_torchscript_archive_is_refused_and_says_what_it_is():
    file = io.BytesIO()
    with warnings.catch_warnings(action="ignore"):
        torch.jit.save(torch.jit.script(torch.nn.LayerNorm(4)), file)
    with pytest.raises(FormatError) as caught:
        ours(file.getvalue())
    assert caught.value.message == "f.pt: expected a state dict, found a TorchScript program with its weights"


def test_every_dtype_named_here_has_values_or_is_known_to_have_none():
    assert set(KINDS.values()) - DTYPES.keys() == {"C128"}


def test_what_ours_still_reads_of_damaged_files_torch_reads_the_same_or_not_at_all():
    rng, good = random.Random(7), good_files()
    agreed = 0
    for number in range(3_000):
        data = mutate_inside(rng, good[0]) if number % 4 == 3 else mutate(rng, good[number % 4])
        try:
            found = ours(data)
        except FormatError:
            continue
        try:
            expected = torch.load(io.BytesIO(data), weights_only=True)
        except (pickle.UnpicklingError, RuntimeError, TypeError):  # opcodes and arguments that it knows less of
            continue
        state = expected.get("model", expected)
        assert found == theirs(state if found.keys() == state.keys() else flattened(expected)), data
        agreed += 1
    assert agreed > 50
