from math import nan
from typing import Any

import numpy as np
import pytest

from ln_audit.comparison import Nonfinite, Worst
from ln_audit.errors import FamilyError, RecordingError
from ln_audit.numerics.compare import compare
from ln_audit.numerics.parameters import NormParameters
from tests.numerics.runs import BF16, F16, F32, ArrayRows, backwards, gain_and_bias, one_by_one, pairwise, rows_of, run


def verify(before, after, kind="layer_norm", *, eps=1e-5, offset=0.0, chain=None, gain=..., bias=..., **options):
    default_gain, default_bias = gain_and_bias(before.shape[-1])
    gain = default_gain if gain is ... else gain
    bias = (default_bias if kind == "layer_norm" else None) if bias is ... else bias
    parameters = NormParameters(kind, gain, bias, eps, offset, chain)
    return compare(ArrayRows(before, after), parameters, norm="ln_f", recording="r.npy", provenance="test", **options)


def ran(x, kind="layer_norm", **options):
    gain, bias = gain_and_bias(x.shape[-1])
    return run(x, gain, bias if kind == "layer_norm" else None, kind=kind, **options)


def verdict(comparison):
    return comparison.status, comparison.finding


def test_a_correct_run_passes_and_every_field_is_filled():
    x = rows_of("plain", 48, 6).reshape(2, 3, 48)
    after = ran(x.reshape(6, 48)).reshape(2, 3, 48)
    found = verify(x, after, packaged=True)
    assert verdict(found) == ("pass", "agrees")
    assert not verify(x, after).packaged
    assert (found.norm, found.recording, found.provenance, found.packaged) == ("ln_f", "r.npy", "test", True)
    assert (found.positions, found.elements, found.unjudged) == (6, 288, 0)
    assert (found.output_dtype, found.output_dtype_source, found.stored_dtype) == ("float32", "inferred", "float32")
    assert (found.param_dtype, found.chain, found.outside_cells, found.nonfinite) == ("float32", None, None, None)
    assert isinstance(found.worst, Worst)
    assert 0 < found.max_error_ratio == found.worst.error_ratio < 0.5
    assert found.worst.recorded == after[(*found.worst.index, found.worst.channel)]
    assert abs(found.worst.recorded - found.worst.expected) == pytest.approx(
        found.worst.tolerance * found.worst.error_ratio
    )
    assert 0 < found.max_abs_error < 1e-5
    assert found.message.startswith("all 288 judged elements at 6 positions agree; largest error ratio 0.")


@pytest.mark.parametrize("shape", [(16,), (5, 16), (2, 5, 16), (2, 1, 5, 16)])
def test_rows_of_every_rank_are_judged_and_the_worst_is_told_by_its_index(shape):
    x = rows_of("plain", 16, int(np.prod(shape[:-1], dtype=int)))
    after = ran(x)
    after[-1, 7] += 0.5
    found = verify(x.reshape(shape), after.reshape(shape))
    assert verdict(found) == ("fail", "off-reference")
    assert (found.worst.index, found.worst.channel) == (tuple(size - 1 for size in shape[:-1]), 7)
    assert found.max_abs_error == pytest.approx(0.5, abs=1e-5)
    assert str([*found.worst.index, 7]) in found.message


@pytest.mark.parametrize("total", [pairwise, one_by_one])
@pytest.mark.parametrize("kind", ["layer_norm", "rms_norm"])
def test_width_1_is_judged(kind, total):
    x = rows_of("plain", 1, 8)
    assert verdict(verify(x, ran(x, kind, total=total), kind)) == ("pass", "agrees")
    assert verdict(verify(x, ran(x, kind) + F32(0.1), kind)) == ("fail", "off-reference")


@pytest.mark.parametrize(("gain", "bias"), [(None, None), (None, ...), (..., None)])
def test_absent_parameters_are_1_and_0(gain, bias):
    x = rows_of("plain", 64)
    g, b = gain_and_bias(64)
    after = run(x, g if gain is ... else None, b if bias is ... else None)
    found = verify(x, after, gain=gain, bias=bias)
    assert verdict(found) == ("pass", "agrees")
    assert found.param_dtype == (None if gain is None and bias is None else "float32")
    assert verdict(verify(x, after)) == ("fail", "off-reference")


