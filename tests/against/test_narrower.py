"""A truncated bfloat16 fails; a narrower dtype on the way is a warning."""

import numpy as np

from ln_audit.against.equality import truncated
from ln_audit.against.narrower import explain
from tests.against.made import BF16, GAIN, difference

FINE = GAIN * np.float32(1.0001)


def test_cut_off_fails_and_a_detour_warns():
    cut = explain(difference(truncated(FINE.astype(np.float64)).astype(BF16), FINE))
    through = explain(difference(FINE.astype(np.float16).astype(np.float32), FINE))
    assert cut is not None
    assert through is not None
    assert (cut.status, cut.name, through.status) == ("fail", "truncated", "warn")
    assert through.text == "every value went through F16 before it was stored as F32"
    assert explain(difference(FINE * 2, FINE)) is None
    assert explain(difference(FINE[:4], FINE)) is None
