"""docs/completion.md is true; tests/test_completion.py presses TAB."""

import re

from ln_audit.completion import WORDS
from tests.shared import ROOT
from tests.test_cli import SCRIPT, run

TEXT = (ROOT / "docs" / "completion.md").read_text(encoding="utf-8")


def test_the_options_it_names_exist():
    options = set(re.findall(r"ln-audit (--[a-z-]+)", TEXT))
    assert options == {"--install-completion", "--show-completion"}
    shown = run(*SCRIPT, "--help").stdout
    assert all(option in shown for option in options)
    assert set(re.findall(r"`(--[a-z]+)`", TEXT)) <= set(WORDS)
