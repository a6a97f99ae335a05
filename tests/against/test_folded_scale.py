"""A factor for each channel is a warning where the config says that scales are folded, and nowhere else."""

import numpy as np
import pytest

from ln_audit.against.folded_scale import explain
from tests.against.made import GAIN, difference, norm

SCALED = GAIN * np.linspace(0.5, 2, 8, dtype=np.float32)
BLOCK = norm(role="block")
AWQ = {"quantization_config": {"quant_method": "awq"}}


def test_a_block_norm_of_an_awq_export_is_a_warning():
    found = explain(difference(SCALED, GAIN, ours=BLOCK, theirs=BLOCK, config=AWQ))
    assert found is not None
    assert (found.status, found.text) == ("warn", "a factor for each channel, 0.5 to 2, as awq folds into norms")


@pytest.mark.parametrize(
    ("artifact", "of", "config"),
    [
        (SCALED, norm(), AWQ),  # the final norm: nothing folds into it
        (SCALED, BLOCK, {}),
        (SCALED, BLOCK, {"quantization_config": {"quant_method": "gptq"}}),
        (SCALED, BLOCK, {"quantization_config": "awq"}),
        (-SCALED, BLOCK, AWQ),
    ],
)
def test_elsewhere_it_explains_nothing(artifact, of, config):
    assert explain(difference(artifact, GAIN, ours=of, theirs=of, config=config)) is None
