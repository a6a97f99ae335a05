"""What a norm read and gave, in every way that people write and call one."""

from types import SimpleNamespace
from typing import Any

import pytest

from ln_audit.errors import RecordingError
from ln_audit.record import call

pytestmark = pytest.mark.peers
torch: Any = pytest.importorskip("torch")


class Fused(torch.nn.Module):  # type: ignore[misc]
    """As vLLM writes it: what comes back is normed rows and the new residual, and both inputs are overwritten."""

    def forward(self, x, residual=None):
        if residual is None:
            return x * 2
        residual.add_(x)
        x.copy_(residual * 2)
        return x, residual


def called(module, *args, **kwargs):
    read = call.read(module, args, kwargs, "norm")
    return call.rows(read, module(*args, **kwargs), module, "norm")


def test_a_norm_called_by_position_or_by_keyword():
    norm, x = torch.nn.LayerNorm(4), torch.randn(2, 3, 4)
    by_position, by_keyword = called(norm, x), called(norm, input=x)
    assert torch.equal(by_position.before, x)
    assert torch.equal(by_position.after, norm(x))
    assert torch.equal(by_keyword.after, by_position.after)
    assert by_position.rounded is None


@pytest.mark.parametrize(("dtype", "rounded"), [("float32", None), ("bfloat16", "bfloat16")])
def test_a_fused_residual_add_reads_the_sum(dtype, rounded):
    x, residual = torch.randn(2, 3, 4, dtype=getattr(torch, dtype)), torch.randn(2, 3, 4, dtype=getattr(torch, dtype))
    total = x + residual
    found = called(Fused(), x, residual)
    assert torch.equal(found.before, total)
    assert torch.equal(found.after, total * 2)
    assert found.rounded == rounded


def test_the_first_layer_has_no_residual_yet():
    x = torch.randn(2, 4)
    assert torch.equal(called(Fused(), x).before, x)


def test_a_residual_by_name_counts_also_where_one_tensor_comes_back():
    class Added(torch.nn.Module):  # type: ignore[misc]
        def forward(self, x, residual):
            return (x + residual) * 2

    x, residual = torch.randn(2, 4), torch.randn(2, 4)
    assert torch.equal(called(Added(), x, residual).before, x + residual)


def test_a_gate_is_no_residual():
    class Gated(torch.nn.Module):  # type: ignore[misc]
        def forward(self, x, gate=None):
            return x * gate

    x, gate = torch.randn(2, 4), torch.randn(2, 4)
    assert torch.equal(called(Gated(), x, gate).before, x)
    assert torch.equal(called(Gated(), x, gate=gate).before, x)


def test_what_is_overwritten_was_copied_before():
    class InPlace(torch.nn.Module):  # type: ignore[misc]
        def forward(self, x):
            return x.mul_(3)

    x = torch.ones(2, 4)
    assert torch.equal(called(InPlace(), x).before, torch.ones(2, 4))


@pytest.mark.parametrize("returned", [list, tuple, lambda rows: SimpleNamespace(values=lambda: rows)])
def test_a_norm_that_returns_several_things(returned):
    class Many(torch.nn.Module):  # type: ignore[misc]
        def forward(self, x):
            return returned([x * 2, torch.ones(1)])

    x = torch.randn(2, 4)
    assert torch.equal(called(Many(), x).after, x * 2)


def test_channels_come_last_wherever_the_module_has_them():
    class First(torch.nn.Module):  # type: ignore[misc]
        def __init__(self):
            super().__init__()
            self.weight = torch.nn.Parameter(torch.ones(5))

        def forward(self, x):
            return x * self.weight[:, None, None]

    x = torch.randn(2, 5, 3, 4)
    assert torch.equal(called(First(), x).before, x.movedim(1, -1))
    assert called(torch.nn.LayerNorm((3, 4)), x).before.shape == (2, 5, 12)


def test_heads_that_are_joined_are_rows_of_the_narrower_width():
    class Joined(torch.nn.Module):  # type: ignore[misc]
        def forward(self, x):
            return x.flatten(-2)

    assert called(Joined(), torch.randn(2, 3, 4)).after.shape == (6, 4)


def test_what_is_no_norm_is_said():
    class Sum(torch.nn.Module):  # type: ignore[misc]
        def forward(self, x):
            return x.sum(-1)

    with pytest.raises(RecordingError, match=r"norm: expected an output of the input's shape \[2, 4\], found \[2\]"):
        called(Sum(), torch.ones(2, 4))
    with pytest.raises(
        RecordingError, match="norm: expected a norm that reads a floating tensor, found a call without one"
    ):
        call.read(Sum(), (torch.ones(2, dtype=torch.int64),), {}, "norm")
    with pytest.raises(RecordingError, match="norm: expected a norm that returns a tensor, found NoneType"):
        call.rows(call.Read(torch.ones(2), None, certain=False), None, Sum(), "norm")


def test_a_forward_without_a_signature_is_called_all_the_same():
    module = SimpleNamespace(forward=max)  # built in: its parameters have no names
    assert torch.equal(call.read(module, (torch.ones(2),), {}, "norm").hidden, torch.ones(2))
