from ln_audit.core import Explanation
from ln_audit.diagnosis import hidden_state
from tests.diagnosis.suspects import BEFORE, batch, diagnosed, explained, layer_norm, reference, suspect
from tests.numerics.runs import F32, ArrayRows

STATE = (BEFORE[::-1] * F32(1.5) + F32(0.25)).copy()
AFTER = reference(STATE, layer_norm())
STATES = {0: ArrayRows(BEFORE * F32(2), AFTER), 3: ArrayRows(STATE, AFTER), 4: ArrayRows(AFTER, AFTER)}


def test_the_state_that_was_normed_is_named():
    of = suspect(AFTER, states=STATES)
    (found,) = explained(hidden_state, of)
    name = "hidden_states.3 is the input of this norm, before is another state"
    assert found == Explanation(name, found.error_ratio, {"state": 3.0}, "record hidden_states.3 as before")
    assert diagnosed(of).explained_by[0].name == name


def test_the_last_states_are_tried_first():
    of = suspect(AFTER, states=STATES)
    assert [fault.state for fault in hidden_state.faults(of, batch(of))] == [4, 3, 0]


def test_it_applies_where_states_were_recorded():
    assert hidden_state.applies(suspect(AFTER, states=STATES))
    assert not hidden_state.applies(suspect(AFTER))
