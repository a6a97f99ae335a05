from dataclasses import replace

import pytest

from ln_audit.checks import wrong_convention
from ln_audit.core import Declared
from ln_audit.demand import Demand
from ln_audit.formats.config import Config
from ln_audit.result import Finding, leads
from tests.checks.subject_builder import WHOLE, found, norm, subject


@pytest.mark.parametrize(
    ("demand", "model_type", "said"),
    [
        (Demand(), "gpt2", []),
        (Demand(family="gpt2"), "gpt2", [("pass", "config.json: model_type", "gpt2 is of family gpt2")]),
        (
            Demand(family="gpt2"),
            "llama",
            [("fail", "config.json: model_type", "config.json: model_type: expected gpt2 (--family), found 'llama'")],
        ),
        (Demand(kind="layer_norm"), "gpt2", [("pass", "gpt2", "kind layer_norm")]),
        (
            Demand(kind="rms_norm"),
            "gpt2",
            [("fail", "gpt2", "gpt2: kind: expected rms_norm (--kind), found layer_norm")],
        ),
        (Demand(offset=0.0), "gpt2", [("pass", "gpt2", "offset 0")]),
        (Demand(offset=1.0), "gpt2", [("fail", "gpt2", "gpt2: gain offset: expected 1 (--offset), found 0")]),
    ],
)
def test_the_callers_claims_are_held_against_the_artifacts(demand, model_type, said):
    made = subject(WHOLE, norm(), demand=demand, config=Config({"model_type": model_type}, "config.json"))
    assert found(wrong_convention, made) == said


def test_without_a_config_only_kind_and_offset_can_be_contradicted():
    assert found(wrong_convention, subject(WHOLE, norm(), demand=Demand(family="gpt2"))) == []
    assert found(wrong_convention, subject(WHOLE, norm(), family=None, demand=Demand(kind="rms_norm"))) == []


def test_a_config_beside_a_container_that_says_otherwise_is_a_warning():
    facts = {"general.architecture": "gpt2", "gpt2.embedding_length": 4, "gpt2.block_count": 0}
    made = subject(WHOLE, norm(), config=Config({"model_type": "llama", "n_embd": 8}, "config.json"))
    declared = tuple(Declared(key, value, "m.gguf") for key, value in facts.items())
    made = replace(made, checkpoint=replace(made.checkpoint, format="gguf", files=("m.gguf",), declared=declared))
    assert found(wrong_convention, made) == [
        (
            "warn",
            "config.json: model_type",
            "config.json: model_type: expected gpt2 (general.architecture \"gpt2\" in m.gguf), found 'llama'",
        ),
        ("warn", "config.json: n_embd", "config.json: n_embd: expected 4 (m.gguf), found 8"),
    ]


def test_a_config_of_another_known_family_is_said_first_with_the_way_out():
    def told(model_type: str) -> Finding:
        config = Config({"model_type": model_type}, "config.json")
        (finding,) = wrong_convention.check(subject(WHOLE, norm(), demand=Demand(family="gpt2"), config=config))
        return finding

    other, unknown = told("llama"), told("acme")
    assert other.reason == "its own config says that it is of family llama: leave --family out, or give --family llama"
    assert unknown.reason == "a family of your own is a table: --family FILE.toml, see docs/families.md"
    assert (leads(other), leads(unknown)) == (True, False)
