from pathlib import Path
from types import ModuleType

import pytest

from ln_audit import diagnosis
from ln_audit.diagnosis.hypothesis import FITTED
from ln_audit.diagnosis.registry import HYPOTHESES

FOLDER = Path(diagnosis.__file__).parent


def test_every_module_with_faults_is_registered_once():
    files = {path.stem for path in FOLDER.glob("*.py") if "\nFREEDOM = " in path.read_text(encoding="utf-8")}
    assert {each.__name__.rpartition(".")[2] for each in HYPOTHESES if isinstance(each, ModuleType)} == files
    assert len(HYPOTHESES) == len(files)


@pytest.mark.parametrize("hypothesis", HYPOTHESES, ids=lambda each: each.NAME)
def test_every_hypothesis_says_what_people_did_and_how_free_it_is(hypothesis):
    assert isinstance(hypothesis, ModuleType)
    assert hypothesis.__doc__
    assert 0 <= hypothesis.FREEDOM <= FITTED + 1


def test_names_are_unique_and_simpler_hypotheses_stand_first():
    names = [each.NAME for each in HYPOTHESES]
    assert len(set(names)) == len(names)
    freedoms = [each.FREEDOM for each in HYPOTHESES]
    assert freedoms == sorted(freedoms)
