from __future__ import annotations

import math
import struct
import sys
from typing import TYPE_CHECKING

import ml_dtypes
import numpy as np
import pytest

from ln_audit.core import Declared, Range, Stored, TensorInfo
from ln_audit.errors import FormatError, UnsupportedError
from ln_audit.formats import safetensors
from ln_audit.formats.dtypes import array, decode
from ln_audit.formats.gguf import read_checkpoint, recognises
from ln_audit.sources import open_source
from ln_audit.sources.settings import Settings
from scripts import sparse_gguf
from tests.formats.gguf_file import GgufFile, Tensor, floats, small
from tests.formats.memory_source import MemorySource
from tests.formats.shared import shared

if TYPE_CHECKING:
    from pathlib import Path

PLAIN = [tensor for tensor in small().tensors if tensor.type != "Q8_0"]
DTYPES = ("<f4", "<f4", "<u2", "<u2", "<f8", "<i8", "<f4")  # of PLAIN, to turn them around


def opened(data: bytes):
    return read_checkpoint(MemorySource({"f": data}), "f")


def refused(data: bytes) -> FormatError:
    with pytest.raises(FormatError) as caught:
        opened(data)
    return caught.value


def big_endian() -> bytes:
    file = small()
    file.order = ">"
    for tensor, dtype in zip(file.tensors, DTYPES, strict=False):
        tensor.data = np.frombuffer(tensor.data, dtype).byteswap().tobytes()
    return file.whole()


@pytest.mark.parametrize("data", [small().whole(), big_endian()], ids=["little", "big"])
def test_plain_tensors_come_back_as_they_were_written_in_little_endian_order(data):
    checkpoint = opened(data)
    assert (checkpoint.format, checkpoint.files) == ("gguf", ("f",))
    assert {name: info for name, info in checkpoint.tensors.items() if info.dtype != "Q8_0"} == {
        str(tensor.name): TensorInfo(str(tensor.name), str(tensor.type), tensor.shape, len(tensor.data))
        for tensor in PLAIN
    }
    read = checkpoint.read([str(tensor.name) for tensor in PLAIN])
    assert read == {tensor.name: Stored(str(tensor.type), tensor.shape, tensor.data) for tensor in PLAIN}
    assert decode(read["double"]).item() == 2.25
    assert decode(read["counts"]).tolist() == [[-1], [2**40]]
    gain = decode(read["output_norm.weight"]).tolist()
    assert (gain[:3], math.copysign(1, gain[1]), math.isnan(gain[3])) == ([1, -0.0, 2.5], -1, True)


def test_keys_become_declared_facts_but_long_ones_do_not():
    declared = {fact.key: fact for fact in opened(small().whole()).declared}
    assert declared.keys() == {key for key, _, _ in small().values} - {"tokenizer.ggml.tokens", "nested"}
    key = "gpt2.attention.layer_norm_epsilon"
    assert declared[key] == Declared(key, struct.unpack("<f", struct.pack("<f", 1e-5))[0], "f")
    assert declared["general.architecture"] == Declared("general.architecture", "gpt2", "f")
    assert declared["gpt2.per_layer"] == Declared("gpt2.per_layer", (4, -5), "f")


def test_values_are_asked_for_in_one_call_and_in_file_order():
    source = MemorySource({"f": small().whole()})
    checkpoint = read_checkpoint(source, "f")
    size = source.size("f")
    source.reads.clear()
    checkpoint.read(["output_norm.bias", "output_norm.weight", "output_norm.bias"])
    begin = size - 32 * (1 + 1 + 1 + 1 + 1 + 1 + 0 + 3)
    assert source.reads == [("f", (Range(begin, begin + 16), Range(begin + 32, begin + 48)))]


def test_a_quantized_norm_is_dequantized_and_says_so():
    pytest.importorskip("gguf", reason="the gguf package is not installed")
    data = struct.pack("<e32b", 0.5, *range(-16, 16))
    checkpoint = opened(GgufFile(tensors=[Tensor("output_norm.weight", "Q8_0", (32,), data)]).whole())
    assert checkpoint.tensors["output_norm.weight"] == TensorInfo("output_norm.weight", "Q8_0", (32,), 34)
    assert checkpoint.read(["output_norm.weight"]) == {
        "output_norm.weight": Stored("F32", (32,), floats(*(0.5 * i for i in range(-16, 16))), exact=False)
    }


def test_a_quantized_tensor_of_a_big_endian_file_is_not_guessed_at():
    checkpoint = opened(big_endian())
    with pytest.raises(UnsupportedError) as caught:
        checkpoint.read(["blk.0.ffn_up.weight"])
    assert caught.value.message == ("f: 'blk.0.ffn_up.weight': expected plain values in a big-endian file, found Q8_0")


