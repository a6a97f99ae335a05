from ln_audit.comparison import Explanation
from ln_audit.diagnosis import hidden_state
from tests.diagnosis.suspects import BEFORE, batch, diagnosed, explained, layer_norm, reference, suspect
from tests.numerics.runs import F32, ArrayRows

STATE = (BEFORE[::-1] * F32(1.5) + F32(0.25)).copy()
AFTER = reference(STATE, layer_norm())
STATES = {0: ArrayRows(BEFORE * F32(2), AFTER), 3: ArrayRows(STATE, AFTER), 4: ArrayRows(AFTER, AFTER)}


def test_the_state_that_was_normed_is_named():
    of = suspect(AFTER, states=STATES)
    (found,) = explained(hidden_state, of)
    name = "before is another state: hidden_states.3 is what this norm saw"
    assert found == Explanation(name, found.error_ratio, {"state": 3.0}, "record hidden_states.3 as before")
    assert diagnosed(of).explained_by[0].name == name


def test_a_before_that_is_normed_already_is_told_with_the_state_that_was_not():
    found = diagnosed(suspect(AFTER, AFTER, states=STATES))
    assert [each.name for each in found.explained_by] == [
        "before already carries the norm: hidden_states.3 is what this norm saw"
    ]


def test_the_last_states_are_tried_first():
    of = suspect(AFTER, states=STATES)
    assert [fault.state for fault in hidden_state.faults(of, batch(of))] == [4, 3, 0]


def test_it_applies_where_states_were_recorded():
    assert hidden_state.applies(suspect(AFTER, states=STATES))
    assert not hidden_state.applies(suspect(AFTER))
