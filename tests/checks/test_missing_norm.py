from dataclasses import replace

from ln_audit.against.compared import Compared
from ln_audit.against.pairing import Pair, Pairing
from ln_audit.checks import missing_norm
from ln_audit.checks.subject import Twin
from tests.checks.subject_builder import WHOLE, floats, found, norm, subject


def test_a_norm_that_is_there_passes():
    assert found(missing_norm, subject(WHOLE, norm())) == [("pass", "ln_f", "gain and bias found")]
    assert found(missing_norm, subject(WHOLE, norm(bias=None))) == [("pass", "ln_f", "gain found")]


def test_every_missing_tensor_is_named_with_what_it_should_be():
    assert found(missing_norm, subject({}, norm())) == [
        ("fail", "ln_f", "model.safetensors: ln_f.weight: expected a gain of shape [4], found no such tensor"),
        ("fail", "ln_f", "model.safetensors: ln_f.bias: expected a bias of shape [4], found no such tensor"),
    ]


def test_an_optional_bias_that_is_missing_is_a_warning():
    only_gain = {"ln_f.weight": WHOLE["ln_f.weight"]}
    assert found(missing_norm, subject(only_gain, norm(bias_optional=True))) == [
        ("warn", "ln_f", "model.safetensors: ln_f.bias: expected a bias of shape [4], found no such tensor")
    ]


def test_a_misspelt_norm_is_left_to_wrong_name():
    assert found(missing_norm, subject(WHOLE, norm(misnamed=(("ln_f.weight", "x"),)))) == []


def test_a_known_family_whose_norms_could_not_be_worked_out_is_undecided():
    (finding,) = missing_norm.check(subject({}))
    assert (finding.status, finding.required, finding.reason) == (
        "skip",
        True,
        "which norms it must have could not be worked out",
    )


def test_an_unknown_family_is_undecided_and_names_candidates():
    (finding,) = missing_norm.check(subject({}, family=None, candidates=("core.closing_scale [4]",)))
    assert (finding.status, finding.required) == ("skip", True)
    assert finding.reason == (
        "unknown family (no config.json that says which, and no names that tell one); candidates: core.closing_scale [4];"
        " say which norm it is with --norm NAME --kind KIND --eps X, or describe it in ln-audit.toml or --family FILE.toml"
    )


def test_a_norm_without_parameters_cannot_be_missing_but_a_model_of_only_those_shows_nothing():
    bare = norm("h.0.ln_1", gain=None, bias=None, role="block")
    assert found(missing_norm, subject(WHOLE, bare, norm()))[0] == (
        "pass",
        "h.0.ln_1",
        "has no parameters, so none can be missing",
    )
    (alone,) = missing_norm.check(subject({}, bare))
    assert (alone.status, alone.required) == ("skip", True)
    assert alone.reason == "no norm of this model has parameters: only a recording shows what they compute"


def test_a_norm_that_only_a_config_could_promise_is_in_doubt():
    doubted = norm(doubt="whether it has one depends on closes")
    (finding,) = missing_norm.check(subject({}, doubted))
    assert (finding.status, finding.required) == ("skip", True)
    assert finding.reason == "ln_f.weight is not there; whether it has one depends on closes: give --config"


def test_vectors_of_the_right_width_that_no_norm_claims_are_named():
    tensors = {"layers.2.weight": floats(1, 2, 3, 4), "other": floats(1, 2)}
    (gain, bias) = missing_norm.check(subject(tensors, norm()))
    assert gain.reason == bias.reason
    assert gain.reason.endswith("from the source; candidates of that width: layers.2.weight")


def test_a_norm_that_has_no_parameters_in_the_source_either_cannot_be_missing():
    bare = norm("h.0.ln_1", gain=None, bias=None, role="block")
    twin = Twin("base", "/base", Compared(Pairing((Pair(bare, bare),)), ()))
    assert found(missing_norm, replace(subject({}, bare), twin=twin)) == [
        ("pass", "h.0.ln_1", "has no parameters, in its source neither, so none can be missing")
    ]
