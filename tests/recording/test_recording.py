import tracemalloc

import numpy as np
import pytest
from safetensors.numpy import save_file

from ln_audit.errors import RecordingError
from ln_audit.recording import open_pair, open_recording
from ln_audit.recording.recording import METADATA
from tests.recording.containers import bfloat16, npy_bytes, npy_header, states, whole, write_safetensors

COMPLETE = {key: "1" if key == "ln_audit.recording" else "x" for key in METADATA}


def refused(call, *args):
    with pytest.raises(RecordingError) as error:
        call(*args)
    return error.value


def both(rows):
    blocks = list(rows.blocks(2))
    return tuple(np.concatenate(side).reshape(*rows.leading, rows.width) for side in zip(*blocks, strict=True))


def test_a_recording_gives_its_rows_metadata_gain_bias_and_states(tmp_path):
    tensors = {
        "before": states((2, 3, 8)),
        "after": bfloat16(states((2, 3, 8), seed=1)),
        "gain": states((8,), np.float16),
        "bias": bfloat16(states((8,))),
        "tokens": np.arange(6).reshape(2, 3),
        "hidden_states.10": states((2, 3, 8), seed=10),
        "hidden_states.0": states((2, 3, 8), seed=2),
        "hidden_states.2": states((2, 3, 8), np.float64, seed=3),
        "hidden_states.02": states((1, 8)),
        "hidden_states.x": states((1, 8)),
    }
    path = write_safetensors(tmp_path / "r.safetensors", tensors, COMPLETE)
    recording = open_recording(path)
    assert (recording.name, recording.norms, recording.notes) == (path, ("",), ())
    assert dict(recording.metadata) == COMPLETE
    rows = recording.rows("")
    assert (rows.width, rows.positions, rows.leading) == (8, 6, (2, 3))
    assert (rows.before_dtype, rows.after_dtype) == ("float32", "bfloat16")
    before, after = both(rows)
    assert np.array_equal(before, tensors["before"])
    assert np.array_equal(after, tensors["after"])
    for name in ("gain", "bias"):
        found = recording.array(name)
        assert found is not None
        assert found.dtype == tensors[name].dtype
        assert np.array_equal(found, tensors[name])
    assert recording.array("nothing") is None
    assert recording.states == (0, 2, 10)
    state = recording.state(2)
    assert (state.shape, state.dtype) == ((2, 3, 8), "float64")
    assert np.array_equal(whole(state), tensors["hidden_states.2"])


def test_what_safetensors_writes_is_read(tmp_path):
    save_file({"before": states((5, 8)), "after": states((5, 8), seed=1)}, tmp_path / "r.safetensors", {"model": "m"})
    recording = open_recording(str(tmp_path / "r.safetensors"))
    assert np.array_equal(both(recording.rows(""))[1], states((5, 8), seed=1))
    assert dict(recording.metadata) == {"model": "m"}


def test_several_norms_keep_their_names_and_order(tmp_path):
    named = ("h.1.ln_2", "h.0.ln_1", "")
    tensors = {
        f"{norm}/{side}".lstrip("/"): states((at + 1, 8))
        for at, norm in enumerate(named)
        for side in ("after", "before")
    }
    recording = open_recording(write_safetensors(tmp_path / "r.safetensors", tensors))
    assert recording.norms == named
    assert [recording.rows(norm).positions for norm in named] == [1, 2, 3]
    error = refused(recording.rows, "ln_f")
    assert error.message.endswith("r.safetensors: norm: expected h.1.ln_2, h.0.ln_1, , found 'ln_f'")


def test_absent_optional_metadata_is_a_note(tmp_path):
    metadata = {key: value for key, value in COMPLETE.items() if key not in {"model", "eps"}}
    path = write_safetensors(tmp_path / "r.safetensors", {"before": states((1, 2)), "after": states((1, 2))}, metadata)
    assert open_recording(path).notes == (f"{path}: metadata absent: model, eps",)


