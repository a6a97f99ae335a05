"""Published facts belong to the model that has exactly these norms."""

from ln_audit.demand import Demand
from ln_audit.families.known import known
from ln_audit.families.recognise import load
from tests.families.model import checkpoint, config, gpt2, promised


def norms(layers, width):
    return promised(load("gpt2"), config(n_embd=width, n_layer=layers), checkpoint(gpt2("", layers, width)), Demand())


def test_gpt2_smalls_facts_are_those_of_the_published_commit():
    facts = known(load("gpt2"), norms(12, 768))
    assert facts is not None
    assert (facts.repo, facts.revision) == ("openai-community/gpt2", "607a30d783dfa663caf39e06633721c8d4cfcd7e")
    assert len(facts.tensors) == 50
    assert all(len(bytes.fromhex(facts.tensors[name]["fold"])) == 768 for name in facts.tensors)
    assert facts.recording.exists()


def test_other_sizes_have_no_published_facts():
    assert known(load("gpt2"), norms(6, 768)) is None
    assert known(load("gpt2"), norms(12, 1024)) is None
    assert known(load("llama"), ()) is None
