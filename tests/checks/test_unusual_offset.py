import numpy as np
import pytest

from ln_audit.checks import unusual_offset
from ln_audit.checks.subject import Subject
from ln_audit.families.recognise import load
from tests.checks.subject_builder import found, norm, subject
from tests.shared import needs

LABEL = "model.safetensors: gains: expected"


def model(centres: list[float], family: str = "gpt2", offset: float = 0.0, spread: float = 0.3) -> Subject:
    """One block norm per centre, stored values around it; the family's own pattern, so that its convention applies."""
    pattern = {"gpt2": "h.{layer}.ln_1", "gemma2": "layers.{layer}.input_layernorm"}[family]
    draw = np.random.default_rng(0)
    tensors, norms = {}, []
    for layer, centre in enumerate(centres):
        name = pattern.replace("{layer}", str(layer))
        tensors[f"{name}.weight"] = (centre + spread * draw.uniform(-1, 1, 40)).astype(np.float32)
        norms.append(norm(name, promised=name, role="block", layer=layer, bias=None, width=40, weight_offset=offset))
    return subject(tensors, *norms, family=load(family))


@pytest.mark.parametrize(
    ("family", "offset", "centre", "told"),
    [("gpt2", 0.0, 1.0, "gains"), ("gemma2", 1.0, 0.0, "gain − 1"), ("gemma2", 0.0, 1.0, "gains")],
)
def test_the_family_s_own_convention_passes(family, offset, centre, told):
    assert found(unusual_offset, model([centre] * 5, family, offset)) == [
        ("pass", "5 norms", f"stored values are as usual for {told}")
    ]


def test_values_around_zero_where_gains_are_expected_are_a_warning_with_both_readings():
    (finding,) = unusual_offset.check(model([0.0] * 5))
    assert finding.status == "warn"
    assert finding.message == f"{LABEL} gains (gpt2), found gains below 0 in a quarter of the channels of 5 of 5 norms"
    assert finding.reason == (
        "either 1 is missing from each (it holds gain − 1), or the model's gains really are so: give a recording or --against"
    )
    assert finding.evidence == {"confidence": "possible", "norms": 5, "quarter_negative": 5}


@pytest.mark.parametrize(("offset", "centre", "told"), [(1.0, 1.0, "gain − 1"), (0.0, 2.0, "gains")])
def test_a_one_too_many_is_a_warning_in_a_family_that_has_the_convention(offset, centre, told):
    (finding,) = unusual_offset.check(model([centre] * 5, "gemma2", offset))
    assert finding.message == f"{LABEL} {told} (gemma2), found next to none of the 5 norms' gains below 1"
    assert finding.reason.startswith(
        "either 1 was added once too often (or never taken away), or the model's gains really"
    )
    assert finding.evidence == {"confidence": "possible", "norms": 5, "below_one": 0.0}


def test_large_gains_are_nothing_unusual_in_a_family_without_the_convention():
    assert [f.status for f in unusual_offset.check(model([2.0] * 5))] == ["pass"]


def test_a_model_whose_gains_hardly_moved_from_one_is_not_accused():
    assert [f.status for f in unusual_offset.check(model([0.03] * 5, "gemma2", 1.0, spread=0.02))] == ["pass"]


def test_one_norm_around_zero_among_many_is_what_trained_models_have():
    assert [f.status for f in unusual_offset.check(model([0.0] + [1.0] * 20))] == ["pass"]


def test_too_few_norms_are_not_judged_and_neither_is_a_norm_that_no_family_promises():
    assert found(unusual_offset, model([0.0] * 3)) == []
    gains = {f"{n}.weight": np.full(4, -1.0, np.float32) for n in "abcd"}
    assert found(unusual_offset, subject(gains, *(norm(n, bias=None) for n in "abcd"), family=None)) == []


def test_what_was_not_read_is_a_skip():
    whole = model([1.0] * 5)
    unread = subject({name: np.ones(40, np.float32) for name in whole.arrays}, *whole.norms, read=False)
    assert found(unusual_offset, unread) == [("skip", "5 norms", "values not read; --values all reads them")]


def test_the_real_norms_of_gpt2_small_are_gains_and_less_one_they_are_not():
    from dataclasses import replace

    from ln_audit.demand import Demand
    from ln_audit.examination import promised

    healthy = promised(str(needs("real", "gpt2-small", "norms.safetensors")), Demand(family="gpt2"))
    assert [f.status for f in unusual_offset.check(healthy)] == ["pass"]
    shifted = {name: array - 1 if name.endswith("weight") else array for name, array in healthy.arrays.items()}
    assert [f.status for f in unusual_offset.check(replace(healthy, arrays=shifted))] == ["warn"]
