import json
import sys

import ml_dtypes
import numpy as np
import pytest

from ln_audit.core import Declared, NormSite, TensorInfo
from ln_audit.errors import FormatError, UnsupportedError
from ln_audit.formats import onnx as onnx_format
from ln_audit.formats.dtypes import DTYPES, array
from tests.formats.memory_source import MemorySource, folder
from tests.formats.onnx_models import GAIN, helper, model, node, numpy_helper, onnx
from tests.formats.shared import shared
from tests.formats.tf_writer import varint

TENSORS: dict[str, np.ndarray] = {
    "transformer.ln_f.weight": np.linspace(0.5, 2, 6, dtype=np.float32),
    "transformer.ln_f.bias": np.linspace(-1, 1, 6, dtype=np.float16),
    "half": np.array([1.5, -0.0, np.inf], dtype=ml_dtypes.bfloat16),
    "counts": np.arange(-2, 4).reshape(2, 3),
    "mask": np.array([[True, False]]),
    "scalar": np.array(2.25),
    "nothing": np.zeros((3, 0), np.float32),
}
LN = node("LayerNormalization", "x transformer.ln_f.weight transformer.ln_f.bias", "y", name="ln_f")
DATA = model([LN], TENSORS).SerializeToString()


def _open(data: bytes, **beside: bytes):
    return onnx_format.read_checkpoint(MemorySource({"model.onnx": data} | beside), "model.onnx")


def _same(checkpoint, tensors=TENSORS) -> None:
    stored = checkpoint.read(list(tensors))
    assert checkpoint.tensors.keys() == stored.keys() == tensors.keys()
    for name, wrote in tensors.items():
        dtype = next(known for known, (_, numpy) in DTYPES.items() if numpy == wrote.dtype.name)
        assert checkpoint.tensors[name] == TensorInfo(name, dtype, wrote.shape, wrote.nbytes)
        read = array(stored[name])
        assert (read.dtype, read.shape, read.tobytes()) == (wrote.dtype, wrote.shape, wrote.tobytes())


def test_the_initializers_come_back_as_the_onnx_package_wrote_them():
    checkpoint = _open(DATA)
    assert (checkpoint.format, checkpoint.files) == ("onnx", ("model.onnx",))
    assert checkpoint.declared == (Declared("opset.ai.onnx", 17, "model.onnx"),)
    assert [site.name for site in checkpoint.norm_sites] == ["ln_f"]
    _same(checkpoint)


def test_values_cost_one_read_in_file_order():
    source = MemorySource({"model.onnx": DATA})
    checkpoint = onnx_format.read_checkpoint(source, "model.onnx")
    source.reads.clear()
    checkpoint.read(["transformer.ln_f.bias", "transformer.ln_f.weight"])
    ((file, ranges),) = source.reads
    assert (file, [end - begin for begin, end in ranges]) == ("model.onnx", [24, 12])


def test_numbers_written_one_by_one_come_back_the_same():
    proto = model([LN], {})
    tensors = {name: values for name, values in TENSORS.items() if values.size}
    for name, values in tensors.items():
        data_type = helper.np_dtype_to_tensor_dtype(values.dtype)
        proto.graph.initializer.append(helper.make_tensor(name, data_type, values.shape, values.flatten()))
    assert not any(tensor.HasField("raw_data") for tensor in proto.graph.initializer)
    _same(_open(proto.SerializeToString()), tensors)


def test_too_few_numbers_written_one_by_one_are_refused():
    proto = model([LN], {})
    proto.graph.initializer.append(helper.make_tensor("w", 1, [3], [1.0, 2.0, 3.0]))
    proto.graph.initializer[0].dims[0] = 4
    with pytest.raises(FormatError, match=r"^model.onnx: 'w': expected F32 \[4\], found: "):
        _open(proto.SerializeToString()).read(["w"])


def test_a_model_cut_anywhere_is_refused():
    for length in range(len(DATA)):
        with pytest.raises(FormatError):
            _open(DATA[:length])


def test_a_flipped_byte_anywhere_is_read_or_refused():
    outcomes = {"read": 0, "refused": 0}
    for position in range(len(DATA)):
        for flip in (0x01, 0x20, 0x80, 0xFF):
            damaged = bytearray(DATA)
            damaged[position] ^= flip
            try:
                checkpoint = _open(bytes(damaged))
                for stored in checkpoint.read(list(checkpoint.tensors)).values():
                    array(stored)
                outcomes["read"] += 1
            except FormatError:
                outcomes["refused"] += 1
    assert min(outcomes.values()) > 0, outcomes  # numbers and names are free, structure is not


def _external(tmp_path, **options) -> MemorySource:
    onnx.save_model(
        onnx.ModelProto.FromString(DATA),
        tmp_path / "model.onnx",
        save_as_external_data=True,
        size_threshold=0,
        **options,
    )
    onnx.load(tmp_path / "model.onnx")
    return folder(tmp_path)


@pytest.mark.parametrize("options", [{"location": "model.onnx_data"}, {"all_tensors_to_one_file": False}])
def test_numbers_in_files_beside_the_model_come_back_the_same(tmp_path, options):
    checkpoint = onnx_format.read_checkpoint(_external(tmp_path, **options), "model.onnx")
    _same(checkpoint)
    assert set(checkpoint.files) == {path.name for path in tmp_path.iterdir()}