FAULTS: dict[str, dict[str, Any]] = {
    "epsilon 1e-6 for 1e-5": {"eps": 1e-6},
    "epsilon 1e-12 for 1e-5": {"eps": 1e-12},
    "epsilon 1e-3 for 1e-5": {"eps": 1e-3},
    "variance over d - 1": {"ddof": 1},
    "RMSNorm for LayerNorm": {"kind": "rms_norm"},
}


@pytest.mark.parametrize("d", [4, 64, 768, 4096])
@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_fails_at_every_width(d, fault):
    x = rows_of("plain", d)
    after = run(x, *gain_and_bias(d), **FAULTS[fault])
    assert verdict(verify(x, after)) == ("fail", "off-reference")


@pytest.mark.parametrize("out", [BF16, F16], ids=str)
@pytest.mark.parametrize("chain", ["once", "before_gain"])
@pytest.mark.parametrize("kind", ["layer_norm", "rms_norm"])
def test_a_wrong_epsilon_of_a_narrow_run_leaves_the_cells_though_not_the_tolerance(out, chain, kind):
    x = rows_of("plain", 768, 64).astype(out)
    found = verify(x, ran(x, kind, eps=1e-6, out=out, chain=chain), kind)
    assert verdict(found) == ("fail", "off-reference")
    assert 4 <= found.outside_cells <= 825
    assert found.chain == chain
    assert verdict(verify(x, ran(x, kind, out=out, chain=chain), kind)) == ("pass", "agrees")


@pytest.mark.parametrize("kind", ["layer_norm", "rms_norm"])
def test_a_wrong_kind_fails(kind):
    x = rows_of("plain", 64) + F32(3)
    other = {"layer_norm": "rms_norm", "rms_norm": "layer_norm"}[kind]
    after = run(x, gain_and_bias(64)[0], None, kind=other)
    assert verdict(verify(x, after, kind, bias=None)) == ("fail", "off-reference")


def test_gain_and_bias_swapped_fails():
    x = rows_of("plain", 64)
    gain, bias = gain_and_bias(64)
    assert verdict(verify(x, run(x, bias, gain))) == ("fail", "off-reference")


def test_a_missing_or_doubled_offset_fails():
    x = rows_of("plain", 64)
    gain, bias = gain_and_bias(64)
    stored = gain - F32(1)
    assert verdict(verify(x, run(x, stored + F32(1), bias), gain=stored, offset=1.0)) == ("pass", "agrees")
    assert verdict(verify(x, run(x, stored, bias), gain=stored, offset=1.0)) == ("fail", "off-reference")
    assert verdict(verify(x, run(x, gain + F32(1), bias), gain=stored, offset=1.0)) == ("fail", "off-reference")


def test_one_wrong_gain_among_768_fails():
    x = rows_of("plain", 768)
    gain, bias = gain_and_bias(768)
    other = gain.copy()
    other[138] *= F32(1.001)
    found = verify(x, run(x, other, bias))
    assert verdict(found) == ("fail", "off-reference")
    assert found.worst.channel == 138
    assert found.message.startswith("32 of 24,576 judged elements are off the reference")


@pytest.mark.parametrize("out", [BF16, F16], ids=str)
@pytest.mark.parametrize("chain", ["once", "before_gain"])
def test_the_chain_is_recognised_and_named(out, chain):
    x = rows_of("plain", 256, 16).astype(out)
    found = verify(x, ran(x, out=out, chain=chain))
    assert verdict(found) == ("pass", "agrees")
    assert (found.chain, found.output_dtype, found.outside_cells) == (chain, str(out), 0)
    assert f"none is outside its {out} rounding cell (chain `{chain}`)" in found.message


@pytest.mark.parametrize(("chain", "other"), [("once", "before_gain"), ("before_gain", "once")])
def test_another_known_chain_than_the_familys_is_a_warning(chain, other):
    x = rows_of("plain", 256, 16).astype(BF16)
    after = ran(x, out=BF16, chain=other)
    found = verify(x, after, chain=chain)
    assert verdict(found) == ("warn", "another-rounding-chain")
    assert found.chain == other
    assert verdict(verify(x, after, chain=other)) == ("pass", "agrees")


def test_a_fault_is_reported_under_the_familys_own_chain():
    x = rows_of("plain", 256, 16).astype(BF16)
    found = verify(x, ran(x, out=BF16, chain="once", eps=1e-1), chain="before_gain")
    assert (verdict(found), found.chain) == (("fail", "off-reference"), "before_gain")


