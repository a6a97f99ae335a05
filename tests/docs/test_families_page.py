"""docs/families.md is true: its table is a family that verifies, and it explains every key that a table may have."""

import json
from dataclasses import fields

import numpy as np
import pytest
from safetensors.numpy import save_file

from ln_audit.audit import audit
from ln_audit.demand import Demand
from ln_audit.families.schema import Condition, Epsilon, Family, Neighbour, Part, Promise, Size
from ln_audit.result import Verdict
from tests.docs.runner.blocks import blocks
from tests.docs.runner.pages import mine
from tests.shared import ROOT

PAGE = ROOT / "docs" / "families.md"
TEXT = PAGE.read_text(encoding="utf-8")
EXPLAINED = "\n".join(line for line in TEXT.splitlines() if line.startswith("| "))


@pytest.fixture
def folder(tmp_path):
    mine(tmp_path)
    return tmp_path / "path" / "to" / "folder"


def test_the_whole_table_gives_the_final_norm_its_width(folder):
    (table,) = (block for block in blocks(PAGE, "docs/families.md") if block.title == "mine.toml")
    (folder.parent / "mine.toml").write_text(table.text)
    (report,) = audit(str(folder), Demand(family=str(folder.parent / "mine.toml")))
    assert report.verdict is Verdict.PASS
    assert report.parameters.final_norm == 8


def test_a_known_family_does_not_stand_in_for_another_model_type(folder):
    (report,) = audit(str(folder), Demand(family="llama"))
    assert [f.rule for f in report.findings if f.status == "fail"] == ["LN009"]


@pytest.mark.parametrize("part", [Family, Part, Promise, Neighbour, Size, Epsilon, Condition])
def test_every_key_is_explained(part):
    renamed = {
        "norms": "[norm]] name",
        "sizes": "[sizes.KEY]",
        "epsilon": "[epsilon]",
        "when": "norm.when",
        "key": "KEY",
    }
    for field in fields(part):
        assert renamed.get(field.name, f"`{field.name}`") in EXPLAINED, field.name


def test_the_six_lines_are_those_of_the_report(tmp_path):
    save_file({"core.closing_scale": np.ones(16, np.float32)}, tmp_path / "model.safetensors")
    written = {"model_type": "acme_xformer", "hidden_size": 16, "rms_norm_eps": 1e-5}
    (tmp_path / "config.json").write_text(json.dumps(written))
    (report,) = audit(str(tmp_path), Demand())
    (table,) = [finding.evidence["table"] for finding in report.findings if "table" in finding.evidence]
    assert f"```toml\n{table}\n```" in TEXT
    (tmp_path / "acme.toml").write_text(str(table).replace("[family.acme_xformer]", 'name = "acme"'))
    (described,) = audit(str(tmp_path), Demand(family=str(tmp_path / "acme.toml")))
    assert described.verdict is Verdict.PASS
