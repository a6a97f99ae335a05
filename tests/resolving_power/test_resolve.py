"""What a recording is said to tell is what a comparison of the planted fault shows, and nothing else is claimed."""

from dataclasses import replace
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from ln_audit.diagnosis.hypothesis import Batch
from ln_audit.numerics.floats import FORMATS, float64
from ln_audit.numerics.parameters import NormParameters
from ln_audit.recording import open_recording
from ln_audit.resolving_power.bounds import bounds
from ln_audit.resolving_power.distance import stage
from ln_audit.resolving_power.resolve import OF_AN_ARTIFACT, _faults, of_a_run, resolve
from tests.numerics.runs import BF16, F16, F32, FLOAT32, ArrayRows, rows_of, run
from tests.resolving_power.recorded import compared, honest, names, norm, resolved, suspected
from tests.shared import ROOT

ASSETS = ROOT / "ln_audit" / "assets"


def planted(x, parameters, out):
    """Every fault of which something is said, with the distance, and what its run stores: exactly, and as near to the
    reference as an honest run of the fault could come.
    """
    found = resolved(x, parameters, out)
    said = {
        entry["name"]: (entry, told)
        for told, entries in ((True, found.can_tell), (False, found.cannot_tell))
        for entry in entries
    }
    suspect, ways = suspected(x, parameters, str(out))
    batch = Batch(np.arange(len(x)), float64(x))
    allowed = stage(batch, suspect, ways).allowed[0]
    chain = suspect.chains[0]
    for _, fault in _faults(of_a_run(), suspect, batch):
        if fault.name not in said:
            continue
        prediction = fault.predict(batch)
        own = bounds(prediction.prepared, prediction.forms[0], chain, suspect.setting)
        with np.errstate(all="ignore"):
            exact = own.y.astype(out)
            nearest = np.where(
                np.isfinite(own.e),
                np.clip(allowed.y, own.y - 0.9 * (own.y - own.low), own.y + 0.9 * (own.high - own.y)),
                own.y,
            )
            yield fault.name, *said[fault.name], exact, nearest.astype(out)


@pytest.mark.parametrize("out", [FLOAT32, BF16, F16], ids=str)
@pytest.mark.parametrize("kind", ["layer_norm", "rms_norm"])
@pytest.mark.parametrize("rows", ["plain", "outliers", "mean of 100 sigma", "1e-3"])
def test_a_fault_that_can_be_told_fails_even_where_it_rounds_towards_the_reference(kind, out, rows):
    x, parameters = rows_of(rows, 48, 16), norm(48, kind)
    if out == F16:
        x = np.clip(x, -3000, 3000)
    told = 0
    for name, entry, can_tell, exact, nearest in planted(x, parameters, out):
        for after in (exact, nearest):
            found = compared(x, after, parameters, output_dtype=str(out))
            if can_tell:
                assert found.status != "pass", name
        if out == FLOAT32 and entry["distance"] <= 0.9:
            assert not can_tell, name
            assert compared(x, exact, parameters, output_dtype=str(out)).status == "pass", name
        if out == FLOAT32 and not can_tell:
            assert entry["distance"] <= 2.1, name
        told += can_tell
    assert told > 20


@pytest.mark.parametrize("out", [FLOAT32, BF16, F16], ids=str)
@pytest.mark.parametrize("d", [16, 768])
@pytest.mark.parametrize("scale", [1e-2, 0.3, 1.0, 30.0])
def test_a_real_float32_run_of_a_fault_that_can_be_told_fails(scale, d, out):
    x, parameters = rows_of("plain", d, 16) * F32(scale), norm(d)
    can_tell = names(resolved(x, parameters, out).can_tell)
    made: dict[str, dict[str, Any]] = {
        "variance over d − 1": {"ddof": 1},
        "epsilon 1e-06 instead of 1e-05": {"eps": 1e-6},
        "epsilon 0.001 instead of 1e-05": {"eps": 1e-3},
        "epsilon 0 instead of 1e-05": {"eps": 0.0},
    }
    assert "variance over d − 1" in can_tell
    for name in can_tell & set(made):
        after = run(x, parameters.gain, parameters.bias, out=out, **made[name])
        assert compared(x, after, parameters, output_dtype=str(out)).status != "pass", name


@pytest.mark.parametrize(("scale", "told"), [(1e-3, True), (30.0, False)])
@pytest.mark.parametrize("kind", ["layer_norm", "rms_norm"])
def test_epsilons_are_told_apart_on_small_rows_only(kind, scale, told):
    found = resolved(rows_of("plain", 768, 32) * F32(scale), norm(768, kind))
    assert ("epsilon 1e-06 instead of 1e-05" in names(found.can_tell)) == told
    assert ("epsilon 1e-06 instead of 1e-05" in names(found.cannot_tell)) != told


def test_a_narrow_output_tells_by_its_cells_what_no_error_ratio_shows():
    found = resolved(rows_of("plain", 768, 64) * F32(0.1), norm(768, bias=None), BF16)
    (entry,) = [each for each in found.can_tell if each["name"] == "epsilon 0 instead of 1e-05"]
    assert entry["distance"] < 1
    assert entry["cells"] > 0
    wide = resolved(rows_of("plain", 768, 64), norm(768))
    assert {each["cells"] for each in wide.can_tell} == {None}


def test_an_rmsnorm_for_a_layernorm_is_hidden_by_rows_whose_mean_is_zero():
    half = rows_of("plain", 24, 16)
    x = np.concatenate([half, -half], axis=1)
    entry = next(each for each in resolved(x, norm(48)).cannot_tell if each["hypothesis"] == "kind")
    assert (entry["distance"], entry["hidden_by"]) == (0.0, "these rows")
    assert "kind" in {each["hypothesis"] for each in resolved(x + F32(0.5), norm(48)).can_tell}


