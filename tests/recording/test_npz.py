import io
import zipfile

import numpy as np
import pytest

from ln_audit.errors import RecordingError
from ln_audit.recording import npz
from ln_audit.recording.files import RecordedFile
from ln_audit.recording.npz import open_member
from tests.recording.containers import npy_bytes, npy_header, states, whole


def opened(path, name):
    return open_member(RecordedFile(str(path)), name)


def refused(path, name="x"):
    with pytest.raises(RecordingError) as error:
        whole(opened(path, name))
    return error.value


@pytest.fixture(params=[np.savez, np.savez_compressed], ids=["stored", "deflated"])
def save(request, tmp_path):
    def write(**named):
        request.param(tmp_path / "r.npz", **named)
        return tmp_path / "r.npz"

    return write


@pytest.mark.parametrize("shape", [(7,), (5, 7), (2, 5, 7), (3, 1, 2, 7)])
@pytest.mark.parametrize("dtype", ["<f2", ">f2", "<f4", ">f4", "<f8", ">f8"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_a_member_comes_back_row_by_row(save, shape, dtype, order):
    array = np.asarray(states(shape), dtype=dtype, order=order)
    found = opened(save(other=states((3,)), x=array), "x")
    assert (found.shape, found.dtype) == (shape, str(np.dtype(dtype).newbyteorder("=")))
    for rows in (1, 2, 100):
        blocks = list(found.blocks(rows))
        assert np.array_equal(np.concatenate(blocks).reshape(shape), array)
        assert all(len(block) <= rows for block in blocks)


def test_a_name_that_is_missing_is_told_with_those_that_are_there(save):
    error = refused(save(before=states((2, 3)), after=states((2, 3))), "nope")
    assert error.message.endswith("r.npz:nope: expected an array of the archive, found none of that name")
    assert error.hint == "write FILE.npz:NAME; it holds before, after"
    assert refused(save(x=states((2, 3))), None).message.endswith("found none named")


def test_a_damaged_member_is_noticed_by_its_crc(save):
    path = save(x=np.zeros((300, 200), dtype=np.float32))
    raw = bytearray(path.read_bytes())
    with zipfile.ZipFile(path) as archive:
        info = archive.infolist()[0]
    stored = info.compress_type == zipfile.ZIP_STORED
    raw[5000 if stored else info.header_offset + 30 + len("x.npy") + info.compress_size // 2] ^= 1
    path.write_bytes(raw)
    assert "expected a sound zip archive, found:" in refused(path).message


def test_an_object_array_is_refused(tmp_path):
    np.savez(tmp_path / "r.npz", x=np.array([{"a": 1}], dtype=object))
    assert "Python objects, which are never read" in refused(tmp_path / "r.npz").message


def archive_of(path, data, **changes):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", changes.pop("method", zipfile.ZIP_STORED)) as archive:
        archive.writestr("x.npy", data)
    path.write_bytes(buffer.getvalue())
    return path


GOOD = npy_bytes(npy_header("<f4", (2, 3)), bytes(24))


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_methods_that_numpy_never_writes_are_refused(tmp_path, method):
    path = archive_of(tmp_path / "r.npz", GOOD, method=method)
    assert f"expected a stored or deflated member, found method {method}" in refused(path).message


def test_an_encrypted_member_is_refused(tmp_path):
    path = archive_of(tmp_path / "r.npz", GOOD)
    raw = bytearray(path.read_bytes())
    directory = raw.rindex(b"PK\x01\x02")
    raw[directory + 8] |= 1
    raw[6] |= 1
    path.write_bytes(raw)
    assert "expected a stored or deflated member" in refused(path).message


def test_a_member_cut_short_is_told_with_both_sizes(tmp_path):
    path = archive_of(tmp_path / "r.npz", GOOD[:-4])
    assert refused(path).message.endswith(
        f"r.npz:x: expected {len(GOOD)} bytes for float32 [2, 3], found {len(GOOD) - 4}"
    )


def test_a_file_that_only_begins_like_a_zip_is_refused(tmp_path):
    path = tmp_path / "r.npz"
    path.write_bytes(b"PK\x03\x04" + bytes(100))
    assert "expected a sound zip archive, found: file is not a zip file" in refused(path).message.lower()


def test_an_empty_archive_holds_nothing(tmp_path):
    with zipfile.ZipFile(tmp_path / "r.npz", "w"):
        pass
    assert refused(tmp_path / "r.npz").hint == "the archive is empty"


def test_a_compressed_member_that_unpacks_to_too_much_is_refused_unread(tmp_path, monkeypatch):
    monkeypatch.setattr(npz, "MOST_UNPACKED", 50)
    path = archive_of(tmp_path / "r.npz", GOOD, method=zipfile.ZIP_DEFLATED)
    error = refused(path)
    assert f"expected at most 50 bytes when compressed, found {len(GOOD)}" in error.message
    assert error.hint == "save it with numpy.savez instead of numpy.savez_compressed"
    assert np.array_equal(whole(opened(archive_of(path, GOOD), "x")), np.zeros((2, 3)))


def test_a_bomb_that_hides_behind_a_small_size_stops_at_that_size(tmp_path):
    """The directory says 152 bytes; what unpacks is 50 MB of zeros behind them."""
    path = archive_of(tmp_path / "r.npz", GOOD + bytes(50_000_000), method=zipfile.ZIP_DEFLATED)
    raw = bytearray(path.read_bytes())
    for at in (raw.rindex(b"PK\x01\x02") + 24, 22):
        raw[at : at + 4] = len(GOOD).to_bytes(4, "little")
    path.write_bytes(raw)
    assert "expected a sound zip archive" in refused(path).message


def test_fortran_order_in_a_large_member_is_refused_with_a_way_out(tmp_path, monkeypatch):
    monkeypatch.setattr(npz, "IN_MEMORY", 100)
    np.savez(tmp_path / "r.npz", x=np.asfortranarray(states((20, 3))))
    error = refused(tmp_path / "r.npz")
    assert "expected C order above 100 bytes in a zip archive, found Fortran order" in error.message
    assert error.hint == "save it with numpy.ascontiguousarray, or as .npy"


def test_the_first_of_two_members_of_one_name_is_read_throughout(tmp_path):
    path = tmp_path / "r.npz"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("x.npy", GOOD)
        with pytest.warns(UserWarning, match="Duplicate name"):
            archive.writestr("x.npy", npy_bytes(npy_header("<f4", (1, 3)), b"\x01" * 12))
    assert np.array_equal(whole(opened(path, "x")), np.zeros((2, 3)))
