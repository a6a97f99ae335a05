"""Parameters are counted from tensors: buffers out, tied tensors once."""

import pytest

from ln_audit.core import Checkpoint
from ln_audit.families import parameters
from ln_audit.families.reading import readings
from ln_audit.families.recognise import load
from tests.families.model import checkpoint, config, gpt2


def count(of: Checkpoint, family, given) -> int:
    return parameters.count(of, readings(family, given, of))


PLAIN = 16 * 8 + 4 * 8 + 2 * 4 * 8 + 2 * 8  # wte, wpe, two blocks' norms, ln_f


@pytest.mark.parametrize("prefix", ["", "transformer."])
def test_masks_are_no_parameters(prefix):
    assert count(checkpoint(gpt2(prefix)), load("gpt2"), None) == PLAIN


@pytest.mark.parametrize(("tied", "extra"), [(None, 0), (True, 0), (False, 128)])
def test_a_tied_head_counts_once(tied, extra):
    shapes = gpt2("transformer.") | {"lm_head.weight": (16, 8)}
    given = config() if tied is None else config(tie_word_embeddings=tied)
    assert count(checkpoint(shapes), load("gpt2"), given) == PLAIN + extra


def test_a_head_of_another_shape_is_not_tied():
    shapes = gpt2("transformer.") | {"lm_head.weight": (17, 8)}
    assert count(checkpoint(shapes), load("gpt2"), None) == PLAIN + 17 * 8


def test_a_tensor_that_a_table_ties_to_itself_counts_once():
    from dataclasses import replace

    family = replace(load("gpt2"), tied=(("h.{layer}.ln_1.bias", "h.1.ln_1.bias"),))
    assert count(checkpoint(gpt2("transformer.")), family, None) == PLAIN - 8  # those of two layers, which it ties


def test_a_projections_bias_is_no_mask():
    assert count(checkpoint({"h.0.attn.c_attn.bias": (24,), "h.0.attn.bias": (1, 1, 4, 4)}), load("gpt2"), None) == 24


def test_names_that_share_their_storage_count_once():
    from dataclasses import replace

    from ln_audit.core import Declared

    shapes = gpt2("transformer.") | {"transformer.extra.weight": (16, 8)}
    made = replace(
        checkpoint(shapes), declared=(Declared("tied", (("transformer.wte.weight", "transformer.extra.weight"),), "x"),)
    )
    assert count(made, load("gpt2"), None) == PLAIN
