import pytest

from ln_audit.comparison import Explanation
from ln_audit.diagnosis import another_epsilon
from tests.diagnosis.suspects import BEFORE, batch, explained, layer_norm, reference, suspect, told


def test_the_defaults_of_others_are_tried_the_most_frequent_first_and_never_its_own():
    assert another_epsilon.others(1e-5) == [1e-6, 1e-12, 1e-3, 1e-8, 0.0]
    assert another_epsilon.others(9.999999974752427e-07) == [1e-5, 1e-12, 1e-3, 1e-8, 0.0]


def test_the_epsilon_that_was_used_is_named_with_the_way_out():
    tiny = BEFORE * 1e-3
    (found,) = explained(another_epsilon, suspect(reference(tiny, layer_norm(), eps=1e-6), tiny))
    advice = "hand the config's epsilon 1e-05 on to the module; if 1e-06 is right, correct the config"
    assert found == Explanation("epsilon 1e-06 instead of 1e-05", found.error_ratio, {"epsilon": 1e-6}, advice)
    assert 0 < found.error_ratio < 1


def test_where_several_would_do_they_are_told_together():
    large = BEFORE * 30
    of = suspect(reference(large, layer_norm(eps=0.5), eps=0.0), large, layer_norm(eps=0.5))
    assert told(another_epsilon, of) == ["epsilon 1e-12 instead of 0.5 (1e-08, 0 would fit too)"]


@pytest.mark.parametrize("eps", [1e-6, 1e-3, 0.0])
def test_a_fault_predicts_the_norm_with_its_epsilon(eps):
    of = suspect(BEFORE)
    fault = another_epsilon.fault(of, eps, "", "")
    assert fault.predict(batch(of, after=False)).values == pytest.approx(
        reference(BEFORE, layer_norm(), eps=eps), rel=1e-6, abs=1e-7
    )


def test_it_applies_to_every_norm():
    assert another_epsilon.applies(suspect(BEFORE))