@pytest.mark.parametrize("cast", [False, True])
def test_the_dtype_in_which_the_parameters_were_used_is_recognised(cast):
    x = rows_of("plain", 256, 16).astype(BF16)
    gain, bias = gain_and_bias(256)
    used = (gain.astype(BF16), bias.astype(BF16)) if cast else (gain, bias)
    found = verify(x, run(x, *used, out=BF16))
    assert (verdict(found), found.param_dtype) == (("pass", "agrees"), "bfloat16" if cast else "float32")


def test_one_plus_gain_formed_in_the_output_dtype_is_honest():
    x = rows_of("plain", 256, 16).astype(BF16)
    gain, bias = gain_and_bias(256)
    stored = (gain - F32(1)).astype(BF16)
    after = run(x, stored + np.array(1, dtype=BF16), bias.astype(BF16), out=BF16)
    found = verify(x, after, gain=stored, bias=bias.astype(BF16), offset=1.0)
    assert (verdict(found), found.param_dtype) == (("pass", "agrees"), "bfloat16, offset added in it")


def test_an_upcast_recording_is_recognised_as_what_it_was():
    x = rows_of("plain", 256, 16).astype(BF16)
    found = verify(x.astype(F32), ran(x, out=BF16).astype(np.float64))
    assert verdict(found) == ("pass", "agrees")
    assert (found.output_dtype, found.output_dtype_source, found.stored_dtype) == ("bfloat16", "inferred", "float64")


def test_a_run_is_held_to_the_dtype_it_was_declared_to_have():
    x = rows_of("plain", 256, 16).astype(BF16)
    after = ran(x, out=BF16).astype(F32)
    held = verify(x, after, output_dtype="float32", output_dtype_source="stated by the recording")
    assert verdict(held) == ("fail", "off-reference")
    assert (held.output_dtype, held.output_dtype_source) == ("float32", "stated by the recording")
    right = verify(x, after, output_dtype="bfloat16")
    assert (verdict(right), right.output_dtype_source) == (("pass", "agrees"), "--output-dtype")


def test_values_that_the_declared_dtype_cannot_hold_fail():
    x = rows_of("plain", 64, 16)
    after = ran(x)
    found = verify(x, after, output_dtype="bfloat16")
    assert verdict(found) == ("fail", "wrong-output-dtype")
    assert found.outside_cells > 900
    assert found.message.startswith("after at [0, 0]: expected a bfloat16 number, as declared, found ")
    wide = after.astype(np.float64)
    wide[3, 3] = np.nextafter(wide[3, 3], np.inf)
    found = verify(x, wide, output_dtype="float32")
    assert (verdict(found), found.outside_cells) == (("fail", "wrong-output-dtype"), 1)
    assert found.message.startswith("after at [3, 3]: expected a float32 number")


def test_a_float64_run_is_held_to_float64():
    x = np.random.default_rng(0).standard_normal((8, 64))
    gain, bias = gain_and_bias(64)
    delta = x - x.mean(axis=1, keepdims=True)
    after = delta / np.sqrt((delta**2).mean(axis=1, keepdims=True) + 1e-5) * gain + bias
    found = verify(x, after)
    assert (verdict(found), found.output_dtype) == (("pass", "agrees"), "float64")
    assert verdict(verify(x, after * (1 + 1e-12))) == ("fail", "off-reference")


@pytest.mark.parametrize("kind", ["one-hot", "constant"])
def test_a_correct_sequential_sum_is_a_warning(kind):
    x = rows_of(kind, 4096)
    found = verify(x, ran(x, total=one_by_one))
    assert verdict(found) == ("warn", "summation-order")
    assert found.max_error_ratio > 1
    assert found.message.startswith("a correct norm that sums one by one explains it; largest error ratio ")


def test_a_sequential_sum_of_a_bfloat16_run_is_a_warning_too():
    x = rows_of("one-hot", 4096).astype(BF16)
    found = verify(x, ran(x, total=one_by_one, out=BF16))
    assert verdict(found) == ("warn", "summation-order")
    assert found.outside_cells > 0


def test_what_no_simulated_order_explains_is_off_reference_until_it_is_diagnosed():
    x = rows_of("one-hot", 4096)
    assert verdict(verify(x, ran(x, total=backwards))) == ("fail", "off-reference")


