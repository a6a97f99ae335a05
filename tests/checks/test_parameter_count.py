from ln_audit.checks import parameter_count
from tests.checks.subject_builder import WHOLE, floats, found, norm, subject

BLOCK = {"h.0.ln_1.weight": floats(1, 2, 3, 4), "h.0.ln_1.bias": floats(1, 2, 3, 4)}


def test_the_final_norm_and_all_norms_are_counted_from_tensors():
    block = norm("h.0.ln_1", role="block", layer=0)
    assert found(parameter_count, subject(WHOLE | BLOCK, block, norm())) == [
        ("pass", "ln_f", "8 parameters (gain 4 + bias 4), counted from checkpoint tensors"),
        ("pass", "all 2 norms", "16 parameters, counted from checkpoint tensors"),
    ]


def test_another_number_fails():
    assert found(parameter_count, subject(WHOLE | {"ln_f.bias": floats(1, 2)}, norm())) == [
        ("fail", "ln_f", "model.safetensors: ln_f: expected 8 parameters, found 6")
    ]


def test_an_optional_bias_that_is_missing_is_not_expected():
    assert found(parameter_count, subject({"ln_f.weight": WHOLE["ln_f.weight"]}, norm(bias_optional=True))) == [
        ("pass", "ln_f", "4 parameters (gain 4), counted from checkpoint tensors")
    ]


def test_an_unknown_width_is_undecided():
    assert found(parameter_count, subject(WHOLE, norm(width=None, width_source="no config"))) == [
        ("skip", "ln_f", "the model's width is unknown: no config")
    ]


def test_a_norm_that_nobody_knows_to_be_there_is_not_counted_as_lost():
    doubted = norm(doubt="no tensor of its decoder (decoder.) is there: is this a part of the model?")
    assert found(parameter_count, subject({}, doubted)) == [
        ("skip", "ln_f", "whether the model has ln_f at all is not known")
    ]
