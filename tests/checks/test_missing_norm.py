from ln_audit.checks import missing_norm
from tests.checks.subject_builder import WHOLE, found, norm, subject


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
        "unknown family (no config.json and names that no family has); candidates: core.closing_scale [4];"
        " say which norm it is with --norm NAME --kind KIND --eps X, or --family FILE.toml"
    )
