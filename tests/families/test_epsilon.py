"""Which epsilon is in force, and where it was written."""

from dataclasses import replace

import pytest

from ln_audit.core import Checkpoint, Declared, Place
from ln_audit.demand import Demand
from ln_audit.families.epsilon import any_epsilon, find_epsilon, mended
from ln_audit.families.recognise import load
from ln_audit.families.schema import Epsilon
from tests.checks.subject_builder import norm
from tests.families.model import checkpoint, config


@pytest.mark.parametrize(
    ("given", "value", "origin", "source"),
    [
        (config(layer_norm_epsilon=1e-6), 1e-6, "written", "config.json: layer_norm_epsilon"),
        (config(), 1e-5, "default", "the loader's default, config.json has no layer_norm_epsilon"),
        (None, 1e-5, "assumed", "assumed: the family's usual value, no config"),
        (
            config(layer_norm_epsilon="1e-5"),
            None,
            "wrong",
            "config.json: layer_norm_epsilon: expected a number, found '1e-5'",
        ),
        (
            config(layer_norm_epsilon=True),
            None,
            "wrong",
            "config.json: layer_norm_epsilon: expected a number, found True",
        ),
    ],
)
def test_epsilon_says_where_it_comes_from(given, value, origin, source):
    found = find_epsilon(load("gpt2").epsilon, "gpt2", given, checkpoint({}), Demand())
    assert (found.value, found.origin, found.source) == (value, origin, source)


def test_an_epsilon_without_a_key_is_in_the_models_code():
    found = find_epsilon(Epsilon((), 1e-6), "gpt2", config(rms_norm_eps=1e-5), checkpoint({}), Demand())
    assert (found.value, found.origin, found.source, found.places) == (1e-6, "code", "fixed in the model's code", ())


def test_every_key_of_any_family_is_looked_up_where_none_is_known():
    given = config(rms_norm_eps=1e-6, layer_norm_eps="x")
    assert any_epsilon(given) == [Place("config.json: rms_norm_eps", 1e-6)]
    assert any_epsilon(None) == []


def test_a_null_is_wrong_unless_it_means_the_machine_epsilon():
    null = config(eps=None)
    found = find_epsilon(Epsilon(("eps",), 1e-6), "gpt2", null, checkpoint({}), Demand())
    assert (found.value, found.origin) == (None, "wrong")
    found = find_epsilon(Epsilon(("eps",), 1e-6, null="machine"), "gpt2", null, checkpoint({}), Demand())
    assert (found.value, found.origin, found.source) == (
        None,
        "machine",
        "config.json: eps is null: the machine epsilon of whatever dtype the input has",
    )


def test_a_container_whose_loaders_take_no_default_must_state_one_that_is_fixed_in_the_code():
    made, olmo = checkpoint({}), load("olmo").epsilon
    facts = [Declared("general.architecture", "olmo", "m"), Declared("olmo.attention.layer_norm_epsilon", 1e-5, "m")]
    for declared, value, origin in ((facts, 1e-5, "written"), (facts[:1], None, "wrong")):
        gguf = Checkpoint("gguf", ("m.gguf",), made.tensors, made.read, tuple(declared))
        found = find_epsilon(olmo, "olmo", None, gguf, Demand())
        assert (found.value, found.origin) == (value, origin)
    assert found.source == "m.gguf: olmo.attention.layer_norm_epsilon: expected a number, found no such key"


@pytest.mark.parametrize(
    ("origin", "source", "said"),
    [
        ("written", "config.json: rms_norm_eps", "set rms_norm_eps to 1e-06 in config.json, or convert again"),
        ("written", "m.gguf: llama.eps", "set llama.eps to 1e-06 in m.gguf, or convert again"),
        ("default", "the loader's default, config.json has no x", "write 1e-06 into the config under that key"),
        ("given", "given by the caller", "the caller says so"),
        ("code", "fixed in the model's code", "no file holds it, so none can be changed"),
    ],
)
def test_what_to_change_and_where(origin, source, said):
    assert mended(replace(norm(), eps_source=source, eps_origin=origin), 1e-6) == said
