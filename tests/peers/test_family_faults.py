"""A few model types of every kind, with every fault planted: none is missed, and the page holds the very rows found here.

`make test-families` does the same for all model types that transformers builds.
"""

import tomllib

import pytest

from scripts.family_faults import page, runner, tiny_models
from scripts.family_faults.expected import BAD
from scripts.family_faults.inputs import attempts
from scripts.family_faults.model import recorded
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


def test_what_makes_a_tiny_config_runnable_is_said_of_model_types_that_exist():
    stated = tomllib.loads(tiny_models.RUNNABLE.read_text(encoding="utf-8"))
    assert set(stated) - set(tiny_models.model_types()) == set()


def test_the_tokens_that_a_model_is_run_on_mean_nothing_to_it():
    import torch

    config = tiny_models.config("llama")
    config.bos_token_id, config.eos_token_id, config.pad_token_id = 1, [2, 3], 4
    (given, *_) = attempts(tiny_models.build("llama", config), torch)
    assert set(given) == {"input_ids", "use_cache"}
    assert given["input_ids"].shape == (6, 12)
    assert not set(given["input_ids"].flatten().tolist()) & {1, 2, 3, 4}


def test_a_pass_that_ends_with_an_error_keeps_what_it_recorded_and_says_so(monkeypatch, tmp_path):
    from transformers import LlamaForCausalLM

    def broken(self, *_, **given):
        self.model(given["input_ids"])
        raise RuntimeError("behind the norms")

    monkeypatch.setattr(LlamaForCausalLM, "forward", broken)
    monkeypatch.setattr("scripts.family_faults.model.attempts", lambda *_: [{"input_ids": torch_tokens()}])
    made = recorded("llama", tmp_path)
    assert [note.partition(":")[0] for note in made.notes] == ["float32", "bfloat16"]
    assert all(note.endswith("RuntimeError: behind the norms") for note in made.notes)
    assert all(norm.judged for norm in made.norms)
    assert [norm.kind for norm in made.norms] == ["rms_norm"] * 5


def torch_tokens():
    import torch

    return torch.arange(10, 22)[None]


def test_a_model_that_is_too_large_to_save_is_left_out(monkeypatch):
    monkeypatch.setattr(tiny_models, "_MOST", 10)
    with pytest.raises(tiny_models.NotBuiltError, match="parameters in the smallest"):
        tiny_models.build("llama", tiny_models.config("llama"))
