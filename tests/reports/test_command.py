"""The command that reproduces a run: what was asked for, pinned, without how it was written and without secrets."""

import shlex
from dataclasses import replace

import pytest

from ln_audit.reports.command import reproducing
from ln_audit.reports.document import Run
from tests.reports.made import CLEAN, REPORT

PINNED = "gpt2@607a30d783dfa663"


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ((), f"ln-audit verify {PINNED}"),
        (("verify", "gpt2", "--strict"), f"ln-audit verify {PINNED} --strict"),
        (
            ("verify", "--format", "sarif", "gpt2", "--output", "a", "--output=json=b", "-o", "c"),
            f"ln-audit verify {PINNED}",
        ),
        (
            ("verify", "gpt2", "--revision", "main", "--revision=main", "--verbose", "--no-color", "--quiet"),
            f"ln-audit verify {PINNED}",
        ),
        (("report", "gpt2", "--config", "my config.json"), f"ln-audit report {PINNED} --config 'my config.json'"),
        (("verify", "gpt2@main"), "ln-audit verify gpt2@main"),
        (("verify", "gpt2", "x; rm -rf ~", "`id`", "a\nb"), f"ln-audit verify {PINNED} 'x; rm -rf ~' '`id`' 'a\\nb'"),
        (
            ("verify", "gpt2", "--against=https://u:SECRET@h/f?sig=SECRET", "https://u:SECRET@h/f?sig=SECRET"),
            f"ln-audit verify {PINNED} --against=https://h/f https://h/f",
        ),
    ],
)
def test_the_words_of_the_call(words, told):
    assert reproducing(Run((REPORT,), 0, command=words)) == told
    assert shlex.split(told)[0] == "ln-audit"


def test_a_revision_stays_where_nothing_is_pinned_otherwise():
    words = ("verify", "models/clean", "--revision", "main")
    assert reproducing(Run((CLEAN,), 0, command=words)) == "ln-audit verify models/clean --revision main"
    file = replace(REPORT, source=replace(REPORT.source, spec="hf://org/name/model.safetensors"))
    words = ("verify", "hf://org/name/model.safetensors", "--revision", "main")
    assert reproducing(Run((file,), 0, command=words)).endswith("--revision main")


def test_where_nothing_was_read_there_is_nothing_to_reproduce():
    assert reproducing(Run((), 2, command=("verify", "x"))) == ""
