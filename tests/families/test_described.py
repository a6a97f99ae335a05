"""The norm of an unknown family, as the caller describes it."""

import pytest

from ln_audit.demand import Demand
from ln_audit.errors import UsageError
from ln_audit.families.described import described
from tests.families.model import checkpoint


def test_an_unknown_familys_norm_can_be_described():
    (norm,) = described(
        checkpoint({"core.scale.weight": (8,), "core.scale.bias": (8,)}),
        None,
        Demand(norm="core.scale", kind="layer_norm", eps=1e-6),
    )
    assert (norm.gain, norm.bias, norm.width, norm.eps, norm.role) == (
        "core.scale.weight",
        "core.scale.bias",
        8,
        1e-6,
        "final",
    )
    with pytest.raises(
        UsageError, match=r"--norm other: expected a norm of the checkpoint, found no tensor other.weight"
    ):
        described(checkpoint({}), None, Demand(norm="other", kind="layer_norm", eps=1e-6))
