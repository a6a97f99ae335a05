"""Sizes come from the config, else the loader's default, else the tensors; and say from where."""

import pytest

from ln_audit.errors import FamilyError
from ln_audit.families.containers import view
from ln_audit.families.names import Names
from ln_audit.families.recognise import load
from ln_audit.families.sizes import Resolved, resolve
from ln_audit.families.spelling import spelling
from tests.families.model import checkpoint, config, gpt2


def sizes(shapes, given):
    family = load("gpt2")
    spelt = spelling(family.recognised_by, family.prefixes, view(checkpoint(shapes), None))
    return resolve(family, given, checkpoint(shapes), spelt, Names(list(shapes)))


def test_the_config_comes_first_under_either_of_its_spellings():
    assert sizes({}, config(n_embd=8, num_hidden_layers=2)) == {
        "n_embd": Resolved(8, "config.json: n_embd"),
        "n_layer": Resolved(2, "config.json: num_hidden_layers"),
    }


def test_what_the_config_leaves_out_is_the_loaders_default():
    assert sizes({}, config())["n_embd"] == Resolved(768, "the loader's default, config.json has no n_embd")


def test_without_a_config_the_tensors_tell():
    assert sizes(gpt2("transformer.", layers=3, width=6), None) == {
        "n_embd": Resolved(6, "the shape of transformer.wte.weight, no config"),
        "n_layer": Resolved(3, "counted in the tensors, no config"),
    }


def test_without_either_the_size_is_unknown():
    assert sizes({}, None) == {
        "n_embd": Resolved(None, "no config, and no wte.weight to read it from"),
        "n_layer": Resolved(None, "counted in the tensors, no config"),
    }


@pytest.mark.parametrize("value", [0, -1, 2.0, "8", True, 10**9])
def test_a_size_that_is_none_is_refused(value):
    with pytest.raises(FamilyError, match="config.json: n_embd: expected a whole number from 1 to 1,000,000, found "):
        sizes({}, config(n_embd=value))
