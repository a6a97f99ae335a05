"""Every fault of the registry, planted in models that NumPy runs: seen by its own name, and nothing where there is none."""

import inspect
from dataclasses import replace

import numpy as np
import pytest

from scripts.family_faults import faults
from scripts.family_faults.case import Case, NotHereError, _as_promised
from scripts.family_faults.expected import BAD
from scripts.family_faults.recorded import RecordedNorm
from scripts.family_faults.registry import FAULTS
from scripts.family_faults.trial import trials
from tests.scripts.family_fault_models import made_case

ELSEWHERE = ("healthy, every norm", "gain + 1", "bias added")  # what RMSNorm shows and LayerNorm does not


@pytest.fixture(scope="module")
def healthy(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Case]:
    return {family: made_case(family, tmp_path_factory.mktemp(family)) for family in ("gpt2", "llama")}


@pytest.mark.parametrize(
    ("family", "fault"),
    [("gpt2", fault) for fault in FAULTS if fault.alone is None]
    + [("llama", fault) for fault in FAULTS if fault.name in ELSEWHERE],
    ids=lambda each: each if isinstance(each, str) else each.name,
)
def test_a_planted_fault_is_seen_by_its_own_name(healthy, family, fault):
    made = list(trials(healthy[family], fault))
    assert [trial for trial in made if trial.word in BAD] == []
    assert len(made) >= 1


def why_not(case: Case) -> set[tuple[str, str]]:
    found = set()
    for fault in FAULTS:
        try:
            fault.plant(case, case.final or case.every()[0])
        except NotHereError as reason:
            found.add((fault.name, str(reason)))
    return found


def test_a_model_that_cannot_have_a_fault_says_why(healthy):
    final = {
        ("norms of a layer swapped", "one norm of this width in a layer"),
        ("layers swapped", "one layer with this norm"),
    }
    assert why_not(healthy["gpt2"]) == final | {("bias added", "it has a bias")}
    assert why_not(healthy["llama"]) == final | {("bias zeroed", "no bias")}


def test_a_norm_that_is_not_known_is_missed_when_it_is_missing(tmp_path):
    """The other way round: the proof itself sees a table that lacks a norm."""
    made = made_case("llama", tmp_path)
    odd = RecordedNorm("model.layers.1.extra_norm", "x", "model.layers.1.extra_norm.weight", None)
    tensors = {**made.model.tensors, "model.layers.1.extra_norm.weight": np.ones(16, "f4")}
    spoilt = replace(made, model=replace(made.model, tensors=tensors, norms=(*made.model.norms, odd)))
    (missing,) = [fault for fault in FAULTS if fault.name == "one other norm missing"]
    assert [trial.word for trial in trials(spoilt, missing)].count("missed") == 1


def test_a_norm_whose_run_shows_nothing_adds_what_its_table_says(tmp_path):
    made = made_case("llama", tmp_path)
    promised = tuple(replace(norm, weight_offset=1.0) for norm in made.promised)
    unrun = replace(made.model.norms[-1], kind=None)
    assert [_as_promised(norm, promised).offset for norm in (unrun, made.model.norms[-1])] == [1.0, 0.0]


def test_every_fault_has_a_name_and_a_column_of_its_own():
    assert len({fault.name for fault in FAULTS}) == len({fault.short for fault in FAULTS}) == len(FAULTS)
    assert all(fault.expected and bool(fault.strikes) is (fault.alone is None) for fault in FAULTS)


def test_every_function_that_plants_something_is_in_the_registry():
    planting = {
        name
        for name, function in inspect.getmembers(faults, inspect.isfunction)
        if function.__module__ == faults.__name__ and not name.startswith("_")
    } - {"gain", "epsilon", "swapped", "other_kind"}
    assert planting == {fault.plant.__name__ for fault in FAULTS if fault.plant.__module__ == faults.__name__}


def test_what_cannot_be_seen_says_why():
    for fault in FAULTS:
        for expected in fault.expected.values():
            assert bool(expected.reason) is (expected.way == "cannot be seen without the source")
