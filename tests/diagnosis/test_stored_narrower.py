import pytest

from ln_audit.comparison import Explanation
from ln_audit.diagnosis import stored_narrower
from tests.diagnosis.suspects import BEFORE, batch, diagnosed, explained, layer_norm, reference, suspect, told
from tests.numerics.runs import BF16, F16, F32

OUT = reference(BEFORE * F32(1.1), layer_norm())
X = BEFORE * F32(1.1)


@pytest.mark.parametrize(("dtype", "name"), [(BF16, "bfloat16"), (F16, "float16")])
def test_an_output_that_went_through_a_narrower_dtype_than_was_stated_is_named(dtype, name):
    of = suspect(OUT.astype(dtype).astype(F32), X)
    (found,) = explained(stored_narrower, of)
    advice = f"say --output-dtype {name} if the run stores it so, or record it before it is rounded"
    assert found == Explanation(f"output rounded to {name}, not float32", found.error_ratio, {}, advice)
    assert diagnosed(of).explained_by == (found,)


def test_numbers_that_the_narrower_dtype_does_not_hold_never_went_through_it():
    assert told(stored_narrower, suspect(OUT * F32(1.001), X)) == []
    of = suspect(OUT, X)
    assert list(stored_narrower.faults(of, batch(of, after=False))) == []
    assert stored_narrower.applies(of)
