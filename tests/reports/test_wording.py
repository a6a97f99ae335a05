"""Numbers and foreign text as people read them."""

import pytest

from ln_audit.reports.wording import count, printable, size


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0, "0 B"),
        (999, "999 B"),
        (1000, "1.0 kB"),
        (548_105_171, "548.1 MB"),
        (141 * 10**9, "141.0 GB"),
        (2 * 10**15, "2000.0 TB"),
    ],
)
def test_sizes(number, text):
    assert size(number) == text


def test_counts():
    assert [count(n, "request") for n in (0, 1, 2, 1000)] == ["0 requests", "1 request", "2 requests", "1,000 requests"]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("ln_f.weight é", "ln_f.weight é"),
        ("\x1b[31m", "\\x1b[31m"),
        ("a\nb", "a\\nb"),
        ("\ud800", "\\ud800"),
        ("\u202e", "\\u202e"),
    ],
)
def test_control_characters_are_shown_not_obeyed(text, shown):
    assert printable(text) == shown
