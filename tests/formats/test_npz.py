import io

import ml_dtypes
import numpy as np
import pytest

from ln_audit.core import Declared, TensorInfo
from ln_audit.errors import FormatError, UnsupportedError
from ln_audit.formats import npz
from ln_audit.formats.dtypes import DTYPES, array
from tests.formats.memory_source import MemorySource

TENSORS: dict[str, np.ndarray] = {
    "transformer.ln_f.weight": np.linspace(0.5, 2, 6, dtype=np.float32),
    "transformer.ln_f.bias": np.linspace(-1, 1, 6, dtype=np.float16),
    "params/h/0/ln_1/scale": np.ones((2, 3), order="F"),
    "big-endian": np.array([1, 2], ">f4"),
    "counts": np.arange(-2, 4).reshape(2, 3),
    "mask": np.array([[True, False]]),
    "scalar": np.array(2.25),
    "nothing": np.zeros((3, 0), np.float32),
}


def written(save=np.savez, **arrays: np.ndarray) -> bytes:
    out = io.BytesIO()
    save(out, **(arrays or TENSORS))
    return out.getvalue()


STORED, DEFLATED = written(), written(np.savez_compressed)
each_way = pytest.mark.parametrize("data", [STORED, DEFLATED], ids=["savez", "savez_compressed"])


def _open(data: bytes):
    return npz.read_checkpoint(MemorySource({"weights.npz": data}), "weights.npz")


@each_way
def test_the_arrays_come_back_as_numpy_wrote_them_under_their_own_names(data):
    checkpoint = _open(data)
    stored = checkpoint.read(list(TENSORS))
    assert (checkpoint.format, checkpoint.files, checkpoint.declared) == ("npz", ("weights.npz",), ())
    assert checkpoint.tensors.keys() == stored.keys() == TENSORS.keys()
    for name, wrote in TENSORS.items():
        native = wrote.astype(wrote.dtype.newbyteorder("="))
        dtype = next(known for known, (_, numpy) in DTYPES.items() if numpy == native.dtype.name)
        assert checkpoint.tensors[name] == TensorInfo(name, dtype, wrote.shape, wrote.nbytes)
        read = array(stored[name])
        assert (read.dtype, read.shape, read.tobytes()) == (native.dtype, wrote.shape, native.tobytes())


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_large_arrays_that_nobody_asks_for_are_not_read(save):
    big = np.random.default_rng(1).standard_normal(1_000_000)
    source = MemorySource({"weights.npz": written(save, before=big, gain=np.ones(6), after=big)})
    checkpoint = npz.read_checkpoint(source, "weights.npz")
    checkpoint.read(["gain"])
    assert (
        sum(end - begin for _, ranges in source.reads for begin, end in ranges)
        < 100_000
        < len(source.contents["weights.npz"]) / 100
    )


def test_values_cost_one_read_in_file_order():
    big = np.zeros(100_000)
    source = MemorySource({"weights.npz": written(gain=np.ones(600), a=big, bias=np.ones(600), b=big)})
    checkpoint = npz.read_checkpoint(source, "weights.npz")
    source.reads.clear()
    checkpoint.read(["bias", "gain"])
    assert [[end - begin for begin, end in ranges] for _, ranges in source.reads] == [[4_928, 4_928]]


def test_compressed_arrays_that_would_fill_the_memory_are_refused_unread(monkeypatch):
    monkeypatch.setattr(npz, "MAX_INFLATED", 1_000)
    checkpoint = _open(written(np.savez_compressed, gain=np.ones(6), big=np.zeros(1_000)))
    assert list(checkpoint.read(["gain"])) == ["gain"]
    with pytest.raises(UnsupportedError) as caught:
        checkpoint.read(["gain", "big"])
    assert caught.value.message == "weights.npz: expected at most 1,000 bytes of compressed arrays, found 8,304"
    assert caught.value.hint == "store it uncompressed, as numpy.savez does, or as safetensors"