def test_recognises_gguf_of_any_version_and_nothing_else():
    assert recognises(small().whole()[:512])
    assert recognises(b"GGUF\1\0\0\0")
    assert not recognises(b"")
    assert not recognises(b"lmgg")
    assert not recognises(b"<!DOCTYPE html><html>")


@pytest.mark.parametrize(
    ("data", "found"),
    [
        (b"lmgg" + bytes(60), "a GGML file, older than GGUF"),
        (b"fmgg\1\0\0\0" + bytes(60), "a GGMF file, older than GGUF"),
        (b"tjgg\3\0\0\0" + bytes(60), "a GGJT file, older than GGUF"),
        (
            b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 99\n",
            "a Git LFS pointer to a file of 99 bytes",
        ),
        (b"PK\3\4" + bytes(60), "a zip archive (PyTorch, npz and Keras files are)"),
        (bytes(64), "only zero bytes at its beginning"),
    ],
)
def test_an_impostor_is_called_what_it_is(data, found):
    assert refused(data).message == f"f: expected a GGUF file, found {found}"
    assert refused(data).hint


@pytest.mark.skipif(sys.platform == "win32", reason="would write 10 GB: files are not sparse there")
def test_one_norm_of_five_gigabytes_is_read_by_range(tmp_path):
    sparse_gguf.write(tmp_path, tokens=5_000)
    source = open_source(str(tmp_path), Settings())
    ours = read_checkpoint(source, "model.gguf")
    same = safetensors.read_checkpoint(source, "model.safetensors")
    assert ours.tensors == same.tensors
    names = ["output_norm.weight", "blk.11.ffn_norm.weight"]
    assert ours.read(names) == same.read(names)
    (used,) = [use for use in source.used if use.name == "model.gguf"]
    assert (used.size or 0) > 5_000_000_000
    assert used.bytes_read < 600_000


# ------------------------------------------------------------------------------- files that the gguf package writes

WRITTEN: dict[str, np.ndarray] = {
    "output_norm.weight": np.linspace(0.5, 2, 96, dtype=np.float32).reshape(3, 32),
    "output_norm.bias": np.linspace(-1, 1, 6, dtype=np.float16),
    "double": np.array([1.5, -0.0, np.inf]),
    "bytes": np.arange(-3, 3, dtype=np.int8),
    "short": np.arange(-3, 3, dtype=np.int16).reshape(1, 2, 3),
    "int": np.arange(-3, 3, dtype=np.int32).reshape(3, 2),
    "long": np.array([2**40, -(2**40)]),
    "scalar": np.array(2.25, np.float32),
}
NAMES = {"f4": "F32", "f2": "F16", "f8": "F64", "i1": "I8", "i2": "I16", "i4": "I32", "i8": "I64"}


def writer(path: Path, order: str = "little", **settings):
    gguf = pytest.importorskip("gguf", reason="the gguf package is not installed")
    made = gguf.GGUFWriter(path, "gpt2", endianess=gguf.GGUFEndian[order.upper()], **settings)
    made.add_name("written by the gguf package")
    made.add_layer_norm_eps(1e-5)
    made.add_block_count(12)
    made.add_bool("gpt2.flag", True)
    made.add_array("gpt2.heads", [12, 12])
    made.add_array("tokenizer.ggml.tokens", [f"t{i}" for i in range(50_000)])
    made.add_array("tokenizer.ggml.scores", [float(i) for i in range(50_000)])
    return made


def finish(made) -> None:
    made.write_header_to_file()
    made.write_kv_data_to_file()
    made.write_tensors_to_file()
    made.close()


@pytest.mark.parametrize("order", ["little", "big"])
def test_the_tensors_come_back_as_the_gguf_package_wrote_them(tmp_path, order):
    made = writer(tmp_path / "m.gguf", order)
    for name, values in WRITTEN.items():
        made.add_tensor(name, values)
    finish(made)
    checkpoint = read_checkpoint(open_source(str(tmp_path), Settings()), "m.gguf")
    assert {fact.key: fact.value for fact in checkpoint.declared} == {
        "general.architecture": "gpt2",
        "general.name": "written by the gguf package",
        "gpt2.attention.layer_norm_epsilon": 9.999999747378752e-06,
        "gpt2.block_count": 12,
        "gpt2.flag": True,
        "gpt2.heads": (12, 12),
    }
    stored = checkpoint.read(list(WRITTEN))
    assert checkpoint.tensors.keys() == stored.keys() == WRITTEN.keys()
    for name, wrote in WRITTEN.items():
        info = TensorInfo(name, NAMES[wrote.dtype.str[1:]], wrote.shape, wrote.nbytes)
        assert checkpoint.tensors[name] == info
        read = array(stored[name])
        assert (read.dtype, read.shape, read.tobytes()) == (wrote.dtype, wrote.shape, wrote.tobytes())