def test_a_fault_in_the_band_between_both_bounds_is_not_passed():
    x = rows_of("plain", 4096)
    found = verify(x, ran(x, eps=1e-6))
    assert 1 < found.max_error_ratio < 3
    assert verdict(found) == ("fail", "off-reference")


@pytest.mark.parametrize("cast", [BF16, F16], ids=str)
def test_an_input_rounded_later_is_incomplete_until_it_is_declared(cast):
    x = rows_of("plain", 256)
    after = ran(x)
    found = verify(x.astype(cast), after)
    assert verdict(found) == ("skip", "before-rounded")
    assert found.message.endswith(f"if it was, say --before-rounded {cast}")
    declared = verify(x.astype(cast), after, before_rounded=str(cast))
    assert verdict(declared) == ("pass", "agrees")
    assert verdict(verify(x.astype(cast), after * F32(1.05), before_rounded=str(cast))) == ("fail", "off-reference")


def test_a_declared_rounding_that_did_not_happen_is_an_unusable_recording():
    x = rows_of("plain", 16)
    with pytest.raises(RecordingError) as error:
        verify(x, ran(x), before_rounded="bfloat16")
    assert error.value.message.startswith("r.npy: before: row 0 channel 0: expected a bfloat16 number, as declared")
    assert "--before-rounded" in error.value.hint


def test_a_nonfinite_input_fails_with_its_place():
    x = rows_of("plain", 16, 6).reshape(2, 3, 16)
    after = ran(x.reshape(6, 16)).reshape(2, 3, 16)
    x[1, 2, 5] = np.inf
    x[1, 2, 7] = nan
    found = verify(x, after)
    assert verdict(found) == ("fail", "nonfinite-input")
    assert found.nonfinite == Nonfinite(nan=1, inf=1, first=(1, 2, 5), where="before")
    assert found.unjudged == 16
    assert found.message == (
        "before at [1, 2, 5]: expected a finite number, found 1 infinities and 1 NaN in all: "
        "the fault lies upstream of this norm"
    )


@pytest.mark.parametrize("value", [nan, np.inf, -np.inf])
@pytest.mark.parametrize("out", [np.dtype(F32), F16, BF16], ids=str)
def test_a_nonfinite_output_of_a_finite_input_fails(value, out):
    x = rows_of("plain", 16, 6).astype(out)
    after = ran(x, out=out)
    after[4, 2] = value
    found = verify(x, after)
    assert verdict(found) == ("fail", "nonfinite-output")
    assert found.nonfinite == Nonfinite(int(np.isnan(value)), int(np.isinf(value)), (4, 2), "after")
    assert found.max_error_ratio < 1
    assert f"found {float(value)}" in found.message


def test_a_rightful_overflow_passes_and_is_still_counted():
    x = np.array([[1.0, 1.0, -1.0, -1.0]], dtype=F16)
    gain = np.array([60000.0, 70000.0, 60000.0, 70000.0], dtype=F32)
    with np.errstate(over="ignore"):
        after = run(x, gain, None, out=F16)
    assert after.tolist() == [[60000.0, np.inf, -60000.0, -np.inf]]
    found = verify(x, after, gain=gain, bias=None)
    assert verdict(found) == ("pass", "agrees")
    assert found.nonfinite == Nonfinite(0, 2, (0, 1), "after")
    assert verdict(verify(x, -after, gain=gain, bias=None)) == ("fail", "nonfinite-output")


def test_only_nan_everywhere_is_judged_and_fails():
    x = rows_of("plain", 16, 2)
    found = verify(x, np.full_like(x, nan))
    assert verdict(found) == ("fail", "nonfinite-output")
    assert (found.max_error_ratio, found.max_abs_error, found.worst) == (None, None, None)


def test_nothing_judged_is_never_a_pass():
    x = np.full((3, 16), 2.0, dtype=F32)
    found = verify(x, np.tile(gain_and_bias(16)[1], (3, 1)), eps=0.0)
    assert verdict(found) == ("skip", "nothing-judged")
    assert (found.max_error_ratio, found.unjudged, found.elements) == (None, 48, 48)


def test_ill_conditioned_rows_are_left_out_and_said():
    x = rows_of("plain", 16, 4)
    x[2] = 5.0
    found = verify(x, ran(x, eps=0.0), eps=0.0)
    assert verdict(found) == ("pass", "agrees")
    assert found.unjudged == 16
    assert found.message.endswith("; 16 elements of ill-conditioned rows were not judged")


