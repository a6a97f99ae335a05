"""torch tensors as bytes: every dtype that a recording may hold, whatever their layout."""

from typing import Any

import numpy as np
import pytest

from ln_audit.errors import RecordingError
from ln_audit.record import tensors

pytestmark = pytest.mark.peers
torch: Any = pytest.importorskip("torch")


@pytest.mark.parametrize(
    ("dtype", "spelt"), [("float64", "F64"), ("float32", "F32"), ("float16", "F16"), ("bfloat16", "BF16")]
)
def test_the_bytes_are_those_of_the_numbers_in_order(dtype, spelt):
    x = torch.randn(3, 4, dtype=getattr(torch, dtype)).t()  # not contiguous
    found = tensors.block(x.requires_grad_(), "x")
    assert (found.dtype, found.shape) == (spelt, (4, 3))
    assert bytes(found.data) == tensors.array(x).tobytes() == bytes(tensors.of_array(tensors.array(x)).data)
    assert tensors.of_array(tensors.array(x)).dtype == spelt
    assert tensors.array(x).dtype == dtype


def test_token_ids_become_int64():
    found = tensors.whole_numbers(torch.tensor([[1, 2]], dtype=torch.int32))
    assert (found.dtype, found.shape, bytes(found.data)) == ("I64", (1, 2), np.array([1, 2], "<i8").tobytes())


def test_a_copy_does_not_follow_its_tensor():
    x = torch.zeros(2, requires_grad=True)
    kept = tensors.copied(x)
    x.data.add_(1)
    assert (kept.tolist(), kept.requires_grad) == ([0, 0], False)


def test_what_is_not_here_is_known():
    assert tensors.held(torch.ones(1))
    assert not tensors.held(torch.ones(1, device="meta"))


def test_eight_bits_are_no_recording():
    with pytest.raises(
        RecordingError, match="x: dtype: expected bfloat16, float16, float32 or float64, found float8_e4m3fn"
    ):
        tensors.block(torch.ones(2).to(torch.float8_e4m3fn), "x")
