"""The page is made of its results, and what it holds agrees with itself: rows, signs, sums, and nothing that went wrong."""

import re

import pytest

from scripts.family_faults import page
from scripts.family_faults.expected import OUTCOMES, Trial
from scripts.family_faults.registry import FAULTS
from scripts.family_faults.results import MODEL, Record
from tests.shared import ROOT

PAGE = ROOT / "docs" / "family-faults.md"


def record(*words: str, fault: str = "NaN", notes: tuple[str, ...] = (), family: str | None = "llama") -> Record:
    return Record(
        "llama", fault, "key", family, tuple(Trial("norm", "float32", word, f"why {word}") for word in words), notes
    )


@pytest.mark.parametrize(
    ("words", "sign"),
    [
        (("named", "named"), "✓"),
        (("named", "warned"), "w"),
        (("named", "cannot tell", "warned"), "?"),
        (("not seen",), "○"),
        (("named", "unexplained"), "u"),
        (("named", "other cause", "unexplained"), "≈"),
        (("missed", "named"), "✗"),
        (("false alarm", "passes"), "✗"),
        (("not here", "named"), "✓"),
        (("not here",), "–"),
    ],
)
def test_a_cell_shows_the_worst_of_its_trials(words, sign):
    assert page.cell(record(*words)) == sign


def test_a_fault_that_was_not_measured_is_no_success():
    assert page.cell(None) == "–"


def test_a_row_counts_its_audits_and_shows_every_fault():
    done = {("llama", MODEL): record(fault=MODEL), ("llama", "NaN"): record("named", "named", "not here")}
    cells = ["✓" if fault.name == "NaN" else "–" for fault in FAULTS]
    assert page.row("llama", done) == f"| llama | llama | 2 | {' | '.join(cells)} |"


def test_all_that_went_wrong_is_listed_with_its_message(monkeypatch):
    monkeypatch.setattr("importlib.metadata.version", lambda _: "5.24.0+cpu")
    done = {
        ("llama", MODEL): record(fault=MODEL, notes=("bfloat16: not run",)),
        ("llama", "NaN"): record("named", "missed", "other cause"),
        ("huge", MODEL): Record("huge", MODEL, "key", None, (), ("not built: too large",)),
    }
    text = page.text(done)
    assert "## False alarms and misses\n\n- llama: NaN: norm (float32): missed: why missed\n\n" in text
    assert "## Other causes\n\n- llama: NaN: norm (float32): other cause: why other cause\n\n" in text
    assert "- llama: bfloat16: not run\n" in text
    assert "- huge: not built: too large\n" in text
    assert (
        "1 model types of 1 families, 3 audits: 0 passes, 1 named, 0 warned, 0 cannot tell, 0 not seen, 0 unexplained, 1 other cause,"
        " 0 false alarm, 1 missed." in text
    )


def rows(title: str) -> list[list[str]]:
    """The body of the table below a heading of the page that is published."""
    section = PAGE.read_text(encoding="utf-8").split(f"## {title}\n", 1)[1].split("\n## ", 1)[0]
    lines = [line for line in section.splitlines() if line.startswith("| ")][1:]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def numbers() -> dict[str, int]:
    text = PAGE.read_text(encoding="utf-8")
    (told,) = re.findall(r"^[\d,]+ model types of .*$", text, re.MULTILINE)
    return {word.strip(): int(count.replace(",", "")) for count, word in re.findall(r"([\d,]+) ([a-z ]+)", told)}


def test_the_page_has_a_row_for_each_fault_whose_counts_are_those_of_its_column():
    models = rows("Model types")
    for at, (fault, row) in enumerate(zip(FAULTS, rows("Faults"), strict=True)):
        column = [each[3 + at] for each in models]
        assert row == [fault.name, fault.short, *(str(column.count(sign)) for sign in page.ORDER)]


def test_the_page_has_a_row_for_each_model_type_and_their_audits_add_up():
    models, told = rows("Model types"), numbers()
    assert len(models) == told["model types of"]
    assert len({row[1] for row in models}) == told["families"]
    assert sum(int(row[2].replace(",", "")) for row in models) == told["audits"]
    assert sum(told[word] for word in OUTCOMES) == told["audits"]


def test_the_page_lists_as_much_that_went_wrong_as_it_counts():
    text, told = PAGE.read_text(encoding="utf-8"), numbers()
    listed = re.findall(r"^- \S+: .*?: (other cause|false alarm|missed): ", text, re.MULTILINE)
    assert {word: listed.count(word) for word in ("other cause", "false alarm", "missed")} == {
        word: told[word] for word in ("other cause", "false alarm", "missed")
    }
