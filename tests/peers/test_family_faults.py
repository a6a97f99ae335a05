"""A few model types of every kind, with every fault planted: none is missed, and the page holds the very rows found here.

`make test-families` does the same for all model types that transformers builds.
"""

import pytest

from scripts.family_faults import page, runner
from scripts.family_faults.expected import BAD
from scripts.family_faults.registry import FAULTS
from scripts.family_faults.results import MODEL
from tests.shared import ROOT

pytest.importorskip("torch")
pytest.importorskip("transformers")
pytestmark = [pytest.mark.peers, pytest.mark.filterwarnings("ignore")]

SUBSET = ["gpt2", "llama", "nemotron"]
KEYS = dict.fromkeys((MODEL, *(fault.name for fault in FAULTS)), "of this run")


@pytest.mark.parametrize("model_type", SUBSET)
def test_every_fault_is_seen_and_the_page_says_the_same(model_type):
    done = {(record.model_type, record.fault): record for record in runner.measured(model_type, FAULTS, KEYS)}
    assert [(each.fault, trial) for each in done.values() for trial in each.trials if trial.word in BAD] == []
    assert done[model_type, MODEL].family is not None
    assert page.row(model_type, done) in (ROOT / "docs" / "family-faults.md").read_text(encoding="utf-8").splitlines()
