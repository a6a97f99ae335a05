import pytest

from ln_audit.comparison import Explanation
from ln_audit.diagnosis import fitted_epsilon
from tests.diagnosis.suspects import BEFORE, batch, diagnosed, explained, layer_norm, reference, suspect
from tests.numerics.runs import BF16, F32

TINY = BEFORE * F32(1e-2)


@pytest.mark.parametrize("eps", [3e-5, 2.5e-4, 1.234e-5])
def test_an_epsilon_that_is_no_default_is_told_with_as_few_digits_as_fit(eps):
    of = suspect(reference(TINY, layer_norm(), eps=eps), TINY)
    (found,) = explained(fitted_epsilon, of)
    assert found == Explanation(
        f"best-fitting epsilon {eps:g} instead of 1e-05",
        found.error_ratio,
        {"epsilon": eps},
        f"hand the config's epsilon 1e-05 on to the module; if {eps:g} is right, correct the config",
    )
    assert diagnosed(of).explained_by[0] == found


def test_a_narrow_output_narrows_it_down_by_its_cells():
    of = suspect(reference(TINY, layer_norm(), eps=3e-5).astype(BF16), TINY, out="bfloat16")
    (found,) = explained(fitted_epsilon, of)
    assert found.parameters["epsilon"] == pytest.approx(3e-5, rel=0.02)


def test_without_an_output_there_is_nothing_to_fit():
    of = suspect(BEFORE)
    assert list(fitted_epsilon.faults(of, batch(of, after=False))) == []
    assert fitted_epsilon.applies(of)


def test_rows_that_leave_no_positive_epsilon_give_none():
    assert explained(fitted_epsilon, suspect(reference(BEFORE, layer_norm()) * F32(2))) == []
