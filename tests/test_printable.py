"""Foreign text is shown, not obeyed; what is secret in a target is not shown at all."""

import pytest

from ln_audit.errors import FormatError
from ln_audit.printable import did_you_mean, first_line, one_line, short, without_secrets
from ln_audit.result import Rule


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("ln_f", "ln_f"),
        ("a\nb", "a\\nb"),
        ("\x1b[31m", "\\x1b[31m"),
        ("\ud800", "\\ud800"),
        ("→ ✓ é", "→ ✓ é"),
        ("\u202e", "\\u202e"),
        ("x ##[add-mask]y", "x #\\x23[add-mask]y"),
    ],
)
def test_one_line(text, shown):
    assert one_line(text) == shown


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (ValueError("\n  first\nsecond"), "first"),
        (ValueError("\x1b[31mred"), "\\x1b[31mred"),
        (RuntimeError(), "RuntimeError"),
        (OSError("x" * 1_000), "x" * 300),
    ],
)
def test_the_first_line_of_a_foreign_error(error, told):
    assert first_line(error) == told


def test_errors_and_findings_are_one_line_whatever_a_name_holds():
    assert str(FormatError("a\nb", hint="c\rd")) == "a\\nb"
    finding = Rule("LN001", "missing-norm").failed("x\ny", "m\nn", "r\x1bs")
    assert (finding.subject, finding.message, finding.reason) == ("x\\ny", "m\\nn", "r\\x1bs")


@pytest.mark.parametrize(
    ("spec", "shown"),
    [
        ("https://user:pw@host:8/a/b?sig=1#x", "https://host:8/a/b"),
        ("http://host/a@b", "http://host/a@b"),
        ("gpt2", "gpt2"),
        ("hf://org/name@main", "hf://org/name@main"),
        ("folder/a?b#c", "folder/a?b#c"),
    ],
)
def test_secrets_of_a_url(spec, shown):
    assert without_secrets(spec) == shown


def test_a_hostile_name_is_cut():
    assert short("a" * 10, 10) == "a" * 10
    assert short("a\n" + "b" * 10**7, 10) == "a\\nbbbbbb…"
    assert len(short("x" * 10**7)) == 2_000


@pytest.mark.parametrize(
    ("word", "told"),
    [("SARIFF", "did you mean Sarif?"), ("tex", "did you mean text?"), ("", "see help"), ("x" * 10**6, "see help")],
)
def test_what_was_meant(word, told):
    assert did_you_mean(word, ("text", "Sarif", "json"), "see help") == told
