import hashlib
from pathlib import Path

import numpy as np
import pytest

from ln_audit.checks import known_values
from ln_audit.families.known import Known, folded
from tests.checks.subject_builder import found, norm, subject

GAIN = np.linspace(0.5, 2, 768, dtype=np.float32)
BIAS = np.linspace(-1, 1, 768, dtype=np.float32)
TENSORS = {"ln_f.weight": GAIN, "ln_f.bias": BIAS}


def facts(array):
    return {"sha256": hashlib.sha256(array.tobytes()).hexdigest(), "fold": folded(array.tobytes()).hex()}


KNOWN = Known("org/model", "c" * 40, {name: facts(array) for name, array in TENSORS.items()}, Path("none"))


def judged(tensors, **changes):
    return found(known_values, subject(tensors, norm(width=768), known=KNOWN, **changes))


def changed(array, *channels):
    copy = array.copy()
    copy.view(np.uint32)[list(channels)] ^= 1 << 22
    return copy


def test_the_published_values_pass():
    assert judged(TENSORS) == [("pass", "org/model", "bit for bit the published values (2 of 2 tensors read)")]


@pytest.mark.parametrize("bit", [0, 7, 8, 22, 23, 30, 31])
def test_one_flipped_bit_fails_and_is_found(bit):
    copy = GAIN.copy()
    copy.view(np.uint32)[9] ^= np.uint32(1 << bit)
    assert judged(TENSORS | {"ln_f.weight": copy}) == [
        ("fail", "ln_f.weight",
         "model.safetensors: ln_f.weight: expected the published values (org/model cccccccc), found 1 of 768 elements different, first at [9]")
    ]  # fmt: skip


@pytest.mark.parametrize(("elements", "status"), [(7, "fail"), (8, "skip"), (768, "skip")])
def test_less_than_one_in_a_hundred_is_damage_and_more_is_other_weights(elements, status):
    assert judged(TENSORS | {"ln_f.weight": changed(GAIN, *range(elements))})[0][0] == status


def test_an_element_whose_bytes_changed_places_is_found():
    copy = GAIN.copy()
    copy[500:501] = copy[500:501].byteswap()
    assert judged(TENSORS | {"ln_f.weight": copy})[0][2].endswith("found 1 of 768 elements different, first at [500]")
    assert judged(TENSORS | {"ln_f.weight": GAIN.byteswap()})[0][0] == "skip"


def test_other_weights_are_a_note():
    assert judged({"ln_f.weight": changed(GAIN, *range(768)), "ln_f.bias": BIAS}) == [
        ("skip", "org/model", "not the published weights: 1 of 2 tensors differ")
    ]


def test_any_difference_in_that_very_commit_fails():
    other = {"ln_f.weight": changed(GAIN, *range(768)), "ln_f.bias": BIAS}
    assert judged(other, identity="org/model", revision="c" * 40)[0][0] == "fail"
    assert judged(other, identity="org/model", revision="d" * 40)[0][0] == "skip"


def test_damage_in_two_tensors_is_damage():
    assert [said[0] for said in judged({"ln_f.weight": changed(GAIN, 3), "ln_f.bias": changed(BIAS, 4)})] == [
        "fail",
        "fail",
    ]


def test_another_dtype_or_shape_is_other_weights():
    assert judged(TENSORS | {"ln_f.weight": GAIN.astype(np.float16)})[0][0] == "skip"
    assert judged(TENSORS | {"ln_f.weight": GAIN[:4]})[0][0] == "skip"
    assert judged(TENSORS | {"ln_f.weight": np.float32(1.0)})[0][0] == "skip"


def test_an_unread_norm_and_an_unknown_model():
    assert judged(TENSORS, read=False) == [("skip", "org/model", "no norm values were read")]
    assert found(known_values, subject(TENSORS, norm(width=768))) == []


def test_published_names_match_under_either_prefix():
    tensors = {f"transformer.{name}": array for name, array in TENSORS.items()}
    made = subject(tensors, norm("transformer.ln_f", width=768), known=KNOWN)
    assert found(known_values, made)[0][0] == "pass"
