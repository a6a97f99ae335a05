import numpy as np

from ln_audit.diagnosis.hypothesis import Fault, with_parameters
from ln_audit.diagnosis.nearest import Nearest, described
from tests.diagnosis.suspects import batch, diagnosed, layer_norm, reference, suspect
from tests.numerics.runs import F32, ArrayRows, rows_of

X = rows_of("plain", 16, 8)
NORM = layer_norm(gain=np.linspace(0.5, 2, 16).astype(F32), bias=np.linspace(-1, 1, 16).astype(F32))


def faulty(eps, of):
    return Fault(f"epsilon {eps}", "", with_parameters(of, layer_norm(gain=NORM.gain, bias=NORM.bias, eps=eps)))


def test_the_fault_that_goes_furthest_is_kept_and_of_equals_the_first():
    of = suspect(X, X, NORM)
    nearest = Nearest()
    for eps, share in ((1.0, 0.5), (2.0, 0.25), (3.0, 0.25), (4.0, 0.75)):
        nearest.offer(faulty(eps, of), share)
    assert nearest.fault is not None
    assert (nearest.fault.name, nearest.share) == ("epsilon 2.0", 0.25)


def test_it_is_told_how_far_it_goes_and_in_which_channels_it_breaks():
    after = reference(X, NORM, eps=0.5)
    after[1::2, [3, 7]] += F32(0.5)
    of = suspect(after, X, NORM)
    message = described(Nearest(faulty(0.5, of), 0.1), of, batch(of))
    assert message.startswith(
        "nothing explains it; nearest is epsilon 0.5, which leaves 8 of 128 elements in 2 of 16 channels (3, 7) "
        "(largest error ratio "
    )


def test_rows_are_named_by_their_index_where_they_are_rarer():
    after = reference(X, NORM, eps=0.5)
    after[5] += F32(0.5)
    of = suspect(after.reshape(2, 4, 16), X.reshape(2, 4, 16), NORM)
    message = described(Nearest(faulty(0.5, of), 0.1), of, batch(of))
    assert "leaves 16 of 128 elements in 1 of 8 rows looked at ([1, 1])" in message


def test_where_no_fault_goes_further_than_the_reference_it_is_told_where_that_breaks():
    after = reference(X, NORM)
    after[2, 4] += F32(0.5)
    of = suspect(after, X, NORM)
    assert described(Nearest(faulty(0.5, of), 1.0), of, batch(of)) == ("nothing explains it: off at [2, 4]")


def test_an_input_that_the_norm_never_saw_is_told_as_such():
    missing = rows_of("plain", 16, 9)[1:]
    found = diagnosed(suspect(reference(X + 2 * missing, NORM), X, NORM, states={0: ArrayRows(-X, X)}))
    assert found.explained_by == ()
    assert (
        "; before is not what this norm saw, nor is any of the 1 recorded hidden states: even gain and bias fitted to "
        in (found.message)
    )


def test_a_few_rows_do_not_say_that_the_input_is_another():
    found = diagnosed(suspect(reference(X[::-1][:3], NORM), X[:3], NORM))
    assert "before is not what this norm saw" not in found.message
    assert "nothing explains it" in found.message


def test_a_row_that_is_repeated_does_not_say_that_the_input_is_another():
    of = suspect(reference(X[1:2], NORM).repeat(9, axis=0), X[:1].repeat(9, axis=0), NORM)
    assert described(Nearest(), of, batch(of)) == "nothing explains it: off in every row and channel"


def test_rows_that_agree_are_rows_that_the_norm_saw_and_rows_of_zeros_are_padding():
    after = reference(X, NORM)
    after[5:] = 0
    of = suspect(after, X, NORM)
    told = described(Nearest(faulty(0.5, of), 1.0), of, batch(of))
    assert told == (
        "nothing explains it: off in 3 of 8 rows looked at ([5], [6], [7]); after is 0 throughout there: padding? "
        "leave those rows out"
    )
