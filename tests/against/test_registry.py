"""Every explanation is registered, and the first that fits is the one that is told."""

from pathlib import Path

import numpy as np

from ln_audit import against
from ln_audit.against.registry import EXPLANATIONS, explained
from tests.against.made import GAIN, difference

KIN = {"__init__", "side", "pairing", "equality", "difference", "explanation", "registry", "consumers", "compared"}


def test_every_module_that_explains_is_in_the_table():
    files = {path.stem for path in Path(str(against.__file__)).parent.glob("*.py")} - KIN
    assert {each.__name__.rpartition(".")[2] for each in EXPLANATIONS} == files  # type: ignore[attr-defined]
    assert len({each.NAME for each in EXPLANATIONS}) == len(EXPLANATIONS)


def test_one_cause_is_told_and_none_where_none_fits():
    found = explained(difference(GAIN * 2, GAIN))
    assert found is not None
    assert found.name == "factor"
    assert explained(difference(GAIN * np.linspace(1, 2, 8, dtype=np.float32), GAIN)) is None
