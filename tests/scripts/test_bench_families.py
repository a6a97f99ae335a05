"""The measured contract is that of a whole mixture: ten thousand tensors, no failure."""

from ln_audit.families.recognise import index
from scripts.bench_families import measure, mixture


def test_the_mixture_is_measured_whole():
    assert len(mixture().tensors) == 10_195
    assert "qwen3_moe" in index()["model_types"]
    assert measure() > 0
