"""Whether the matrices that read a norm are the source's, as far as 64 kB go."""

from dataclasses import replace

import numpy as np

from ln_audit.against.consumers import unchanged
from ln_audit.against.pairing import Pair
from tests.against.made import BF16, GAIN, norm, side

NORM = norm("layers.0.ln", 0)
MATRIX = np.arange(32, dtype=np.float32).reshape(4, 8)


def test_the_same_matrices_are_unchanged_and_others_are_not():
    tensors = {"layers.0.ln.weight": GAIN, "layers.0.up.weight": MATRIX, "layers.1.up.weight": MATRIX}
    source = side(tensors, NORM)
    pair = Pair(NORM, NORM)
    assert unchanged(pair, side(tensors, NORM), source) is True
    assert unchanged(pair, side(tensors | {"layers.1.up.weight": MATRIX * 2}, NORM), source) is True
    assert unchanged(pair, side(tensors | {"layers.0.up.weight": MATRIX * 2}, NORM), source) is False


def test_what_cannot_be_compared_is_not_known():
    tensors = {"layers.0.ln.weight": GAIN, "layers.0.up.weight": MATRIX}
    pair, source = Pair(NORM, NORM), side(tensors, NORM)
    assert unchanged(pair, side({"layers.0.ln.weight": GAIN}, NORM), source) is None
    assert unchanged(pair, side(tensors | {"layers.0.up.weight": MATRIX[:2]}, NORM), source) is None
    whole = side(tensors, NORM)
    closed = replace(whole, checkpoint=replace(whole.checkpoint, read_beginning=None))
    assert unchanged(pair, closed, source) is None


def test_matrices_that_were_rounded_to_a_narrower_dtype_are_unchanged():
    fine = MATRIX * np.float32(1.0001)
    tensors = {"layers.0.ln.weight": GAIN, "layers.0.up.weight": fine}
    pair, source = Pair(NORM, NORM), side(tensors, NORM)
    narrow = tensors | {"layers.0.up.weight": fine.astype(BF16)}
    assert unchanged(pair, side(narrow, NORM), source) is True
    assert unchanged(pair, side(narrow | {"layers.0.up.weight": (fine * 2).astype(BF16)}, NORM), source) is False


def test_a_norm_outside_the_layers_is_read_by_matrices_outside_them():
    final = norm()
    tensors = {"norm.weight": GAIN, "lm_head.weight": MATRIX, "layers.0.up.weight": MATRIX}
    pair = Pair(final, final)
    assert unchanged(pair, side(tensors | {"layers.0.up.weight": MATRIX * 2}, final), side(tensors, final)) is True
    assert unchanged(pair, side(tensors | {"lm_head.weight": MATRIX * 2}, final), side(tensors, final)) is False