def test_only_the_ranges_of_external_data_that_are_asked_for_are_read(tmp_path):
    source = _external(tmp_path, location="model.onnx_data")
    checkpoint = onnx_format.read_checkpoint(source, "model.onnx")
    assert {file for file, _ in source.reads} == {"model.onnx"}
    source.reads.clear()
    checkpoint.read(["transformer.ln_f.weight"])
    ((file, ranges),) = source.reads
    assert (file, [end - begin for begin, end in ranges]) == ("model.onnx_data", [24])


def test_external_data_that_is_not_there_or_too_short_is_refused_with_the_way_out(tmp_path):
    source = _external(tmp_path, location="model.onnx_data")
    data = source.contents.pop("model.onnx_data")
    with pytest.raises(
        FormatError, match="(?m)expected 'model.onnx_data' beside the model, found no such file$"
    ) as caught:
        onnx_format.read_checkpoint(source, "model.onnx")
    assert "download that file too" in caught.value.hint
    source.contents["model.onnx_data"] = data[:-1]
    with pytest.raises(FormatError, match="^model.onnx_data: size: expected at least 100 bytes for 'scalar', found 99"):
        onnx_format.read_checkpoint(source, "model.onnx")


def test_external_data_lie_in_the_models_own_folder(tmp_path):
    source = _external(tmp_path, location="data")
    moved = MemorySource({f"onnx/{name}": data for name, data in source.contents.items()})
    checkpoint = onnx_format.read_checkpoint(moved, "onnx/model.onnx")
    assert checkpoint.files == ("onnx/model.onnx", "onnx/data")
    _same(checkpoint)


def test_without_the_onnx_package_the_way_out_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(UnsupportedError) as caught:
        _open(DATA)
    assert caught.value.message == "model.onnx: expected the onnx package, found it not installed"
    assert caught.value.hint == 'pip install "ln-audit[onnx]"'


def test_a_pointer_in_place_of_a_model_is_called_one_even_without_the_package(monkeypatch):
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(FormatError, match="found a Git LFS pointer to a file of 90 bytes"):
        _open(b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 90\n")


def test_recognises_its_own_beginning():
    assert onnx_format.recognises(DATA[:512])
    assert not onnx_format.recognises(b"")
    assert not onnx_format.recognises(b"\x08")
    assert not onnx_format.recognises(b"<!DOCTYPE html><html>")


def test_the_numbers_of_a_model_of_gigabytes_are_stepped_over():
    """Two gigabytes and more do not fit into one protobuf message in memory, but they do into a file."""

    class Sparse(MemorySource):
        def size(self, file: str) -> int:
            return len(head) + hole + len(tail)

        def read(self, file: str, ranges) -> list[bytes]:
            self.reads.append((file, tuple(ranges)))
            return [self.piece(begin, end) for begin, end in ranges]

        def read_prefix(self, file: str, at_most: int) -> bytes:
            return self.piece(0, at_most)

        def piece(self, begin: int, end: int) -> bytes:
            middle = bytes(max(0, min(end, len(head) + hole) - max(begin, len(head))))
            return head[begin:end] + middle + tail[max(0, begin - len(head) - hole) : max(0, end - len(head) - hole)]

    hole = 3 * 2**30
    big = numpy_helper.from_array(np.zeros(1, np.float32), "big")
    big.dims[:] = [hole // 4]
    big.ClearField("raw_data")
    start = big.SerializeToString() + b"\x4a" + varint(hole)
    graph = model([LN], {"transformer.ln_f.weight": GAIN}).graph.SerializeToString()
    after = numpy_helper.from_array(GAIN, "transformer.ln_f.bias").SerializeToString()
    first = graph + b"\x2a" + varint(len(start) + hole) + start
    last = b"\x2a" + varint(len(after)) + after
    head = b"\x08\x08\x3a" + varint(len(first) + hole + len(last)) + first
    tail = last + b"\x42\x02\x10\x11"
    source = Sparse({})
    checkpoint = onnx_format.read_checkpoint(source, "model.onnx")
    assert checkpoint.tensors["big"].nbytes == hole
    assert sum(end - begin for _, ranges in source.reads for begin, end in ranges) < 100_000
    assert array(checkpoint.read(["transformer.ln_f.bias"])["transformer.ln_f.bias"]).tolist() == GAIN.tolist()


@pytest.mark.parametrize(
    ("case", "site"),
    [
        (
            "BR-64a",
            NormSite(
                "LayerNormalization_y",
                "layer_norm",
                "bert.encoder.layer.0.output.LayerNorm.weight",
                "bert.encoder.layer.0.output.LayerNorm.bias",
                1e-5,
                "model.onnx: LayerNormalization node 'LayerNormalization_y' without an epsilon attribute, "
                "which means the operator's default",
            ),
        ),
        (
            "BR-64b",
            NormSite(
                "transformer.ln_f.weight",
                "layer_norm",
                "transformer.ln_f.weight",
                "transformer.ln_f.bias",
                0.0,
                "model.onnx: F16 constant 'eps' of node 'Add_ve'",
            ),
        ),
    ],
)
def test_cases_from_the_field(case, site):
    source = folder(shared(f"cases/{case}"))
    assert json.loads(source.contents["expect.json"])["expect"] == "fail"
    assert onnx_format.read_checkpoint(source, "model.onnx").norm_sites == (site,)
