"""Known-good digests: equal passes, different fails, and what could not be compared is a required skip."""

import numpy as np
import pytest

from ln_audit.checks import digest_mismatch
from ln_audit.demand import Demand, Policy, Rules
from ln_audit.numerics.parameters import value_sha256
from tests.checks.subject_builder import WHOLE, floats, found, norm, subject

GAIN, BIAS = (str(value_sha256(WHOLE[name], 0.0)) for name in ("ln_f.weight", "ln_f.bias"))
NONE = "0" * 64
LN_F = (norm(),)


def under(values=None, files=None, tensors=WHOLE, norms=LN_F, **changes):
    rules = Rules(value_digests=values or {}, file_digests=files or {})
    policy = Policy("p.toml", "0" * 64, rules=rules)
    return subject(tensors, *norms, demand=Demand(policy=policy), **changes)


def test_without_a_policy_or_digests_there_is_no_finding():
    assert found(digest_mismatch, subject(WHOLE, norm())) == []
    assert found(digest_mismatch, under()) == []


@pytest.mark.parametrize("name", ["ln_f.weight", "ln_f.gain"])
def test_a_gain_is_called_by_its_tensor_or_its_norm(name):
    assert found(digest_mismatch, under({name: GAIN, "ln_f.bias": BIAS})) == [
        ("pass", name, "values as the policy says"),
        ("pass", "ln_f.bias", "values as the policy says"),
    ]
    assert found(digest_mismatch, under({name: NONE})) == [
        (
            "fail",
            name,
            f"model.safetensors: ln_f.weight: expected value_sha256 000000000000 as p.toml says, found {GAIN[:12]}",
        )
    ]


def test_the_digest_is_of_effective_values_in_every_container():
    lacking = {"norm.weight": floats(0.5, 0.25, -0.5, 1.0), "norm.bias": WHOLE["ln_f.bias"]}
    nemotron = norm("norm", weight_offset=1.0)
    assert found(digest_mismatch, under({"norm.gain": GAIN}, tensors=lacking, norms=(nemotron,)))[0][0] == "pass"
    assert found(digest_mismatch, under({"norm.gain": GAIN}, tensors=lacking, norms=(norm("norm"),)))[0][0] == "fail"


def test_a_layout_that_does_not_say_what_is_added_is_read_both_ways(monkeypatch):
    from ln_audit.lock import holding

    monkeypatch.setattr(holding, "in_doubt", lambda _: True)
    of = under({"ln_f.gain": GAIN}, norms=(norm(weight_offset=1.0),))
    assert found(digest_mismatch, of)[0][0] == "pass"
    assert found(digest_mismatch, under({"ln_f.gain": NONE}, norms=(norm(weight_offset=1.0),)))[0][0] == "fail"


@pytest.mark.parametrize(
    ("of", "reason"),
    [
        (under({"ln_f": GAIN}), "no norm here has a parameter of that name"),
        (under({"wte.weight": GAIN}), "no norm here has a parameter of that name"),
        (under({"ln_f.gain": GAIN}, read=False), "ln_f.weight was not read"),
        (under({"ln_f.gain": GAIN}, tensors={"ln_f.bias": WHOLE["ln_f.bias"]}), "ln_f.weight is not there"),
        (
            under({"ln_f.gain": GAIN}, norms=(norm(), norm("model.ln_f", promised="ln_f"))),
            "2 parameters of norms are called that",
        ),
        (
            under({"ln_f.gain": GAIN}, tensors={"ln_f.weight": np.array([0.1, 1, 1, 1])}),
            "float32 does not hold the values of ln_f.weight",
        ),
        (under(files={"model.safetensors": NONE}), "no file of that name was read whole"),
    ],
)
def test_what_cannot_be_compared_is_a_required_skip(of, reason):
    (finding,) = digest_mismatch.check(of)
    assert (finding.status, finding.required, finding.reason) == ("skip", True, reason)


def test_quantized_values_have_no_digest():
    from dataclasses import replace

    of = under({"ln_f.gain": GAIN})
    inexact = {name: replace(stored, exact=False) for name, stored in of.values.items()}
    (finding,) = digest_mismatch.check(replace(of, values=inexact))
    assert (finding.required, finding.reason) == (True, "ln_f.weight is quantized, so no value is exact")


def test_files_are_held_to_the_sha256_of_their_content():
    of = under(
        files={"model.safetensors": "1" * 64, "config.json": NONE},
        hashes={"model.safetensors": "1" * 64, "config.json": "2" * 64},
    )
    assert found(digest_mismatch, of) == [
        ("pass", "model.safetensors", "SHA-256 as the policy says"),
        ("fail", "config.json", "config.json: expected SHA-256 000000000000 as p.toml says, found 222222222222"),
    ]


def test_a_family_is_not_needed():
    assert found(digest_mismatch, under({"ln_f.gain": GAIN}, family=None))[0][0] == "pass"


def test_a_digest_that_begins_alike_is_shown_whole():
    mistyped = GAIN[:-1] + ("0" if GAIN[-1] != "0" else "1")
    ((_, _, message),) = found(digest_mismatch, under({"ln_f.gain": mistyped}))
    assert message.endswith(f"expected value_sha256 {mistyped} as p.toml says, found {GAIN}")
