import numpy as np
import pytest

from ln_audit.comparison import Explanation
from ln_audit.diagnosis import other_parameters
from tests.diagnosis.suspects import batch, explained, layer_norm, reference, suspect, told
from tests.numerics.runs import BF16, F32, rows_of

X = rows_of("plain", 768, 4)
NORM = layer_norm(gain=np.linspace(0.5, 2, 768).astype(F32), bias=np.linspace(-1, 1, 768).astype(F32))


def changed(values, channels, to):
    assert values is not None
    values = values.copy()
    values[list(channels)] = to
    return values


def test_the_channels_that_differ_are_named_with_stored_and_recovered_value():
    after = reference(X, layer_norm(gain=changed(NORM.gain, (138, 378, 447), 3), bias=NORM.bias))
    (found,) = explained(other_parameters, suspect(after, X, NORM))
    advice = "these channels held other numbers when the run was recorded: compare them with their source"
    assert found == Explanation("3 of 768 gains differ: 138, 378, 447", found.error_ratio, found.parameters, advice)
    assert NORM.gain is not None
    expected: dict[str, float] = {}
    for channel in (138, 378, 447):
        expected |= {f"gain[{channel}] stored": float(NORM.gain[channel]), f"gain[{channel}] recovered": 3}
    assert found.parameters == pytest.approx(expected, rel=1e-5)


def test_gains_and_biases_are_told_apart():
    norm = layer_norm(gain=changed(NORM.gain, (1,), 3), bias=changed(NORM.bias, (2, 5), 3))
    assert told(other_parameters, suspect(reference(X, norm), X, NORM)) == [
        "1 of 768 gains differ: 1 and 2 of 768 biases differ: 2, 5"
    ]


def test_many_are_counted_and_a_few_named():
    norm = layer_norm(gain=changed(NORM.gain, range(10, 30), 3), bias=NORM.bias)
    (found,) = explained(other_parameters, suspect(reference(X, norm), X, NORM))
    assert found.name == "20 of 768 gains differ: 10, 11, 12, 13, 14, 15, …"
    assert len(found.parameters) == 12


def test_where_all_differ_the_run_held_other_weights():
    assert NORM.gain is not None
    (found,) = explained(
        other_parameters, suspect(reference(X, layer_norm(gain=NORM.gain + F32(1), bias=NORM.bias)), X, NORM)
    )
    assert (found.name, found.advice) == (
        "all 768 gains differ",
        "the run held other weights than this checkpoint: record with this one, or audit that one",
    )


def test_an_output_without_its_input_is_not_called_other_weights():
    (found,) = explained(other_parameters, suspect(np.zeros_like(X), X, NORM))
    assert found.name == "the output is the same at every position"


def test_the_chain_that_needs_the_fewest_changes_is_taken():
    norm = layer_norm(kind="rms_norm", gain=NORM.gain, bias=None)
    z = X / np.sqrt(np.mean(X.astype(np.float64) ** 2, axis=1, keepdims=True) + 1e-5)
    after = (z.astype(BF16).astype(F32) * changed(NORM.gain, (7,), 3)).astype(BF16)
    assert told(other_parameters, suspect(after, X, norm, out="bfloat16")) == ["1 of 768 gains differ: 7"]


def test_it_applies_from_two_positions_on_and_needs_an_output():
    assert not other_parameters.applies(suspect(X[:1], X[:1], NORM))
    of = suspect(X, X, NORM)
    assert other_parameters.applies(of)
    assert list(other_parameters.faults(of, batch(of, after=False))) == []


def test_a_repeated_row_names_no_parameters():
    noise = np.random.default_rng(0).normal(size=(1, 768)).astype(F32)
    other_gain = reference(X[:1], layer_norm(gain=changed(NORM.gain, (3,), 4), bias=NORM.bias))
    for after in (noise, other_gain):
        once, often = (suspect(after.repeat(n, axis=0), X[:1].repeat(n, axis=0), NORM) for n in (1, 32))
        assert told(other_parameters, once) == told(other_parameters, often) == []