@pytest.mark.parametrize(
    ("changes", "absent"),
    [
        ({"gain": np.ones(48, F32)}, "gain missing"),
        ({"bias": np.zeros(48, F32)}, "bias missing"),
        ({"gain": None}, "gain missing"),
        ({"bias": None}, "bias missing"),
        ({"gain": np.ones(48, F32), "bias": np.zeros(48, F32)}, "gain and bias missing"),
        ({"gain": np.full(48, 0.5, F32), "bias": np.full(48, 0.5, F32)}, "gain and bias swapped"),
    ],
)
def test_what_is_the_same_function_is_no_fault_of_this_norm(changes, absent):
    x = rows_of("plain", 48, 16)
    found = resolved(x, norm(48, **changes))
    assert absent not in names(found.can_tell) | names(found.cannot_tell)
    assert "variance over d − 1" in names(found.can_tell)
    everything = resolved(x, norm(48))
    assert absent in names(everything.can_tell)


def test_an_overflow_is_a_question_of_rows_that_are_not_here():
    found = resolved(rows_of("plain", 48, 16), norm(48))
    hidden = {each["name"]: each["hidden_by"] for each in found.cannot_tell if each["hypothesis"] == "overflow"}
    assert set(hidden.values()) == {"large rows"}
    large = resolved(rows_of("plain", 48, 16) * F32(1000), norm(48))
    assert "overflow" in {each["hypothesis"] for each in large.can_tell}


def test_one_pass_is_told_where_the_mean_is_large():
    x = rows_of("plain", 48, 16)
    assert "variance in one pass" in names(resolved(x, norm(48)).cannot_tell)
    assert "variance in one pass" in names(resolved(x + F32(300), norm(48)).can_tell)


def test_a_comparison_that_does_not_pass_is_left_as_it_is():
    x, parameters = rows_of("plain", 48, 16), norm(48)
    after = honest(x, parameters) * F32(1.01)
    failed = compared(x, after, parameters)
    assert failed.status == "fail"
    assert resolve(failed, ArrayRows(x, after), parameters) is failed


def test_another_norm_of_the_checkpoint_is_asked_about_where_it_is_given():
    from ln_audit.diagnosis.hypothesis import Other

    x, parameters = rows_of("plain", 48, 16), norm(48)
    after = honest(x, parameters)
    found = compared(x, after, parameters)
    twin = Other("twin", -1, parameters)
    other = Other("other", 1, replace(parameters, eps=0.5))
    made = resolve(found, ArrayRows(x, after), parameters, others=lambda: (twin, other))
    about = {each["name"] for each in (*made.can_tell, *made.cannot_tell) if each["hypothesis"] == "another-norm"}
    assert about == {"matches other: one norm too late"}


def test_the_way_of_the_run_is_found_again_whatever_its_chain():
    x, parameters = rows_of("plain", 48, 24), norm(48, "rms_norm", bias=None, chain="before_gain")
    after = honest(x, parameters, BF16, "before_gain")
    found = compared(x, after, parameters)
    assert (found.status, found.chain) == ("pass", "before_gain")
    made = resolve(found, ArrayRows(x, after), parameters)
    assert "gain missing" in names(made.can_tell)
    assert [each["parameter"] for each in made.smallest_changes] == ["gain"]


def published(folder, norm_name, recording, packaged):
    from safetensors.numpy import load_file

    tensors = load_file(folder / "model.safetensors")
    parameters = NormParameters("layer_norm", tensors[f"{norm_name}.weight"], tensors[f"{norm_name}.bias"], 1e-5)
    rows = open_recording(str(recording)).rows("")
    from ln_audit.numerics.compare import compare

    found = compare(rows, parameters, norm=norm_name, recording="r", provenance="p", packaged=packaged)
    assert found.status == "pass"
    return resolve(found, rows, parameters)


def test_the_samples_recording_tells_the_epsilons_apart():
    made = published(ASSETS / "sample", "transformer.ln_f", ASSETS / "sample" / "recording.safetensors", packaged=False)
    assert {"epsilon 1e-06 instead of 1e-05", "epsilon outside the root"} <= names(made.can_tell)
    assert {each["hidden_by"] for each in made.cannot_tell} == {"large rows"}


def test_a_packaged_recording_is_asked_only_what_an_artifact_can_have_wrong():
    x = rows_of("outliers", 768, 64) * F32(20)
    found = resolved(x, norm(768), packaged=True)
    asked = {each["hypothesis"] for each in (*found.can_tell, *found.cannot_tell)}
    assert asked == {each.NAME for each in OF_AN_ARTIFACT}
    (entry,) = [each for each in found.cannot_tell if each["name"] == "epsilon 1e-06 instead of 1e-05"]
    assert entry["distance"] < 0.01


def test_a_change_that_was_declared_to_be_rounded_away_is_not_told():
    x, parameters = rows_of("plain", 48, 16).astype(ml_dtypes.bfloat16), norm(48)
    after = honest(x.astype(F32), parameters)
    held = compared(x, after, parameters)
    loose = compared(x, after, parameters, before_rounded="bfloat16")
    sharp = resolve(held, ArrayRows(x, after), parameters)
    blunt = resolve(loose, ArrayRows(x, after), parameters, before_rounded="bfloat16")
    assert FORMATS["bfloat16"].holds(float64(x)).all()
    assert "epsilon 0.001 instead of 1e-05" in names(sharp.can_tell)
    assert "epsilon 0.001 instead of 1e-05" in names(blunt.cannot_tell)
