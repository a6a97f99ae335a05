"""docs/html-report.md is true: its commands run, and its numbers are the program's."""

import re
import shlex

from ln_audit import cli
from ln_audit.numerics import channels, shares
from ln_audit.reports import html
from tests.reports.page_reader import elements, faults, parsed, text
from tests.shared import FIXTURES, ROOT

TEXT = (ROOT / "docs" / "html-report.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(?:sh|text)\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)
COMMANDS = [line for block in BLOCKS for line in block.splitlines() if line.startswith("ln-audit ")]


def test_every_command_runs_and_writes_a_page_with_what_the_text_names(tmp_path, monkeypatch, capsys):
    recorded = FIXTURES / "good" / "gpt2-recorded"
    (tmp_path / "fixtures").symlink_to(FIXTURES)
    (tmp_path / "path" / "to").mkdir(parents=True)
    (tmp_path / "path" / "to" / "folder").symlink_to(recorded)
    (tmp_path / "run.safetensors").write_bytes((recorded / "run.safetensors").read_bytes())
    monkeypatch.chdir(tmp_path)
    shown = set()
    for command in COMMANDS:
        assert (command, cli.main(shlex.split(command)[1:])) == (command, 0)
        written = tmp_path / command.rpartition(" ")[2].rpartition("=")[2]
        source = written.read_text(encoding="utf-8")
        assert faults(source) == []
        written.unlink()
        for kind in ("h3", "figcaption"):
            shown |= {text(each).lower() for each in elements(parsed(source), kind)}
    assert len(COMMANDS) == 4
    capsys.readouterr()
    named = {name.lower() for name in re.findall(r"^\*\*(.*?)\*\*", TEXT, re.MULTILINE)}
    assert len(named) == 6
    assert named - shown == set()


def test_its_numbers_are_the_programs():
    assert f"at most {shares.MOST_ROWS} × {shares.MOST_COLUMNS};" in TEXT
    assert f"further\nfrom the median than {channels.APART:g} times the median distance" in TEXT
    assert f"at most {html._TENSORS} tensors" in TEXT
    assert f"at most {html._MAPPED} recorded norms" in TEXT
    assert f"the numbers of {html._NORMS}," in TEXT