def test_another_version_of_the_format_is_refused(tmp_path):
    tensors = {"before": states((1, 2)), "after": states((1, 2))}
    path = write_safetensors(tmp_path / "r.safetensors", tensors, {"ln_audit.recording": "2"})
    assert refused(open_recording, path).message == f"{path}: ln_audit.recording: expected '1', found '2'"


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (("before",), "expected tensor after, found none"),
        (("after",), "expected tensor before, found none"),
        (("ln_f/before", "h.0.ln_1/after"), "expected tensor ln_f/after, found none"),
        (("x", "y"), "expected tensors before and after, found x, y"),
        (("/before", "/after"), "expected tensors before and after, found /before, /after"),
        ((), "expected tensors before and after, found no tensor"),
    ],
)
def test_a_recording_without_both_sides_is_refused(tmp_path, names, message):
    path = write_safetensors(tmp_path / "r.safetensors", {name: states((2, 2)) for name in names})
    assert refused(open_recording, path).message == f"{path}: {message}"


def test_shapes_that_differ_are_refused_with_both(tmp_path):
    path = write_safetensors(tmp_path / "r.safetensors", {"before": states((2, 8)), "after": states((2, 4))})
    error = refused(open_recording(path).rows, "")
    assert error.message == f"{path}: {path}:after: expected the shape of before, [2, 8], found [2, 4]"


def test_a_state_that_is_not_there_or_no_float_is_refused(tmp_path):
    tensors = {"before": states((1, 2)), "after": states((1, 2)), "hidden_states.0": np.zeros((1, 2), dtype=np.int64)}
    recording = open_recording(write_safetensors(tmp_path / "r.safetensors", tensors))
    assert refused(recording.state, 1).message.endswith("expected hidden_states.1, found states [0]")
    assert (
        "hidden_states.0: dtype: expected bfloat16, float16, float32 or float64, found I64"
        in refused(recording.state, 0).message
    )


def test_a_recording_cut_short_is_told_with_both_sizes(tmp_path):
    path = write_safetensors(tmp_path / "r.safetensors", {"before": states((4, 8)), "after": states((4, 8))})
    raw = (tmp_path / "r.safetensors").read_bytes()
    (tmp_path / "r.safetensors").write_bytes(raw[:-40])
    message = refused(open_recording, path).message
    assert f"{len(raw):,}" in message or str(len(raw)) in message
    assert f"{len(raw) - 40:,}" in message or str(len(raw) - 40) in message


@pytest.mark.parametrize("content", [b"", b"<html>", b"version https://git-lfs.github.com/spec/v1\n", bytes(100)])
def test_what_is_no_recording_is_a_recording_error(tmp_path, content):
    path = tmp_path / "r.safetensors"
    path.write_bytes(content)
    assert refused(open_recording, str(path)).kind == "recording"


def test_two_npy_files_make_a_recording(tmp_path):
    before, after = states((2, 3, 8)), states((2, 3, 8), ">f8", seed=1)
    np.save(tmp_path / "b.npy", np.asfortranarray(before))
    np.save(tmp_path / "a.npy", after)
    recording = open_pair(str(tmp_path / "b.npy"), str(tmp_path / "a.npy"))
    assert recording.name == f"{tmp_path / 'b.npy'}, {tmp_path / 'a.npy'}"
    assert (recording.norms, recording.states, recording.notes, dict(recording.metadata)) == (("",), (), (), {})
    assert recording.array("gain") is None
    rows = recording.rows("")
    assert (rows.leading, rows.before_dtype, rows.after_dtype) == ((2, 3), "float32", "float64")
    found = both(rows)
    assert np.array_equal(found[0], before)
    assert np.array_equal(found[1], after)
    assert refused(recording.state, 0).message.endswith("expected hidden_states.0, found states []")


