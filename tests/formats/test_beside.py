"""What lies beside a checkpoint decides no verdict, and never goes unsaid."""

from __future__ import annotations

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from ln_audit.audit import audit
from ln_audit.demand import Demand
from ln_audit.result import Verdict
from tests.formats import torch_files
from tests.shared import FIXTURES

GOOD = FIXTURES / "good" / "gpt2-recorded"
TENSORS = {name.removeprefix("transformer."): array for name, array in load_file(GOOD / "model.safetensors").items()}
BROKEN = TENSORS | {"ln_f.weight": np.full_like(TENSORS["ln_f.weight"], np.nan)}


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "config.json").write_text((GOOD / "config.json").read_text())
    return tmp_path


def pickle(tensors) -> bytes:
    return torch_files.save(torch_files.tensors(tensors))


def untold(folder, names) -> list[str]:
    """Of these names, those that some report does not list as not read."""
    reports = audit(str(folder), Demand())
    return [name for name in names for r in reports if not any(line.startswith(f"{name}: ") for line in r.not_checked)]


@pytest.mark.parametrize("lone", ["model.fp16.safetensors", "other.safetensors", "consolidated.safetensors"])
def test_the_file_that_a_loader_takes_decides(folder, lone):
    save_file(TENSORS, folder / lone)
    (folder / "pytorch_model.bin").write_bytes(pickle(BROKEN))
    (report,) = audit(str(folder), Demand())
    assert (report.verdict, untold(folder, [lone])) == (Verdict.FAIL, [])
    (folder / "pytorch_model.bin").unlink()
    assert [r.verdict for r in audit(str(folder), Demand())] == [Verdict.PASS]


def tokens(folder, name: str) -> None:
    array = np.arange(64, dtype=np.uint16)
    if name.endswith(".npz"):
        np.savez(folder / name, tokens=array)
    elif name.endswith(".pt"):
        (folder / name).write_bytes(pickle({"tokens": array.astype(np.int64)}))
    else:
        (folder / name).write_bytes(array.tobytes())


@pytest.mark.parametrize(
    ("model", "data"),
    [
        ("weights.npz", ["data.npz"]),
        ("weights.npz", ["train.bin"]),
        ("model.pt", ["train_tokens.pt"]),
        ("ckpt.pt", ["train.bin", "val.bin"]),
    ],
)
def test_data_is_neither_a_failure_nor_a_stop(folder, model, data):
    if model.endswith(".npz"):
        np.savez(folder / model, **TENSORS)
    else:
        (folder / model).write_bytes(pickle(TENSORS))
    for name in data:
        tokens(folder, name)
    (report,) = audit(str(folder), Demand())
    assert (report.verdict, untold(folder, data)) == (Verdict.PASS, [])


def test_data_alone_opens_no_gate(folder):
    tokens(folder, "train.bin")
    (report,) = audit(str(folder), Demand())
    assert report.verdict is Verdict.INCOMPLETE
    assert report.error is not None
    assert report.error.message.startswith("train.bin: expected a PyTorch file, found ")


def test_a_broken_checkpoint_beside_a_good_one_stays_a_report(folder):
    (folder / "model.pt").write_bytes(pickle(TENSORS))
    (folder / "best.pt").write_bytes(pickle(BROKEN))
    assert [r.verdict for r in audit(str(folder), Demand())] == [Verdict.FAIL, Verdict.PASS]
