import numpy as np

from ln_audit.diagnosis.hypothesis import Fault, Prediction, with_parameters
from ln_audit.diagnosis.trial import Trial, least_off, outcomes
from ln_audit.numerics.judge import Prepared
from ln_audit.numerics.parameters import Variant
from tests.diagnosis.suspects import BEFORE, batch, layer_norm, reference, suspect
from tests.numerics.runs import BF16, F32

OUT = reference(BEFORE, layer_norm())


def unchanged(of):
    return Fault("none", "", with_parameters(of, of.parameters))


def test_a_fault_explains_when_no_element_is_left_over():
    of = suspect(OUT)
    trial = Trial(unchanged(of), of)
    trial.add(batch(of))
    assert (trial.explains, trial.elements, trial.best.missed) == (True, 12, 0)
    assert 0 < trial.best.ratio <= 1


def test_a_fault_that_was_never_tried_explains_nothing():
    of = suspect(OUT)
    assert not Trial(unchanged(of), of).explains


def test_batches_add_up_and_one_element_off_is_enough():
    of = suspect(OUT)
    trial = Trial(unchanged(of), of)
    trial.add(batch(of))
    spoilt = OUT.copy()
    spoilt[1, 2] += F32(0.01)
    trial.add(batch(suspect(spoilt)))
    assert (trial.explains, trial.best.missed, trial.elements) == (False, 1, 24)
    off, ratio = least_off(unchanged(of), of, batch(suspect(spoilt)))
    assert (np.argwhere(off).tolist(), ratio) == ([[1, 2]], trial.best.ratio)


def test_the_same_form_and_chain_must_hold_everywhere():
    of = suspect(OUT.astype(BF16), parameters=layer_norm(gain=np.array([1.001, 2, -0.5, 4], F32)), out="bfloat16")
    keys = [key for key, _, _ in outcomes(unchanged(of), of, batch(of))]
    assert keys == [(0, 0), (0, 1), (1, 0), (1, 1)]


def blank(of):
    def predict(rows):
        nothing = np.full_like(rows.before, np.nan)
        judged = np.zeros((len(rows.before), 1), dtype=bool)
        return Prediction(
            Prepared(nothing, nothing, np.full(judged.shape, np.nan), judged), (Variant(None, None, None),)
        )

    return Fault("blank", "", predict)


def test_a_fault_that_predicts_no_number_explains_only_a_recorded_nan():
    of = suspect(OUT)
    assert least_off(blank(of), of, batch(of))[0].all()
    gone = suspect(np.full_like(OUT, np.nan))
    assert not least_off(blank(gone), gone, batch(gone))[0].any()


def test_without_an_output_there_is_no_outcome():
    of = suspect(OUT)
    assert list(outcomes(unchanged(of), of, batch(of, after=False))) == []
