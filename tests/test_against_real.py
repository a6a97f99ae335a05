"""GPT-2 small's fifty norms in the Hub's files and in OpenAI's own, which are the same to the bit."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

from ln_audit.audit import audit
from ln_audit.demand import Demand
from tests.shared import needs

BITS = "gain bit for bit and bias bit for bit"


@pytest.fixture(scope="module")
def openai(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made(tmp_path_factory.mktemp("openai"), "--tf")


@pytest.fixture(scope="module")
def hub(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made(tmp_path_factory.mktemp("hub"))


def made(folder: Path, *options: str) -> Path:
    tool = needs("tools", "make_gpt2_layout.py")
    subprocess.run([sys.executable, str(tool), *options, str(folder)], check=True, timeout=100)
    return folder


def findings(target: Path, source: Path) -> tuple[str, list[tuple[str, str]]]:
    (report,) = audit(str(target), Demand(against=str(source)))
    assert report.error is None
    return report.verdict.word, [(f.status, f.message) for f in report.findings if f.rule == "LN301"]


def test_the_hubs_file_and_openais_checkpoint_hold_the_same_bits(hub, openai):
    for target, source in ((hub, openai), (openai, hub)):
        verdict, found = findings(target, source)
        assert (verdict, len(found)) == ("pass", 26)
        assert [told for _, told in found[:25]] == [BITS] * 25
        assert found[25] == ("pass", "epsilon 1e-05 on both sides")


def test_one_element_of_one_norm_is_told_across_the_two(openai, hub, tmp_path):
    header = (hub / "config.json").read_bytes()
    (report,) = audit(str(hub), Demand())
    norms = {name for entry in report.norms for name in entry.norm.tensors}
    tensors = load_norms(hub, norms)
    name = next(name for name in sorted(norms) if name.endswith("h.3.ln_1.weight"))
    tensors[name].view(np.uint32)[417] ^= 1 << 20
    save_file(tensors, tmp_path / "model.safetensors")
    (tmp_path / "config.json").write_bytes(header)
    _, found = findings(tmp_path, openai)
    (told,) = [message for status, message in found if status == "fail"]
    assert told.startswith(f"model.safetensors: {name}: expected the source's gain, found one bit of [417]: bit 20, ")


def load_norms(folder: Path, names: set[str]) -> dict[str, np.ndarray]:
    """The norms alone: a copy of the rest would be half a gigabyte of zeros."""
    from safetensors import safe_open

    with safe_open(folder / "model.safetensors", "numpy") as file:
        return {name: file.get_tensor(name) for name in names}
