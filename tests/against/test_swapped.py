"""Another norm's values under this one's name."""

import numpy as np

from ln_audit.against.compared import compare
from tests.against.made import GAIN, norm, side

NORMS = (norm("layers.0.a", 0), norm("layers.0.b", 0), norm("layers.1.a", 1))
SOURCE = {"layers.0.a.weight": GAIN, "layers.0.b.weight": GAIN * 2, "layers.1.a.weight": GAIN * 3}


def test_two_norms_of_a_layer_and_two_layers_that_changed_places_are_named():
    a, b, c = "layers.0.a.weight", "layers.0.b.weight", "layers.1.a.weight"
    swapped = compare(side(SOURCE | {a: GAIN * 2, b: GAIN}, *NORMS), side(SOURCE, *NORMS), "same")
    assert [each.explanation.text for each in swapped.judged if each.explanation] == [
        "the values of layers.0.b, a norm of the same layer",
        "the values of layers.0.a, a norm of the same layer",
    ]
    layers = compare(side(SOURCE | {a: GAIN * 3, c: GAIN}, *NORMS), side(SOURCE, *NORMS), "same")
    assert [each.explanation.text for each in layers.judged if each.explanation] == [
        "the values of layers.1.a, a norm of another layer",
        "the values of layers.0.a, a norm of another layer",
    ]


def test_values_that_many_norms_share_say_nothing():
    ones = {name: np.ones(8, np.float32) for name in SOURCE} | {"layers.3.a.weight": GAIN}
    norms = (*NORMS, norm("layers.3.a", 3))
    found = compare(side(ones | {"layers.3.a.weight": np.ones(8, np.float32)}, *norms), side(ones, *norms), "same")
    (judged,) = [each for each in found.judged if not each.how]
    assert judged.explanation is not None
    assert judged.explanation.name == "initial values"
