from ln_audit.comparison import Explanation
from ln_audit.diagnosis import another_norm
from ln_audit.diagnosis.hypothesis import Other
from tests.diagnosis.suspects import BEFORE, GAIN, batch, explained, layer_norm, reference, suspect

EARLIER = layer_norm(gain=GAIN[::-1].copy())
LATER = layer_norm(gain=GAIN * 3, eps=1e-3)
OTHERS = (Other("h.10.ln_1", -3, EARLIER), Other("h.12.ln_1", 1, LATER), Other("h.11.ln_2", -1, EARLIER))


def test_the_nearest_norm_of_the_model_is_tried_first():
    of = suspect(BEFORE, others=OTHERS)
    assert [fault.name for fault in another_norm.faults(of, batch(of))] == [
        "matches h.12.ln_1: one norm too late",
        "matches h.11.ln_2: one norm too early",
        "matches h.10.ln_1: 3 norms too early",
    ]


def test_the_norm_that_made_the_output_is_named_with_its_own_epsilon():
    (found,) = explained(another_norm, suspect(reference(BEFORE, LATER), others=OTHERS))
    advice = "record the output of ln_f, or name the norm it belongs to: --norm h.12.ln_1"
    assert found == Explanation("matches h.12.ln_1: one norm too late", found.error_ratio, {"step": 1.0}, advice)


def test_it_applies_where_others_were_read():
    assert another_norm.applies(suspect(BEFORE, others=OTHERS))
    assert not another_norm.applies(suspect(BEFORE))
