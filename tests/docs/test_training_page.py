"""docs/training.md is true: its code runs in a real training run."""

import inspect
import re
from typing import Any

import pytest

from tests.shared import ROOT

TEXT = (ROOT / "docs" / "training.md").read_text(encoding="utf-8")
CODE = re.findall(r"^```python\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)


@pytest.mark.peers
@pytest.mark.filterwarnings("ignore")
def test_its_code_runs_one_block_after_the_other(tmp_path, monkeypatch):
    pytest.importorskip("torch")
    transformers: Any = pytest.importorskip("transformers")
    pytest.importorskip("accelerate")
    from tests.peers.torch_models import saved, tiny

    monkeypatch.chdir(tmp_path)
    saved("llama", tmp_path / "path" / "to" / "base")
    settings = transformers.TrainingArguments(
        output_dir="out",
        max_steps=1,
        save_steps=1,
        report_to=[],
        disable_tqdm=True,
        use_cpu=True,
        logging_strategy="no",
    )
    given = {"model": tiny("llama"), "args": settings, "data": [{"input_ids": [1, 2, 3], "labels": [1, 2, 3]}] * 8}
    assert len(CODE) == 3
    for block in CODE:
        exec(compile(block, "docs/training.md", "exec"), given)
    trainer: Any = given["trainer"]
    assert (trainer.state.global_step, (tmp_path / "out" / "checkpoint-1").is_dir()) == (1, True)


@pytest.mark.peers
def test_its_table_names_the_arguments():
    pytest.importorskip("transformers")
    from ln_audit.trainer import NormCallback

    named = re.findall(r"^\| `(\w+)` \|", TEXT, re.MULTILINE)
    asked = inspect.signature(NormCallback).parameters
    assert named == [name for name, each in asked.items() if each.kind is not inspect.Parameter.VAR_KEYWORD]
