import ml_dtypes
import numpy as np
import pytest

from ln_audit.core import Range, TensorInfo
from ln_audit.errors import FormatError, UnsupportedError
from ln_audit.formats import onnx_tensor
from ln_audit.formats.onnx_tensor import Tensor, read_tensor
from ln_audit.formats.protobuf import Window, message
from tests.formats.onnx_models import helper, numpy_helper, onnx


def found(proto, name=None) -> Tensor | None:
    data = proto if isinstance(proto, bytes) else proto.SerializeToString()
    window = Window(lambda begin, end: data[begin:end], len(data), "m.onnx")
    return read_tensor(window, message(data, "m.onnx"), Range(0, len(data)), name)


def read(proto, name=None) -> Tensor:
    tensor = found(proto, name)
    assert tensor is not None
    return tensor


def external(**place: str):
    proto = numpy_helper.from_array(np.zeros(6, np.float32), "w")
    proto.ClearField("raw_data")
    proto.data_location = onnx.TensorProto.EXTERNAL
    for key, value in place.items():
        proto.external_data.add(key=key, value=value)
    return proto


def test_the_numbers_lie_in_the_raw_bytes():
    values = np.arange(6, dtype=np.float32).reshape(2, 3)
    data = numpy_helper.from_array(values, "w").SerializeToString()
    tensor = read(data)
    assert tensor.info == TensorInfo("w", "F32", (2, 3), 24)
    assert data[slice(*tensor.range)] == values.tobytes()
    assert read(data, "output of a Constant").name == "output of a Constant"


@pytest.mark.parametrize("dtype", sorted(set(onnx_tensor.DATA_TYPES)))
def test_every_data_type_has_the_name_and_width_that_the_onnx_package_gives_it(dtype):
    name, bits = onnx_tensor.DATA_TYPES[dtype]
    theirs = onnx.TensorProto.DataType.Name(dtype)
    family = {
        "FLOAT": "F32",
        "DOUBLE": "F64",
        "COMPLEX64": "C64",
        "COMPLEX128": "C128",
        "BFLOAT16": "BF16",
        "BOOL": "BOOL",
    }
    ours = (
        theirs.replace("FLOAT16", "F16").replace("FLOAT8E", "F8_E").replace("E4M3FN", "E4M3", theirs == "FLOAT8E4M3FN")
    )
    assert name == family.get(theirs, {"FLOAT4E2M1": "F4"}.get(theirs, ours.replace("UINT", "U").replace("INT", "I")))
    numpy = helper.tensor_dtype_to_np_dtype(dtype)
    assert bits == (numpy.itemsize * 8 if bits >= 8 else int("".join(c for c in numpy.name if c.isdigit())[0]))


def test_numbers_as_single_fields_are_the_whole_message():
    proto = helper.make_tensor("w", onnx.TensorProto.FLOAT16, [3], np.array([1, 2, 3], np.float16))
    data = proto.SerializeToString()
    tensor = read(data)
    assert (tensor.typed, tensor.range, tensor.nbytes) == (True, Range(0, len(data)), 6)


def test_half_a_byte_to_a_number_is_rounded_up():
    proto = numpy_helper.from_array(np.array([1, 2, 3], ml_dtypes.int4), "w")
    assert read(proto).info == TensorInfo("w", "I4", (3,), 2)


def test_words_are_no_tensor():
    assert found(helper.make_tensor("w", onnx.TensorProto.STRING, [1], [b"a"])) is None


def test_a_tensor_in_another_file_says_where():
    tensor = read(external(location="./model.onnx_data", offset="4096", length="24"))
    assert (tensor.file, tensor.range) == ("model.onnx_data", Range(4096, 4120))
    assert read(external(location="model.bin")).range == Range(0, 24)


@pytest.mark.parametrize("location", ["../weights", "/etc/passwd", "a/../../b", "", "C:/x", "a\\..\\..\\b", "nul\0"])
def test_a_place_outside_the_folder_is_refused(location):
    with pytest.raises(FormatError, match="^m.onnx: 'w': external data: expected a file of the model's folder, found "):
        read(external(location=location))


@pytest.mark.parametrize(
    ("place", "found"),
    [
        ({"offset": "-1"}, "expected offset and length, found '-1', '24'"),
        ({"offset": "0x10"}, "expected offset and length, found '0x10', '24'"),
        ({"offset": "9" * 50}, "expected offset and length, found '9999"),
        ({"offset": "٣"}, "expected offset and length, found "),
        ({"length": "23"}, r"expected 24 bytes for F32 \[6\], found 23"),
    ],
)
def test_a_place_that_cannot_be_is_refused(place, found):
    with pytest.raises(FormatError, match=f"^m.onnx: 'w': external data: {found}"):
        read(external(location="w", **place))


def test_more_or_fewer_bytes_than_the_shape_asks_for_are_refused():
    proto = numpy_helper.from_array(np.zeros(6, np.float32), "w")
    proto.dims[0] = 7
    with pytest.raises(FormatError, match=r"^m.onnx: 'w': expected 28 bytes for F32 \[7\], found 24$"):
        read(proto)
    proto.ClearField("raw_data")
    with pytest.raises(FormatError, match=r"^m.onnx: 'w': expected 28 bytes for F32 \[7\], found 0$"):
        read(proto)


def test_an_unknown_data_type_and_an_impossible_shape_are_refused():
    proto = numpy_helper.from_array(np.zeros(2, np.float32), "w")
    proto.data_type = 99
    with pytest.raises(FormatError, match="^m.onnx: 'w': data type: expected one of ONNX's, found 99$"):
        read(proto)
    proto.data_type, proto.dims[:] = 1, [-2]
    with pytest.raises(FormatError, match=r"^m.onnx: 'w': expected a shape of at most 64 sizes, found \[-2\]$"):
        read(proto)
    proto.dims[:] = [1] * 65
    with pytest.raises(FormatError, match="^m.onnx: 'w': expected a shape of at most 64 sizes, found "):
        read(proto)


def test_single_numbers_that_would_fill_the_memory_are_refused(monkeypatch):
    monkeypatch.setattr(onnx_tensor, "MAX_TYPED", 100)
    with pytest.raises(UnsupportedError, match="^m.onnx: 'w': expected raw bytes above 100, found "):
        read(helper.make_tensor("w", onnx.TensorProto.FLOAT, [50], np.zeros(50, np.float32)))
