"""Whatever bytes a recording is made of: it is read, or a `RecordingError` says why not."""

import io
import zipfile

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ln_audit.errors import RecordingError
from ln_audit.recording import open_pair, open_recording
from tests.recording.containers import npy_bytes, npy_header, states, write_safetensors

FUZZ = settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def walked(opened):
    """Everything of a recording that can be read."""
    for norm in opened.norms:
        for before, after in opened.rows(norm).blocks(3):
            assert before.shape == after.shape
    for number in opened.states:
        list(opened.state(number).blocks(3))
    opened.array("gain")


def survives(call, *args):
    told = "read"
    try:
        walked(call(*args))
    except RecordingError as error:
        told = error.message
    assert told
    assert "\n" not in told


def npy():
    buffer = io.BytesIO()
    np.save(buffer, np.asfortranarray(states((4, 3))))
    return buffer.getvalue()


def npz():
    buffer = io.BytesIO()
    np.savez_compressed(buffer, x=states((4, 3)), y=states((2, 2)))
    return buffer.getvalue()


def stored_npz():
    buffer = io.BytesIO()
    np.savez(buffer, x=states((4, 3)))
    return buffer.getvalue()


@pytest.fixture(scope="module")
def recording(tmp_path_factory):
    path = tmp_path_factory.mktemp("good") / "r.safetensors"
    tensors = {name: states((4, 3)) for name in ("before", "after", "hidden_states.0")} | {"gain": states((3,))}
    write_safetensors(path, tensors, {"model": "m"})
    return path.read_bytes()


mutations = st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 255)), max_size=4)


def mutated(raw, changes, cut):
    data = bytearray(raw)
    for at, value in changes:
        data[at % len(data)] = value
    return bytes(data[: cut % (2 * len(data))])


@pytest.mark.parametrize(("make", "spec"), [(npy, ""), (npz, ":x"), (stored_npz, ":x")], ids=["npy", "npz", "stored"])
@given(changes=mutations, cut=st.integers(0, 10**6))
@FUZZ
def test_a_mutated_array_file_leaves_only_a_recording_error(tmp_path, make, spec, changes, cut):
    path = tmp_path / "a"
    path.write_bytes(mutated(make(), changes, cut))
    survives(open_pair, f"{path}{spec}", f"{path}{spec}")


@given(changes=mutations, cut=st.integers(0, 10**6))
@FUZZ
def test_a_mutated_recording_leaves_only_a_recording_error(tmp_path, recording, changes, cut):
    path = tmp_path / "r"
    path.write_bytes(mutated(recording, changes, cut))
    survives(open_recording, str(path))
    survives(open_pair, f"{path}:before", f"{path}:after")


@pytest.mark.parametrize("make", [npy, npz, stored_npz])
def test_a_file_cut_at_every_length_is_refused(tmp_path, make):
    raw, path = make(), tmp_path / "a"
    spec = str(path) if make is npy else f"{path}:x"
    for size in range(len(raw)):
        path.write_bytes(raw[:size])
        with pytest.raises(RecordingError):
            walked(open_pair(spec, spec))


def test_a_recording_cut_at_every_length_is_refused(tmp_path, recording):
    path = tmp_path / "r"
    for size in range(len(recording)):
        path.write_bytes(recording[:size])
        with pytest.raises(RecordingError):
            open_recording(str(path))


@given(
    header=st.text(alphabet="{}()[]'\",: descrfortan_ohpTuFls0123456789<|Lx-", max_size=80), version=st.integers(0, 4)
)
@FUZZ
def test_any_header_text_leaves_only_a_recording_error(tmp_path, header, version):
    path = tmp_path / "a"
    path.write_bytes(npy_bytes(header, bytes(24), version))
    survives(open_pair, str(path), str(path))


@given(
    descr=st.sampled_from(["<f4", ">f8", "|O", "<V2", "<i4", "U7", "<f4x", ""]),
    shape=st.lists(st.sampled_from([0, 1, 2, 3, 10**9, 2**63, 10**18]), max_size=40).map(tuple),
    fortran=st.booleans(),
    data=st.integers(0, 100),
)
@FUZZ
def test_any_shape_and_dtype_leaves_only_a_recording_error(tmp_path, descr, shape, fortran, data):
    path = tmp_path / "a"
    path.write_bytes(npy_bytes(npy_header(descr, shape, fortran=fortran), bytes(data)))
    survives(open_pair, str(path), str(path))


@given(content=st.binary(max_size=300))
@FUZZ
def test_any_bytes_leave_only_a_recording_error(tmp_path, content):
    path = tmp_path / "a"
    for magic in (b"", b"\x93NUMPY", b"PK\x03\x04", b"PK\x05\x06"):
        path.write_bytes(magic + content)
        survives(open_pair, f"{path}:x", str(path))
        survives(open_recording, str(path))


def test_a_zip_with_a_hundred_thousand_members_is_refused(tmp_path):
    path = tmp_path / "r.npz"
    with zipfile.ZipFile(path, "w") as archive:
        for number in range(70_000):
            archive.writestr(f"member-{number:09d}-with-a-longer-name.npy", b"")
    with pytest.raises(RecordingError, match="expected a zip directory of 4 MB at most"):
        open_pair(f"{path}:x", f"{path}:x")
