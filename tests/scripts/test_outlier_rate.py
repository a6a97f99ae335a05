import re
from collections import Counter

import pytest

from ln_audit.checks.subject import Subject
from ln_audit.demand import Demand
from ln_audit.examination import promised
from ln_audit.numerics import lone
from scripts import outlier_rate

TEXT = outlier_rate.PAGE.read_text(encoding="utf-8")


def table(heading: str) -> list[list[str]]:
    """The cells of the first table below a heading, without its head."""
    lines = TEXT.split(f"\n## {heading}\n")[1].split("\n## ")[0].splitlines()
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("|")]
    return rows[2:]


@pytest.fixture(scope="module")
def sample() -> Subject:
    return promised(*outlier_rate.checkpoints()["sample"])


def test_the_page_holds_the_sample_s_line_as_it_is_measured_today(sample):
    assert outlier_rate.row("sample", sample) in TEXT.splitlines()


def test_the_page_begins_as_the_script_would_write_it():
    assert TEXT.startswith(outlier_rate.HEAD)
    assert outlier_rate.BITS_HEAD.format(plants=outlier_rate.PLANTS) in TEXT


def test_no_real_checkpoint_and_no_tiny_model_has_a_false_alarm_and_every_gap_is_below_the_threshold():
    real = table("Real checkpoints")
    assert [line[0] for line in real] == list(dict.fromkeys(line[0] for line in real))
    assert len(real) == outlier_rate.ALL
    assert {tuple(line[4:8]) for line in real} == {("0", "0", "0", "0")}
    assert max(float(line[8]) for line in real if line[8] != "–") < lone.GAP
    for layers, _, alarms, gap in table("Pieces of them"):
        assert (alarms, float(gap) < (lone.GAP if int(layers) >= lone.NEIGHBOURS else lone.GAP_ALONE)) == ("0", True)
    told = TEXT.split("\n## Tiny models of every type\n")[1]
    assert re.findall(r"\d+ by (LN\d+)", told) == ["LN102", "LN103", "LN104", "LN105", "LN106"]
    assert set(re.findall(r"(\d+) by LN", told)) == {"0"}


def test_the_thresholds_that_the_page_names_are_those_of_the_rule():
    assert f"beyond {lone.GAP:g} octaves" in TEXT
    assert f"in at least {lone.NEIGHBOURS} layers, and beyond {lone.GAP_ALONE:g}" in TEXT


def test_flipped_bits_of_the_sample_are_found_as_the_page_says(sample):
    counts = outlier_rate.outcomes(sample)
    assert sum(counts.values()) == outlier_rate.PLANTS * 8 * 6  # three kinds of norms, gains and biases
    assert not any(word == "other" for _, _, word in counts)
    found = {bit: counts["gains alone", bit, "named"] for bit in range(7)}
    assert [found[bit] for bit in range(4)] == [0, 0, 0, 0]
    assert min(found[bit] for bit in (4, 5, 6)) > 0.9 * 3 * outlier_rate.PLANTS
    assert len(table("Which flipped bits are found")) == 8


def test_a_line_of_the_detection_table_is_counted_from_the_outcomes():
    counts: Counter[tuple[str, int, str]] = Counter(
        {("gains", 7, "named"): 6, ("gains", 7, "place"): 1, ("gains", 7, "not finite"): 1, ("gains", 7, "not seen"): 2}
    )
    assert list(outlier_rate.detection(counts))[-1] == "| 7 | 2^128 | 70 %, 10 % are no number: LN101 | – | – |"


def test_without_all_checkpoints_no_page_is_written(monkeypatch, capsys, sample):
    monkeypatch.setattr(outlier_rate, "checkpoints", lambda: {"sample": ("sample", Demand())})
    monkeypatch.setattr(outlier_rate, "PLANTS", 1)
    before = outlier_rate.PAGE.read_bytes()
    assert outlier_rate.main(["--write"]) == 1
    assert capsys.readouterr().err == "value-rules.md: expected all 7 checkpoints, found sample\n"
    assert outlier_rate.PAGE.read_bytes() == before