def test_more_arrays_than_any_checkpoint_has_are_refused(monkeypatch):
    monkeypatch.setattr(npz, "MAX_ARRAYS", 3)
    with pytest.raises(UnsupportedError, match="^weights.npz: expected at most 3 arrays, found 8$"):
        _open(STORED)


@each_way
def test_an_archive_cut_anywhere_is_refused(data):
    for length in range(len(data)):
        with pytest.raises(FormatError):
            _open(data[:length])


@each_way
def test_a_flipped_byte_anywhere_is_refused_or_changes_no_number(data):
    outcomes = {"read": 0, "refused": 0}
    for position in range(len(data)):
        damaged = bytearray(data)
        damaged[position] ^= 0x21
        try:
            checkpoint = _open(bytes(damaged))
            found = [array(stored).tobytes() for stored in checkpoint.read(list(checkpoint.tensors)).values()]
        except FormatError:
            outcomes["refused"] += 1
        else:
            outcomes["read"] += 1
            assert set(found) <= {v.astype(v.dtype.newbyteorder("=")).tobytes() for v in TENSORS.values()}
    assert min(outcomes.values()) > 0, outcomes


def test_a_changed_number_is_seen_by_its_checksum():
    data = STORED.replace(np.float64(2.25).tobytes(), np.float64(2.5).tobytes())
    with pytest.raises(FormatError, match="^weights.npz: 'scalar.npy': expected CRC-32 "):
        _open(data).read(["scalar"])


def test_python_objects_are_refused_whole():
    data = written(weight=np.ones(2), config=np.array([{"a": 1}], dtype=object))
    with pytest.raises(UnsupportedError, match=r"^weights.npz: 'config': dtype: expected numbers, found '\|O', Python"):
        _open(data)


def test_bfloat16_without_a_type_is_listed_and_named_when_it_is_asked_for():
    checkpoint = _open(written(**{"ln_f.weight": np.ones(2, ml_dtypes.bfloat16), "ln_f.bias": np.ones(2)}))
    assert checkpoint.tensors["ln_f.weight"] == TensorInfo("ln_f.weight", "V2", (2,), 4)
    assert list(checkpoint.read(["ln_f.bias"])) == ["ln_f.bias"]
    with pytest.raises(UnsupportedError, match="^weights.npz: 'ln_f.weight': dtype: expected numbers, found V2"):
        checkpoint.read(["ln_f.weight"])


def test_what_is_no_array_of_numbers_is_left_aside_and_counted():
    import zipfile

    out = io.BytesIO(written(weight=np.ones(2), vocabulary=np.array(["a", "b"])))
    with zipfile.ZipFile(out, "a") as archive:
        archive.writestr("config.json", "{}")
    checkpoint = _open(out.getvalue())
    assert list(checkpoint.tensors) == ["weight"]
    assert checkpoint.declared == (Declared("members left aside", 2, "weights.npz, for example 'vocabulary.npy'"),)


def test_a_header_longer_than_usual_is_read_whole():
    name = "x" * 900
    text = f"{{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }}{' ' * 3_000}\n".encode()
    member = b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + bytes(8)
    import zipfile

    for method in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w", method) as archive:
            archive.writestr(f"{name}.npy", member)
        assert array(_open(out.getvalue()).read([name])[name]).tolist() == [0, 0]


@pytest.mark.parametrize(
    ("data", "found"),
    [
        (b"", "expected an npz archive, found an empty file"),
        (b"\x93NUMPY\x01\0" + bytes(90), "expected an npz archive, found a NumPy array"),
        (written(words=np.array(["a"])), "expected arrays of numbers, found none among 1 members"),
    ],
)
def test_what_holds_no_weights_is_called_what_it_is(data, found):
    with pytest.raises(FormatError, match=f"^weights.npz: {found}"):
        _open(data)


def test_recognises_its_own_beginning_and_not_that_of_other_archives():
    assert npz.recognises(STORED[:512])
    assert npz.recognises(DEFLATED[:512])
    assert not npz.recognises(b"")
    assert not npz.recognises(STORED[:512].replace(b".npy", b".pkl"))