@pytest.mark.parametrize(("name", "broken"), [("gain", nan), ("bias", np.inf)])
def test_parameters_that_are_no_numbers_have_no_reference(name, broken):
    x = rows_of("plain", 16, 4)
    after = ran(x)
    parameters = dict(zip(("gain", "bias"), gain_and_bias(16), strict=True))
    parameters[name] = np.where(np.arange(16) == 3, F32(broken), parameters[name]).astype(F32)
    found = verify(x, after, **parameters, packaged=True)
    assert verdict(found) == ("skip", "nothing-judged")
    assert found.message == f"{name}[3] is {float(broken)}: there is no reference to compare with"
    assert (found.unjudged, found.max_error_ratio, found.packaged) == (64, None, True)


@pytest.mark.parametrize("name", ["gain", "bias"])
def test_a_width_that_does_not_fit_is_an_unusable_recording(name):
    x = rows_of("plain", 16, 4)
    with pytest.raises(RecordingError) as error:
        verify(x, x, **{name: np.ones(8, dtype=F32)})
    assert error.value.message == f"r.npy: before: expected the {name}'s width, [8], found 16 channels"


def test_an_unknown_kind_is_cannot_tell_and_no_verdict():
    x = rows_of("plain", 16, 4)
    with pytest.raises(FamilyError) as error:
        verify(x, x, "gated_rms_norm", bias=None)
    assert error.value.message == (
        "r.npy: ln_f: kind: expected layer_norm or rms_norm, found gated_rms_norm: cannot tell"
    )


@pytest.mark.parametrize("option", ["output_dtype", "before_rounded"])
def test_an_unknown_dtype_is_refused_by_name(option):
    x = rows_of("plain", 16, 4)
    with pytest.raises(RecordingError) as error:
        verify(x, x, **{option: "int8"})
    named = option.replace("output_", "output ")
    assert error.value.message == f"r.npy: {named}: expected bfloat16, float16, float32, float64, found int8"


def test_a_million_elements_are_judged_in_a_few_megabytes():
    import tracemalloc

    x = rows_of("plain", 768, 64)
    after = ran(x)

    class Repeated(ArrayRows):
        @property
        def positions(self):
            return 64 * 40

        @property
        def leading(self):
            return (64 * 40,)

        def blocks(self, rows):
            for _ in range(40):
                yield from super().blocks(rows)

    tracemalloc.start()
    gain, bias = gain_and_bias(768)
    found = compare(
        Repeated(x, after), NormParameters("layer_norm", gain, bias, 1e-5), norm="", recording="", provenance=""
    )
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert (found.status, found.elements) == ("pass", 64 * 40 * 768)
    assert peak < 8_000_000


@pytest.mark.parametrize("value", [nan, np.inf, -np.inf])
def test_what_no_norm_can_give_fails_in_rows_that_are_not_judged_too(value):
    x = np.concatenate(
        [rows_of("plain", 64, 5), np.full((3, 64), 1e6, np.float32)]
    )  # the last three are ill-conditioned
    after = ran(x)
    assert verdict(verify(x, after)) == ("pass", "agrees")
    after[6, 9] = value
    found = verify(x, after)
    assert verdict(found) == ("fail", "nonfinite-output")
    assert "[6, 9]" in found.message


def test_a_row_without_variance_or_epsilon_may_honestly_give_nan():
    x = np.concatenate([rows_of("plain", 16, 5), np.zeros((1, 16), np.float32)])
    with np.errstate(invalid="ignore"):
        after = np.concatenate([ran(x[:5], "rms_norm", eps=0.0), np.full((1, 16), nan, np.float32)])
    assert verdict(verify(x, after, "rms_norm", eps=0.0)) == ("pass", "agrees")


def test_an_undeclared_rounding_is_looked_for_only_where_nothing_else_explains_and_none_is_declared(monkeypatch):
    asked = []
    monkeypatch.setattr("ln_audit.numerics.stream.undeclared_rounding", lambda *given: asked.append(given))
    x = rows_of("plain", 48, 6)
    wrong = ran(x) * np.float32(1.5)
    verify(x, wrong)
    assert len(asked) == 1
    verify(x.astype(BF16), wrong, before_rounded="bfloat16")
    assert len(asked) == 1
    monkeypatch.setattr("ln_audit.numerics.stream.summation_order", lambda *given: (4, True))
    verify(x, wrong)
    assert len(asked) == 1
