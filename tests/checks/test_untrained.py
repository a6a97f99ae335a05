from ln_audit.checks import untrained
from tests.checks.subject_builder import WHOLE, floats, found, norm, subject

ONES, ZEROS = floats(1, 1, 1, 1), floats(0, 0, 0, 0)


def test_trained_values_pass():
    assert found(untrained, subject(WHOLE, norm())) == [("pass", "ln_f", "away from its initial values")]


def test_ones_with_a_trained_bias_pass_and_say_so():
    assert found(untrained, subject(WHOLE | {"ln_f.weight": ONES}, norm())) == [
        ("pass", "ln_f", "gain all 1, bias trained")
    ]


def test_initial_values_are_a_warning():
    initial = {"ln_f.weight": ONES, "ln_f.bias": ZEROS}
    named = "model.safetensors: ln_f: expected trained values, found"
    assert found(untrained, subject(initial, norm())) == [("warn", "ln_f", f"{named} gain all 1 and bias all 0")]
    assert found(untrained, subject(initial, norm(bias=None))) == [("warn", "ln_f", f"{named} gain all 1")]
    assert found(untrained, subject({"ln_f.weight": ZEROS}, norm(bias=None, weight_offset=1.0)))[0][0] == "warn"


def test_what_was_not_read_is_a_skip():
    assert found(untrained, subject(WHOLE, norm(), read=False)) == [
        ("skip", "1 norms", "values not read; --values all reads them")
    ]
    assert found(untrained, subject({"ln_f.weight": floats()}, norm())) == []
