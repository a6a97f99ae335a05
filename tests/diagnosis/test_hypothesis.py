import numpy as np
import pytest

from ln_audit.diagnosis.hypothesis import (
    FITTED,
    Prediction,
    dividing_by,
    forms,
    normed_by,
    prepared,
    reference,
    with_parameters,
)
from ln_audit.diagnosis.registry import HYPOTHESES
from ln_audit.numerics.cells import CHAINS
from ln_audit.numerics.judge import prepare
from tests.diagnosis import suspects
from tests.diagnosis.suspects import BEFORE, BIAS, GAIN, batch, layer_norm, suspect
from tests.numerics.runs import BF16


@pytest.mark.parametrize("hypothesis", HYPOTHESES, ids=lambda each: each.NAME)
def test_a_simple_hypothesis_predicts_the_same_with_and_without_an_output(hypothesis):
    of = suspect(BEFORE, states={})
    if hypothesis.FREEDOM >= FITTED or not hypothesis.applies(of):
        return
    given, bare = batch(of), batch(of, after=False)
    pairs = list(zip(hypothesis.faults(of, given), hypothesis.faults(of, bare), strict=True))
    assert pairs
    for one, other in pairs:
        assert one.name == other.name
        assert np.array_equal(one.predict(given).values, other.predict(bare).values, equal_nan=True)
        assert one.advice


@pytest.mark.parametrize("hypothesis", HYPOTHESES, ids=lambda each: each.NAME)
def test_every_fault_has_a_name_an_advice_and_values_of_the_rows_shape(hypothesis):
    of = suspect(BEFORE)
    if hypothesis.applies(of):
        for fault in hypothesis.faults(of, batch(of)):
            assert fault.name[0].islower() or fault.name.startswith(("LayerNorm", "RMSNorm"))
            assert fault.advice
            assert fault.predict(batch(of)).values.shape == BEFORE.shape


def test_a_suspect_knows_its_chains_and_its_kind():
    assert suspect(BEFORE).chains == (None,)
    assert suspect(BEFORE.astype(BF16), out="bfloat16").chains == tuple(CHAINS.values())
    assert suspect(BEFORE).centred
    assert not suspect(BEFORE, parameters=layer_norm(kind="rms_norm")).centred


def test_a_batch_works_a_thing_out_once():
    rows, left = batch(suspect(BEFORE)), [7]
    assert [rows.once("key", left.pop) for _ in range(2)] == [7, 7]
    of = suspect(BEFORE)
    assert reference(rows, of) is reference(rows, of)


def test_the_unchanged_norm_is_predicted_as_the_reference_prepares_it():
    of = suspect(BEFORE)
    rows = batch(of)
    for predict in (with_parameters(of, of.parameters), dividing_by(of, lambda var, _: 1 / np.sqrt(var + 1e-5))):
        found = predict(rows)
        expected = prepare(rows.before, of.setting)
        assert np.array_equal(found.prepared.z, expected.z)
        assert np.array_equal(found.prepared.e_z, expected.e_z)
        assert np.array_equal(found.values, GAIN * expected.z + BIAS)


def test_values_are_those_of_the_parameters_as_stored():
    of = suspect(BEFORE, parameters=layer_norm(gain=GAIN * np.float32(1.001)), out="bfloat16")
    assert [form.name for form in forms(of)] == ["float32", "bfloat16"]
    normed = normed_by(BEFORE.astype(np.float64), "layer_norm", np.ones_like)
    prediction = Prediction(prepared(BEFORE.astype(np.float64), normed, of), forms(of))
    assert np.array_equal(prediction.values, np.asarray(forms(of)[0].gain) * normed.delta + BIAS)
    assert suspects.honest(of).variant.name == "float32"
