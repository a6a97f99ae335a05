"""docs/reports.md is true: its commands run, and its table has every output."""

import re
import shlex

import pytest

from ln_audit.cli import main
from ln_audit.reports import REPORTS
from tests.shared import ROOT

PAGE = (ROOT / "docs" / "reports.md").read_text(encoding="utf-8")
COMMANDS = [line for line in PAGE.splitlines() if line.startswith("ln-audit ")]


@pytest.mark.parametrize("command", COMMANDS)
def test_its_commands_run(command, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(shlex.split(command)[1:]) == 0
    made = capsys.readouterr()
    assert made.out
    assert made.err == ""
    assert {path.name for path in tmp_path.iterdir()} == set(re.findall(r"=(ln-audit\.\w+)", command))


def test_its_table_has_every_output():
    assert re.findall(r"^\| `(\w+)` \|", PAGE, re.MULTILINE) == [output.NAME for output in REPORTS]
