"""docs/diagnosis.md is the table of the very faults that the tests plant, and says that none was missed."""

import re

from tests.diagnosis.test_fault_matrix import FAULTS
from tests.shared import ROOT

TEXT = (ROOT / "docs" / "diagnosis.md").read_text(encoding="utf-8")


def test_every_planted_fault_has_its_row():
    assert re.findall(r"^\| ([^|]+?) \|", TEXT, re.MULTILINE)[1:] == list(FAULTS)


def test_the_counts_add_up_and_none_was_missed():
    total = re.search(
        r"In all ([\d,]+) recordings: ([\d,]+) named, (\d+) simpler, (\d+) undecided, (\d+) not seen, 0 missed\.", TEXT
    )
    assert total is not None
    numbers = [int(part.replace(",", "")) for part in total.groups()]
    assert numbers[0] == sum(numbers[1:])
    table = [line for line in TEXT.splitlines() if line.startswith("| ")]
    assert (
        sum(int(n) for line in table for n in re.findall(r"(\d+) (?:named|simpler|undecided|not seen)", line))
        == numbers[0]
    )


def test_what_was_not_measured_is_said():
    assert "GPU kernels are not measured" in TEXT
