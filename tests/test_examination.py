"""A target becomes a subject step by step; what was reached stays when a later step fails."""

import pytest

from ln_audit.demand import Demand, Policy, Rules
from ln_audit.errors import AuditError
from ln_audit.examination import opened, promised, read, with_values
from ln_audit.formats import find_artifacts
from tests.shared import ROOT

GOOD = str(ROOT / "fixtures" / "good" / "gpt2-safetensors")


def test_the_steps_are_header_family_norms_values():
    source = opened(GOOD, Demand())
    steps = list(read(source, find_artifacts(source)[0], Demand()))
    assert [(s.family is not None, bool(s.norms), bool(s.values)) for s in steps] == [
        (False, False, False),
        (True, False, False),
        (True, True, False),
        (True, True, True),
    ]


def test_what_is_held_to_something_is_read_whole_and_values_once():
    source = opened(GOOD, Demand())
    *_, final = read(source, find_artifacts(source)[0], Demand(values="final"))
    assert len(final.values) == 2
    *_, all_ = read(source, find_artifacts(source)[0], Demand(against="other"))
    assert len(all_.values) == 2 * len(all_.norms)
    assert with_values(all_, all_.norms) is all_


def test_promised_is_the_first_artifact_with_its_values():
    assert len(promised(GOOD, Demand()).norms) == 5
    with pytest.raises(AuditError):
        promised(str(ROOT / "fixtures" / "hostile"), Demand())


def under(**rules: object) -> Demand:
    return Demand(values="final", policy=Policy("p.toml", "0" * 64, rules=Rules(**rules)))  # type: ignore[arg-type]


def test_what_a_policy_has_digests_of_is_read_and_hashed():
    source = opened(GOOD, Demand())
    demand = under(value_digests={"h.0.ln_1.gain": "0"}, file_digests={"config.json": "0", "none": "0"})
    *_, found = read(source, find_artifacts(source)[0], demand)
    assert [norm.name for norm in found.norms if norm.gain in found.values] == [
        "transformer.h.0.ln_1",
        "transformer.ln_f",
    ]
    assert list(found.hashes) == ["config.json"]
    assert (found.kind, found.asked) == ("local", None)


def test_what_is_no_verdict_is_not_held_to_a_policys_rules():
    assert promised(GOOD, under(file_digests={"config.json": "0"})).hashes == {}
