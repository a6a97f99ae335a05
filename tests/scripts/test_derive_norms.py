"""What a module computes is told by running it, whatever its class is called."""

from typing import Any

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")
from scripts.derive import norms  # noqa: E402

pytestmark = pytest.mark.peers
Module: Any = torch.nn.Module


class Scaled(Module):  # type: ignore[misc]
    """An RMSNorm of the test's own: where it rounds and what it adds to its gain are settings."""

    def __init__(self, *, offset: float = 0.0, early: bool = False, eps: float = 1e-6, width: int = 24) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(width))
        self.offset, self.early, self.some_small_number = offset, early, eps

    def forward(self, x):
        z = x.float() * (x.float().square().mean(-1, keepdim=True) + self.some_small_number).rsqrt()
        if self.early:
            return (self.weight + self.offset) * z.to(x.dtype)
        return (z * (self.weight.float() + self.offset)).to(x.dtype)


class Gated(Scaled):
    def forward(self, x, gate=None):
        return super().forward(x * torch.nn.functional.silu(gate))


class Plain(Module):  # type: ignore[misc]
    def __init__(self, formula) -> None:
        super().__init__()
        self.formula = formula

    def forward(self, x):
        return self.formula(x)


def facts(module):
    found = norms.measure(module)
    return found and (found.kind, found.gain, found.bias, found.offset, found.eps, found.chain)


@pytest.mark.parametrize(
    ("module", "expected"),
    [
        (torch.nn.LayerNorm(24), ("layer_norm", "weight", "bias", 0.0, 1e-5, "once")),
        (torch.nn.LayerNorm(24, eps=1e-12), ("layer_norm", "weight", "bias", 0.0, 1e-12, "once")),
        (torch.nn.LayerNorm(24, bias=False), ("layer_norm", "weight", None, 0.0, 1e-5, "once")),
        (torch.nn.LayerNorm(24, elementwise_affine=False), ("layer_norm", None, None, 0.0, 1e-5, "once")),
        (torch.nn.RMSNorm(24, eps=1e-6), ("rms_norm", "weight", None, 0.0, 1e-6, "once")),
        (torch.nn.RMSNorm(24), ("rms_norm", "weight", None, 0.0, None, "once")),
        (Scaled(), ("rms_norm", "weight", None, 0.0, 1e-6, "once")),
        (Scaled(early=True), ("rms_norm", "weight", None, 0.0, 1e-6, "before_gain")),
        (Scaled(offset=1.0, eps=3e-4), ("rms_norm", "weight", None, 1.0, 3e-4, "once")),
        (Gated(), ("gated_rms_norm", "weight", None, 0.0, 1e-6, None)),
        (Plain(lambda x: torch.nn.functional.normalize(x, dim=-1)), ("l2_norm", None, None, 0.0, None, "once")),
        (torch.nn.GroupNorm(4, 24), ("group_norm", "weight", "bias", 0.0, 1e-5, None)),
        (torch.nn.BatchNorm2d(24, eps=1e-3), ("batch_norm", "weight", "bias", 0.0, 1e-3, None)),
        (torch.nn.Linear(24, 24), None),
        (torch.nn.GELU(), None),
        (Plain(lambda x: x), None),
        (Plain(lambda x: x / x.std(-1, keepdim=True)), None),
    ],
)
def test_a_module_is_known_by_its_numbers(module, expected):
    assert facts(module) == expected


def test_measuring_changes_nothing_in_the_module():
    module = Scaled()
    before = module.weight.clone()
    norms.measure(module)
    assert torch.equal(module.weight, before)
