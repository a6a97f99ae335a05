"""What a recording's states measure, and what they are said to be."""

from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

from ln_audit.errors import RecordingError, UsageError
from ln_audit.numerics.parameters import NormParameters
from ln_audit.numerics.reference import layer_norm
from ln_audit.recording import open_recording
from ln_audit.trace.stream import Magnitude, Outlier, Trace, trace
from tests.shared import FIXTURES

EPSILON = 1e-5
PRENORM_STACK = FIXTURES / "recordings" / "prenorm-stack.safetensors"


def normed(x: np.ndarray) -> np.ndarray:
    return (
        layer_norm(x.reshape(-1, x.shape[-1]).astype(np.float64), None, None, EPSILON).y.reshape(x.shape).astype("f4")
    )


def traced(path: Path, tensors: dict[str, np.ndarray], norm: str | None = None, **parameters) -> Trace:
    save_file(tensors, path / "states.safetensors")
    given = NormParameters("layer_norm", None, None, EPSILON) if parameters.get("known") else None
    return trace(open_recording(str(path / "states.safetensors")), norm, given)


def rows(seed: int, *shape: int) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape).astype("f4")


def test_seed_4_the_prenorm_stack_grows_from_7_78_to_8_68_and_leaves_its_final_norm_at_8_00():
    found = trace(open_recording(str(PRENORM_STACK)))
    assert [state.name for state in found.stream] == [f"hidden_states.{n}" for n in range(12)] + ["before"]
    magnitudes = [f"{state.mean_norm:.2f}" for state in found.stream]
    assert " ".join(magnitudes) == "7.78 7.88 7.90 7.93 7.99 8.03 8.17 8.27 8.30 8.32 8.41 8.60 8.68"
    assert f"{found.before.mean_norm:.2f} {found.after.mean_norm:.2f}" == "8.68 8.00"
    assert (found.equal_to_before, found.equal_to_after) == ((), ("hidden_states.12",))


def test_the_magnitude_is_the_mean_of_each_positions_l2_norm(tmp_path: Path):
    before = np.array([[3, 4], [0, 0], [6, 8]], "f4")
    found = traced(tmp_path, {"before": before, "after": before * 2})
    assert found.before == Magnitude("before", 3, 5.0, ())
    assert found.after == Magnitude("after", 3, 10.0, ())
    assert (found.states, found.stream, found.reproduces_after) == ((), (), None)


def test_a_channel_far_above_the_median_channel_is_named_with_its_size(tmp_path: Path):
    before = np.ones((2, 7), "f4")
    before[:, 3] = [10, -20]
    before[:, 5] = 6  # at the limit, not above
    before[:, 6] = 100
    found = traced(tmp_path, {"before": before, "after": before})
    assert found.before.outliers == (Outlier(6, 100.0, 100.0), Outlier(3, 15.0, 15.0))


@pytest.mark.parametrize("before", [[[1, 1, 9]], [[0, 0, 9], [0, 0, 9]]], ids=["one position", "median zero"])
def test_no_outlier_is_named_where_there_is_nothing_to_compare_it_with(tmp_path: Path, before: list[list[float]]):
    states = np.array(before, "f4")
    assert traced(tmp_path, {"before": states, "after": states}).before.outliers == ()


def test_a_state_that_is_not_finite_has_no_magnitude_and_no_outliers(tmp_path: Path):
    before = rows(0, 4, 8)
    before[2, 3] = np.nan
    found = traced(tmp_path, {"before": before, "after": rows(1, 4, 8), "hidden_states.0": before})
    assert found.before == Magnitude("before", 4, None, ())
    assert found.equal_to_before == ("hidden_states.0",)  # the same bytes are the same numbers


def test_states_that_equal_a_side_of_the_norm_are_found_whatever_their_shape_and_order(tmp_path: Path):
    x = [rows(seed, 2, 5, 8) for seed in range(3)]
    after = normed(x[2])
    states = {"hidden_states.10": after.reshape(10, 8), "hidden_states.2": x[1], "hidden_states.9": x[2]}
    found = traced(tmp_path, {"before": x[2], "after": after, **states})
    assert [state.name for state in found.states] == ["hidden_states.2", "hidden_states.9", "hidden_states.10"]
    assert found.equal_to_before == ("hidden_states.9",)
    assert found.equal_to_after == ("hidden_states.10",)