def test_npz_and_safetensors_arrays_are_named_behind_a_colon(tmp_path):
    np.savez_compressed(tmp_path / "r.npz", x=states((5, 8)))
    write_safetensors(tmp_path / "s.safetensors", {"h/ln": bfloat16(states((5, 8)))})
    rows = open_pair(f"{tmp_path}/r.npz:x", f"{tmp_path}/s.safetensors:h/ln").rows("")
    assert (rows.before_dtype, rows.after_dtype, rows.leading) == ("float32", "bfloat16", (5,))
    assert np.array_equal(both(rows)[0], states((5, 8)))


def test_a_path_with_a_colon_in_it_wins(tmp_path):
    np.save(tmp_path / "run:1.npy", states((2, 4)))
    np.savez(tmp_path / "run:2.npz", x=states((2, 4)))
    rows = open_pair(f"{tmp_path}/run:1.npy", f"{tmp_path}/run:2.npz:x").rows("")
    assert np.array_equal(*both(rows))


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("missing.npy", "missing.npy: expected a file, found no such file or folder"),
        ("missing.npz:x", "missing.npz: expected a file, found no such file or folder"),
        ("b.npy:x", "b.npy: expected no name for a npy file, found 'x'"),
        ("s.safetensors", "s.safetensors: expected a tensor of the file, found none named"),
        ("s.safetensors:y", "s.safetensors: expected a tensor of the file, found 'y'"),
        ("r.npz", "r.npz: expected an array of the archive, found none named"),
        ("r.npz:y", "r.npz:y: expected an array of the archive, found none of that name"),
        ("int.npy", "int.npy: dtype: expected bfloat16, float16, float32 or float64, found <i8"),
        ("number.npy", "number.npy: shape: expected [..., d], found a single number"),
        ("none.npy", "none.npy: expected at least one position and one channel, found shape [0, 4]"),
    ],
)
def test_a_wrong_array_is_told_by_its_file(tmp_path, monkeypatch, spec, message):
    monkeypatch.chdir(tmp_path)
    np.save("b.npy", states((2, 4)))
    np.save("int.npy", np.arange(8).reshape(2, 4))
    np.save("number.npy", np.float32(1))
    np.save("none.npy", states((0, 4)))
    np.savez("r.npz", x=states((2, 4)))
    write_safetensors(tmp_path / "s.safetensors", {"x": states((2, 4))})
    for pair in ((spec, "b.npy"), ("b.npy", spec)):
        assert refused(open_pair, *pair).message == message


def test_the_hint_of_a_missing_name_lists_what_is_there(tmp_path):
    path = write_safetensors(tmp_path / "s.safetensors", {"x": states((2, 4)), "y": states((2, 4))})
    assert refused(open_pair, path, path).hint == "write FILE.safetensors:NAME; it holds x, y"


def test_bfloat16_saved_by_numpy_is_refused_with_the_way_out(tmp_path):
    np.save(tmp_path / "b.npy", bfloat16(states((2, 4))))
    error = refused(open_pair, str(tmp_path / "b.npy"), str(tmp_path / "b.npy"))
    assert "two bytes without a type (numpy saves bfloat16 so)" in error.message
    assert "safetensors" in error.hint


def test_names_with_control_characters_are_printed_without_them(tmp_path):
    error = refused(open_pair, str(tmp_path / "a\x1b[31m.npy"), "x")
    assert "\x1b" not in error.message


@pytest.mark.parametrize("fortran", [False, True])
def test_a_large_recording_is_walked_in_flat_memory(tmp_path, fortran):
    shape = (40_000, 512)  # 82 MB a side
    for side in ("b", "a"):
        with (tmp_path / f"{side}.npy").open("wb") as sparse:
            sparse.write(npy_bytes(npy_header("<f4", shape, fortran=fortran)))
            sparse.truncate(sparse.tell() + shape[0] * shape[1] * 4)
    tracemalloc.start()
    rows = open_pair(str(tmp_path / "b.npy"), str(tmp_path / "a.npy")).rows("")
    seen = sum(len(before) for before, _ in rows.blocks(64))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert seen == 40_000
    assert peak < (50_000_000 if fortran else 1_500_000)
