"""The page is made of what came of the trials."""

import pytest

from scripts.source_faults import page
from scripts.source_faults.trial import WAYS, Trial


def trial(word, fault="NaN", told="why"):
    return Trial("llama", WAYS[0], fault, word, told)


@pytest.mark.parametrize(
    ("words", "sign"),
    [
        (("named", "not here"), "✓"),
        (("named", "warned"), "w"),
        (("cannot tell", "warned"), "?"),
        (("not seen", "named"), "○"),
        (("other cause", "named"), "≈"),
        (("missed", "named"), "✗"),
        (("false alarm",), "✗"),
        (("not here",), "–"),
        ((), "–"),
    ],
)
def test_a_cell_shows_the_worst_of_its_trials(words, sign):
    assert page.cell([trial(word) for word in words]) == sign


def test_the_text_counts_and_lists_what_went_wrong_and_what_cannot_be_seen():
    text = page.text(
        [trial("named"), trial("missed", told="it passed"), trial("not seen", "gain + 1, all norms"), trial("not here")]
    )
    assert (
        "3 conversions: 0 passes, 1 named, 0 warned, 0 cannot tell, 1 not seen, 0 other cause, 0 false alarm, 1 missed."
        in text
    )
    assert f"- llama: {WAYS[0].name}: NaN: missed: it passed\n" in text
    assert "- gain + 1, all norms (1 not seen): why\n" in text


def test_writing_keeps_what_was_measured_of_others(tmp_path):
    file = tmp_path / "page.md"
    file.write_text(f"old\n{page.PEERS}\ntheirs\n", encoding="utf-8")
    page.write([trial("named")], file)
    text = file.read_text(encoding="utf-8")
    assert not text.startswith("old")
    assert text.endswith(f"\n{page.PEERS}\ntheirs\n")