def test_one_different_number_or_sign_of_zero_is_no_equality(tmp_path: Path):
    before = np.zeros((3, 4), "f4")
    other = before.copy()
    other[2, 3] = -0.0
    found = traced(tmp_path, {"before": before, "after": rows(0, 3, 4), "hidden_states.0": other})
    assert found.equal_to_before == ()


def test_equality_is_of_numbers_not_of_dtypes(tmp_path: Path):
    before = rows(0, 3, 4).astype("f2")
    found = traced(tmp_path, {"before": before, "after": before, "hidden_states.0": before.astype("f4")})
    assert found.equal_to_before == ("hidden_states.0",)


def test_the_last_state_keeps_its_place_in_the_stream_where_it_is_not_the_norms_output(tmp_path: Path):
    x = rows(0, 6, 8)
    found = traced(tmp_path, {"before": x, "after": normed(x), "hidden_states.0": rows(1, 6, 8), "hidden_states.1": x})
    assert [state.name for state in found.stream] == ["hidden_states.0", "hidden_states.1"]


def test_with_its_parameters_the_norm_says_which_state_it_read(tmp_path: Path):
    x = [rows(seed, 6, 32) for seed in range(3)]
    states = {f"hidden_states.{n}": state for n, state in enumerate(x)}
    found = traced(tmp_path, {"before": x[1], "after": normed(x[1]), **states}, known=True)
    assert found.reproduces_after == ("hidden_states.1",)


def test_a_state_of_another_width_or_length_is_measured_and_never_compared(tmp_path: Path):
    x = rows(0, 4, 8)
    states = {"hidden_states.0": np.ones((4, 16), "f4"), "hidden_states.1": np.ones((3, 8), "f4")}
    found = traced(tmp_path, {"before": x, "after": normed(x), **states}, known=True)
    assert [state.mean_norm for state in found.states] == [4.0, pytest.approx(8**0.5)]
    assert (found.equal_to_before, found.equal_to_after, found.reproduces_after) == ((), (), ())


def test_many_blocks_give_what_one_would(tmp_path: Path):
    x = rows(0, 5000, 48)  # 240,000 elements: four blocks
    found = traced(tmp_path, {"before": x, "after": normed(x), "hidden_states.0": x})
    assert found.before.mean_norm == pytest.approx(np.linalg.norm(x.astype("f8"), axis=1).mean(), rel=1e-12)
    assert found.equal_to_before == ("hidden_states.0",)


def test_of_several_norms_one_must_be_named(tmp_path: Path):
    x = rows(0, 4, 8)
    tensors = {f"{norm}/{side}": x for norm in ("h.0.ln_1", "ln_f") for side in ("before", "after")}
    with pytest.raises(UsageError) as none_named:
        traced(tmp_path, tensors)
    assert "norm: expected h.0.ln_1 or ln_f, found none named" in str(none_named.value)
    with pytest.raises(UsageError) as unknown:
        traced(tmp_path, tensors, norm="ln_g")
    assert "norm: expected h.0.ln_1 or ln_f, found ln_g" in str(unknown.value)
    assert traced(tmp_path, tensors, norm="ln_f").norm == "ln_f"


def test_a_state_without_rows_or_channels_is_refused(tmp_path: Path):
    x = rows(0, 4, 8)
    with pytest.raises(RecordingError, match=r"hidden_states\.0: expected .*, found"):
        traced(tmp_path, {"before": x, "after": x, "hidden_states.0": np.ones((0, 8), "f4")})


def test_bare_before_and_after_belong_to_the_norm_that_is_named_or_that_their_metadata_name(tmp_path: Path):
    x = rows(0, 4, 8)
    file = tmp_path / "bare.safetensors"
    save_file({"before": x, "after": x}, file, metadata={"norm": "ln_f"})
    assert trace(open_recording(str(file))).norm == "ln_f"
    assert trace(open_recording(str(file)), "h.3.ln_1").norm == "h.3.ln_1"
    save_file({"before": x, "after": x}, file)
    assert trace(open_recording(str(file))).norm == ""
