"""An artifact against its source, parameter by parameter."""

from dataclasses import replace

import numpy as np

from ln_audit.against.compared import compare
from tests.against.made import BF16, GAIN, norm, side

BIAS = np.linspace(-1, 1, 8, dtype=np.float32)
SOURCE = side({"norm.weight": GAIN, "norm.bias": BIAS}, norm(bias=True))


def judged(tensors, *norms, expect="same", source=SOURCE, **changes):
    found = compare(side(tensors, *(norms or (norm(bias=True),)), **changes), source, expect)
    return [(each.part, each.how, each.told, each.unread) for each in found.judged]


def test_gain_and_bias_are_judged_by_themselves():
    assert judged({"norm.weight": GAIN, "norm.bias": BIAS.astype(BF16)}) == [
        ("gain", "bit for bit", "", ""),
        ("bias", "rounded to BF16, to nearest", "", ""),
    ]


def test_a_difference_is_told_in_numbers():
    other = GAIN * np.array([1, 1, 1, 1, 1, 1, 1.5, 2], np.float32)
    (gain, _) = judged({"norm.weight": other, "norm.bias": BIAS})
    assert (
        gain[2]
        == "2 of 8 elements differ, worst [7] is 7.22, expected 3.61 (8,388,608 units in the last place), ratio 1 to 2"
    )


def test_what_was_not_read_says_where():
    assert judged({"norm.weight": GAIN})[1] == ("bias", "", "", "model.safetensors: norm.bias is not there")
    (_, bias) = judged({"norm.weight": GAIN}, norm())
    assert bias[2] == "norm.bias has no counterpart: norm of model.safetensors has no bias"


def test_trained_further_is_equal_enough_when_that_is_expected_and_a_lost_one_is_not():
    moved = GAIN + np.linspace(0, 0.1, 8, dtype=np.float32) ** 2
    tensors = {"norm.weight": moved, "norm.bias": BIAS}
    assert judged(tensors, expect="derived")[0][1].startswith("trained further: 7 of 8 elements differ")
    assert judged(tensors)[0][1] == ""
    lost = {"norm.weight": GAIN + 1, "norm.bias": BIAS}
    assert judged(lost, expect="derived")[0][1] == ""


def test_a_file_that_does_not_say_its_convention_is_read_as_it_fits():
    lacks = norm(weight_offset=1.0)
    source = side({"norm.weight": GAIN - 1}, lacks)
    for stored, without in ((source.values, True), (side({"norm.weight": source_gain(source)}).values, False)):
        made = replace(side({"norm.weight": GAIN}, lacks), values=stored, offset_unknown=True)
        found = compare(made, source, "same")
        assert (found.stored_without, [bool(each.how) for each in found.judged]) == (without, [True])


def source_gain(source):
    stored = np.frombuffer(source.values["norm.weight"].data, np.float32)
    return stored + np.float32(1)


def test_ones_over_unchanged_matrices_were_reset():
    matrix = np.arange(32, dtype=np.float32).reshape(4, 8)
    source = side({"norm.weight": GAIN, "lm_head.weight": matrix}, norm())
    for head, status in ((matrix, "fail"), (matrix * 2, "skip")):
        made = side({"norm.weight": np.ones(8, np.float32), "lm_head.weight": head}, norm())
        (found,) = compare(made, source, "same").judged
        assert found.explanation is not None
        assert found.explanation.status == status
