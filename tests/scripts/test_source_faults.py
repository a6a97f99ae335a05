"""Every family on two conversions each, with every fault: nothing is missed, nothing else is blamed, and the page says so."""

import pytest

from scripts.source_faults.models import SPECS
from scripts.source_faults.page import PAGE
from scripts.source_faults.registry import FAULTS, HEALTHY
from scripts.source_faults.trial import BAD, WAYS, trials

pytest.importorskip("onnx", reason="needs the onnx package")


@pytest.mark.parametrize("family", SPECS)
def test_every_fault_is_named_and_every_healthy_conversion_passes(family):
    at = list(SPECS).index(family)
    done = list(trials(SPECS[family], WAYS[at :: len(SPECS)]))
    assert len(done) == 2 * (len(FAULTS) + 1)
    assert [(t.way.name, t.fault, t.word, t.told) for t in done if t.word in BAD] == []
    assert {t.word for t in done if t.fault == HEALTHY} == {"passes"}


def test_the_page_holds_every_family_and_fault_and_nothing_went_wrong():
    text = PAGE.read_text(encoding="utf-8")
    for fault in FAULTS:
        assert text.count(f"\n| {fault.name} |") >= 5
    assert all(spec.title in text for spec in SPECS.values())
    assert "## What went wrong\n\nNone.\n" in text
    assert "0 other cause, 0 false alarm, 0 missed." in text
