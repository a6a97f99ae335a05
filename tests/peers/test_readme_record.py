"""What README says of recording runs, against transformers: its commands and its code, one after the other."""

import re

import pytest

from tests.peers.torch_models import saved, tiny
from tests.test_readme import BLOCKS, NEED_TORCH, run

pytestmark = pytest.mark.peers


def test_the_commands_that_run_a_model_pass_one_after_the_other(tmp_path):
    saved("gpt2", tmp_path / "model")
    assert [re.sub(r" +#.*", "", command) for command in NEED_TORCH] == [
        "ln-audit record path/to/folder --random 64 -o run.safetensors",
        "ln-audit verify path/to/folder --record",
    ]
    for command in NEED_TORCH:
        made = run(re.sub(r" +#.*", "", command).replace("path/to/folder", str(tmp_path / "model")), tmp_path)
        assert made.returncode == 0, made.stderr
    assert (tmp_path / "run.safetensors").exists()


def test_the_code_records_what_verify_passes(tmp_path, monkeypatch):
    import torch

    saved("gpt2", tmp_path / "model")
    monkeypatch.chdir(tmp_path)
    (block,) = (code for language, code in BLOCKS if language == "python" and "capture" in code)
    exec(compile(block, "README.md", "exec"), {"model": tiny("gpt2"), "tokens": torch.arange(12).reshape(2, 6)})
    made = run(f"ln-audit verify {tmp_path / 'model'} --recording run.safetensors", tmp_path)
    assert (made.returncode, made.stderr) == (0, "")
