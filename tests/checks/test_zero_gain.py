from ln_audit.checks import zero_gain
from tests.checks.subject_builder import WHOLE, floats, found, norm, subject


def test_gains_other_than_zero_pass():
    assert found(zero_gain, subject(WHOLE, norm())) == [("pass", "ln_f", "no gain is zero")]


def test_single_zeros_are_a_warning_and_all_zeros_a_failure():
    some, every = WHOLE | {"ln_f.weight": floats(0, 1, 0, 2)}, WHOLE | {"ln_f.weight": floats(0, 0, -0.0, 0)}
    named = "model.safetensors: ln_f.weight: expected gains other than 0, found"
    assert found(zero_gain, subject(some, norm())) == [("warn", "ln_f", f"{named} 2 of 4 at [0, 2]")]
    assert found(zero_gain, subject(every, norm())) == [("fail", "ln_f", f"{named} all 4 zero")]


def test_the_offset_belongs_to_the_gain():
    stored_minus_one = WHOLE | {"ln_f.weight": floats(-1, -1, -1, -1)}
    assert found(zero_gain, subject(stored_minus_one, norm(weight_offset=1.0)))[0][0] == "fail"
    stored_zero = WHOLE | {"ln_f.weight": floats(0, 0, 0, 0)}
    assert found(zero_gain, subject(stored_zero, norm(weight_offset=1.0)))[0][0] == "pass"


def test_values_that_were_not_read_are_a_skip_and_a_placeholder_is_no_zero():
    assert found(zero_gain, subject(WHOLE, norm(), read=False)) == [
        ("skip", "1 norms", "values not read; --values all reads them")
    ]
    assert found(zero_gain, subject({"ln_f.weight": floats()}, norm())) == []


def test_negative_gains_are_a_note_and_no_warning():
    some = WHOLE | {"ln_f.weight": floats(-1, 1, 0.5, -2)}
    (finding,) = zero_gain.check(subject(some, norm()))
    assert (finding.status, finding.message) == ("pass", "no gain is zero; 2 of 4 are negative")
    assert finding.evidence == {"confidence": "certain", "negative": 2}
    less_one = WHOLE | {"ln_f.weight": floats(-1.5, -0.5, 0, 1)}
    assert found(zero_gain, subject(less_one, norm(weight_offset=1.0))) == [
        ("pass", "ln_f", "no gain is zero; 1 of 4 are negative")
    ]


def test_how_sure_it_is_stands_in_the_evidence():
    single, every = floats(0, 1, 2, 3), floats(0, 0, 0, 0)
    said = [next(iter(zero_gain.check(subject({"ln_f.weight": gain}, norm(bias=None))))) for gain in (single, every)]
    assert [finding.evidence for finding in said] == [{"confidence": "possible", "zeros": 1}, {"confidence": "certain"}]
