"""How far a fault lies from every honest run."""

import numpy as np
import pytest

from ln_audit.diagnosis.hypothesis import Batch, Fault, Prediction
from ln_audit.numerics.floats import float64
from ln_audit.numerics.judge import Prepared, prepare
from ln_audit.resolving_power.distance import measure, stage
from tests.numerics.runs import rows_of
from tests.resolving_power.recorded import norm, suspected


def shifted(suspect, by):
    """A fault that moves every z by so many of its own bounds."""

    def predict(batch):
        rows = prepare(batch.before, suspect.setting)
        form = suspected(batch.before, suspect.parameters, suspect.setting.output.name)[1][0].form
        return Prediction(Prepared(rows.z + by(rows), rows.e_z, rows.r, rows.judged), (form,))

    return Fault("shifted", "", predict)


def measured(by, *, rows="plain", out="float32", **changes):
    x = float64(rows_of(rows, 48, 8))
    suspect, ways = suspected(x, norm(48, **changes), out)
    stages = [stage(Batch(np.arange(3, 8), x[3:]), suspect, ways), stage(Batch(np.arange(3), x[:3]), suspect, ways)]
    return measure(shifted(suspect, by), stages, suspect, suspect.chains, 0)


def test_the_reference_lies_at_no_distance_from_itself():
    found = measured(lambda rows: 0.0)
    assert (found.ratio, found.cells, found.told) == (0.0, 0, False)


@pytest.mark.parametrize(("bounds", "told"), [(0.9, False), (1.8, False), (2.3, True)])
def test_it_takes_two_bounds_to_keep_every_run_of_the_fault_from_passing(bounds, told):
    found = measured(lambda rows: bounds * rows.e_z, gain=None, bias=None)
    assert found.ratio == pytest.approx(bounds, rel=0.2)  # e holds a little more than e_z
    assert (found.told, found.cells > 0) == (told, told)


def test_it_stops_at_the_rows_by_which_it_is_told():
    def far_in(*sizes):
        return lambda rows: np.eye(1, rows.z.shape[1]) if len(rows.z) in sizes else 0.0  # the stages have 5 and 3 rows

    once, all_rows = measured(far_in(5, 3)), measured(far_in(3))
    assert once.told
    assert all_rows.told
    assert (once.cells, all_rows.cells) == (5, 3)


def test_a_fault_without_a_number_is_told():
    found = measured(lambda rows: np.nan)
    assert (found.ratio, found.told) == (np.inf, True)


def test_rows_that_the_reference_cannot_judge_tell_nothing():
    found = measured(lambda rows: np.nan, rows="constant", eps=0.0)
    assert (found.ratio, found.told) == (0.0, False)


def test_no_honest_way_may_allow_it():
    """Gain and bias as stored or rounded to bfloat16: what lies between both is hidden by one of them."""
    x = float64(rows_of("plain", 48, 8))
    suspect, ways = suspected(x, norm(48), "bfloat16")
    batch = Batch(np.arange(8), x)
    honest = [way.form for way in ways if way.chain is suspect.chains[0]]
    assert len(honest) == 2
    cast = Fault("cast", "", lambda batch: Prediction(prepare(batch.before, suspect.setting), (honest[1],)))
    rows = stage(batch, suspect, ways)
    assert measure(cast, [rows], suspect, suspect.chains[:1], 0).cells > 0
    assert not measure(cast, [rows], suspect, suspect.chains[:1], 0).told
