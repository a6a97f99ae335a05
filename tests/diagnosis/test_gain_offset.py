import numpy as np

from ln_audit.diagnosis import gain_offset
from tests.diagnosis.suspects import BEFORE, explained, layer_norm, reference, suspect, told


def test_an_offset_that_was_left_out_is_named():
    of = suspect(reference(BEFORE, layer_norm()), parameters=layer_norm(weight_offset=1.0))
    (found,) = explained(gain_offset, of)
    assert (found.name, found.advice) == (
        "gain + 1 missing",
        "multiply by 1 + gain: the gain is stored without it",
    )


def test_an_offset_that_was_added_twice_is_named():
    of = suspect(reference(BEFORE, layer_norm(weight_offset=2.0)), parameters=layer_norm(weight_offset=1.0))
    assert told(gain_offset, of) == ["gain + 1 doubled"]


def test_an_offset_that_was_added_to_a_whole_gain_is_named():
    of = suspect(reference(BEFORE, layer_norm(weight_offset=1.0)))
    assert told(gain_offset, of) == ["gain + 1 for gain"]


def test_it_applies_where_there_is_a_gain():
    assert gain_offset.applies(suspect(BEFORE))
    assert not gain_offset.applies(suspect(BEFORE, parameters=layer_norm(gain=None)))
    assert told(gain_offset, suspect(np.zeros_like(BEFORE))) == []
