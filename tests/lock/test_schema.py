"""What a lock's norm is called and counts."""

from ln_audit.lock.schema import DIGESTS, STORED, LockedNorm, Parameter


def test_a_norm_counts_the_elements_of_what_it_has():
    norm = LockedNorm("ln_f", "final", "layer_norm", "decoder", gain=Parameter(8), bias=Parameter(8))
    assert (norm.parameters, norm.key) == (16, ("decoder", "ln_f", 1))
    assert norm.parts == (("gain", Parameter(8)), ("bias", Parameter(8)))
    assert LockedNorm("norm", "final", "rms_norm", None, gain=Parameter(3), nth=2).parameters == 3


def test_every_dtype_has_its_digest():
    assert [f"{dtype}_sha256" in DIGESTS for dtype in STORED.values()] == [True] * 3
