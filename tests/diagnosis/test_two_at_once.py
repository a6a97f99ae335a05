import numpy as np

from ln_audit.comparison import Explanation
from ln_audit.diagnosis import two_at_once
from tests.diagnosis.suspects import BEFORE, BIAS, GAIN, explained, suspect

SMALL = BEFORE * np.float32(1e-3)


def test_the_layer_norm_of_the_annotated_transformer_is_named():
    x = SMALL.astype(np.float64)
    delta = x - x.mean(axis=1, keepdims=True)
    after = GAIN * delta / (x.std(axis=1, ddof=1, keepdims=True) + 1e-6) + BIAS
    (found,) = explained(two_at_once, suspect(after.astype(np.float32), SMALL))
    assert found == Explanation(
        "variance over d − 1 and epsilon outside the root, with epsilon 1e-06",
        found.error_ratio,
        {"epsilon": 1e-6},
        "divide by d = 4, not d − 1, and add epsilon inside the root: x / sqrt(var + eps); and hand the config's "
        "epsilon 1e-05 on to the module",
    )


def test_it_applies_to_every_norm():
    assert two_at_once.applies(suspect(BEFORE))
