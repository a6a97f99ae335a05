"""assert_norm on torch tensors, bfloat16 included, without torch being imported by ln-audit."""

import pytest

torch = pytest.importorskip("torch")

from ln_audit.errors import UsageError  # noqa: E402
from ln_audit.testing import assert_norm  # noqa: E402

pytestmark = pytest.mark.peers


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16, torch.float64])
def test_torchs_own_layer_norm_passes_and_another_epsilon_does_not(dtype):
    torch.manual_seed(0)
    x = (0.01 * torch.randn(4, 7, 96)).to(dtype)
    gain, bias = (1 + 0.1 * torch.randn(96)).to(dtype), (0.1 * torch.randn(96)).to(dtype)
    after = torch.nn.functional.layer_norm(x, (96,), gain.requires_grad_(), bias, 1e-5)
    assert assert_norm(x, after, gain, bias, kind="layer_norm", eps=1e-5).status == "pass"
    with pytest.raises(AssertionError, match="epsilon"):
        assert_norm(x, after, gain, bias, kind="layer_norm", eps=1e-3)


@pytest.mark.parametrize(
    "odd",
    [
        torch.ones(2, 8).to_sparse(),
        torch.ones(2, 8, device="meta"),
        torch.ones(2, 8).to(torch.float8_e4m3fn),
        torch.ones(2, 8, dtype=torch.complex64),
    ],
    ids=["sparse", "meta", "float8", "complex"],
)
def test_tensors_that_hold_no_dense_floats_are_refused(odd):
    with pytest.raises(UsageError, match="before: expected "):
        assert_norm(odd, torch.ones(2, 8), kind="layer_norm", eps=1e-5)