def test_bfloat16_and_quantized_tensors_come_back_as_the_gguf_package_wrote_them(tmp_path):
    made = writer(tmp_path / "m.gguf")
    gguf = pytest.importorskip("gguf.quants", reason="the gguf package is not installed")
    values = WRITTEN["output_norm.weight"]
    half = values.astype(ml_dtypes.bfloat16)
    made.add_tensor("half", half.view(np.uint8), raw_dtype=gguf.GGMLQuantizationType.BF16)
    raw = gguf.quantize(values, gguf.GGMLQuantizationType.Q8_0)
    made.add_tensor("quantized", raw, raw_dtype=gguf.GGMLQuantizationType.Q8_0)
    finish(made)
    checkpoint = read_checkpoint(open_source(str(tmp_path), Settings()), "m.gguf")
    assert checkpoint.tensors == {
        "half": TensorInfo("half", "BF16", (3, 32), 192),
        "quantized": TensorInfo("quantized", "Q8_0", (3, 32), 102),
    }
    assert checkpoint.read(["half", "quantized"]) == {
        "half": Stored("BF16", (3, 32), half.tobytes()),
        "quantized": Stored(
            "F32", (3, 32), gguf.dequantize(raw, gguf.GGMLQuantizationType.Q8_0).astype("<f4").tobytes(), exact=False
        ),
    }


def test_parts_that_the_gguf_package_wrote_are_one_model(tmp_path):
    made = writer(tmp_path / "m.gguf", split_max_tensors=3)
    for name, values in WRITTEN.items():
        made.add_tensor(name, values)
    finish(made)
    checkpoint = read_checkpoint(open_source(str(tmp_path), Settings()), "m-00001-of-00003.gguf")
    assert checkpoint.files == tuple(f"m-0000{i}-of-00003.gguf" for i in (1, 2, 3))
    assert checkpoint.tensors.keys() == WRITTEN.keys()
    for name, stored in checkpoint.read(list(WRITTEN)).items():
        assert array(stored).tobytes() == WRITTEN[name].tobytes()


# --------------------------------------------------------------------------------------- what people reported

RMS = "attention.layer_norm_rms_epsilon"


def case(name: str) -> bytes:
    return (shared("cases") / name / "model.gguf").read_bytes()


@pytest.mark.parametrize(
    ("name", "architecture", "epsilon", "dtype", "width"),
    [
        ("BR-18a", "gemma2", 9.999999974752427e-07, "F32", 32),
        ("BR-18b", "gemma2", 9.999999974752427e-07, "F32", 32),
        ("BR-18c", "gemma2", 9.999999974752427e-07, "F32", 32),
        ("BR-22a", "llama", 9.999999974752427e-07, "F32", 32),
        ("BR-22b", "llama", 9.999999974752427e-07, "F32", 32),
        ("BR-22c", "gemma3", None, "F32", 32),
        ("BR-38", "llama", 9.999999747378752e-06, "Q8_0", 128),
    ],
)
def test_a_reported_file_is_read(name, architecture, epsilon, dtype, width):
    checkpoint = opened(case(name))
    facts = {fact.key: fact.value for fact in checkpoint.declared}
    assert facts["general.architecture"] == architecture
    assert facts[f"{architecture}.embedding_length"] == width
    assert facts.get(f"{architecture}.{RMS}") == epsilon
    info = checkpoint.tensors["output_norm.weight"]
    assert (info.dtype, info.shape, info.nbytes) == (dtype, (width,), 4 * width if dtype == "F32" else 136)


@pytest.mark.parametrize(("name", "offset"), [("BR-18a", 0), ("BR-18b", 2), ("BR-18c", 1)])
def test_a_reported_file_differs_from_its_source_by_the_offset_that_was_reported(name, offset):
    (shard,) = (shared("cases") / name / "hf").glob("*.safetensors")
    source = safetensors.read_checkpoint(MemorySource({"f": shard.read_bytes()}), "f")
    stored = decode(source.read(["model.norm.weight"])["model.norm.weight"])
    written = decode(opened(case(name)).read(["output_norm.weight"])["output_norm.weight"])
    assert written.tolist() == (stored + offset).tolist()


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("BR-40a", "f: expected a GGUF file, found an HTML page"),
        ("BR-41b", "f: 'output_norm.weight': expected bytes 1,472 to 1,600, found a file of 1,536"),
    ],
)
def test_a_reported_file_is_refused_by_name(name, message):
    assert refused(case(name)).message == message
