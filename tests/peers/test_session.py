"""A session writes block by block: memory stays flat however many positions there are, and nothing else is left behind."""

import tracemalloc
from typing import Any

import pytest

import ln_audit
from ln_audit.errors import RecordingError
from tests.peers.torch_models import read

pytestmark = pytest.mark.peers
torch: Any = pytest.importorskip("torch")


def resident() -> int:
    with open("/proc/self/status") as file:  # noqa: PTH123
        return next(int(line.split()[1]) for line in file if line.startswith("VmRSS")) * 1024


def test_memory_stays_flat_in_the_number_of_positions(tmp_path):
    norm, x = torch.nn.LayerNorm(1024), torch.randn(256, 1024)  # 1 MB a call, as much again that comes out
    with torch.no_grad(), ln_audit.capture(norm, tmp_path / "run.safetensors", norm):
        norm(x)
        tracemalloc.start()
        before = resident()
        for _ in range(100):
            norm(x)
        grown, peak = resident() - before, tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert (tmp_path / "run.safetensors").stat().st_size > 200_000_000
    assert grown < 30_000_000
    assert peak < 10_000_000


def test_rows_of_another_width_end_the_recording(tmp_path):
    norm = torch.nn.Identity()
    with (
        pytest.raises(RecordingError, match=r"before: expected F32 \[4\] as in the pass before, found F32 \[5\]"),
        ln_audit.capture(norm, tmp_path / "run.safetensors", norm),
    ):
        _ = norm(torch.ones(2, 4)), norm(torch.ones(2, 5))
    assert list(tmp_path.iterdir()) == []


def test_a_call_without_rows_counts_for_nothing(tmp_path):
    norm = torch.nn.LayerNorm(4)
    with torch.no_grad(), ln_audit.capture(norm, tmp_path / "run.safetensors", norm):
        norm(torch.ones(0, 4))
        norm(torch.ones(2, 4))
    assert read(tmp_path / "run.safetensors")[0]["before"].shape == (2, 4)


def test_what_only_is_called_a_norm_is_left_out(tmp_path):
    class ScaleNorm(torch.nn.Module):  # type: ignore[misc]
        def forward(self, x):
            return x.norm(dim=-1)

    model = torch.nn.Sequential(torch.nn.LayerNorm(4), ScaleNorm())
    with torch.no_grad(), ln_audit.capture(model, tmp_path / "run.safetensors", all_norms=True):
        model(torch.randn(2, 4))
        model(torch.randn(2, 4))
    tensors, metadata = read(tmp_path / "run.safetensors")
    assert sorted(tensors) == ["0/after", "0/before"]
    assert "note" not in metadata


def test_tokens_of_another_length_are_left_out(tmp_path):
    class Pooled(torch.nn.Module):  # type: ignore[misc]
        def __init__(self):
            super().__init__()
            self.embed, self.norm = torch.nn.Embedding(9, 4), torch.nn.LayerNorm(4)

        def forward(self, ids):
            return self.norm(self.embed(ids).mean(1))

    model = Pooled()
    with torch.no_grad(), ln_audit.capture(model, tmp_path / "run.safetensors", "norm"):
        model(torch.arange(6).reshape(2, 3))
    assert "tokens" not in read(tmp_path / "run.safetensors")[0]
