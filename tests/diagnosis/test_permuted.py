import numpy as np
import pytest

from ln_audit.diagnosis import permuted
from tests.diagnosis.suspects import BEFORE, batch, explained, layer_norm, reference, suspect, told
from tests.numerics.runs import F32, rows_of

WIDE = rows_of("plain", 24, 4)
NORM = layer_norm(gain=np.linspace(0.5, 2, 24).astype(F32), bias=np.linspace(-1, 1, 24).astype(F32))
OUT = reference(WIDE, NORM)
HEADS = np.arange(24).reshape(6, 4).T.reshape(-1)


@pytest.mark.parametrize(
    ("after", "name"),
    [
        (OUT[:, ::-1], "output channels reversed"),
        (np.roll(OUT, 1, axis=1), "output channels rolled by one"),
        (np.roll(OUT, -1, axis=1), "output channels rolled by minus one"),
        (OUT[:, HEADS], "output channels regrouped, 4 heads outermost"),
        (OUT.reshape(4, 4, 6).swapaxes(1, 2).reshape(4, 24), "output channels regrouped, 4 heads innermost"),
        (reference(WIDE, layer_norm(gain=NORM.gain[::-1], bias=NORM.bias[::-1])), "gain and bias reversed"),
        (reference(np.roll(WIDE, 1, axis=1), NORM), "input channels rolled by one"),
    ],
)
def test_the_order_and_what_stands_in_it_are_named(after, name):
    (found,) = explained(permuted, suspect(after, WIDE, NORM))
    assert found.name == name
    assert found.advice.startswith("put the channels back into the stored order: they are ")


def test_a_norm_without_parameters_has_only_an_output_to_permute():
    of = suspect(BEFORE, parameters=layer_norm(gain=None, bias=None))
    assert {fault.name.split()[0] for fault in permuted.faults(of, batch(of))} == {"output"}
    assert permuted.applies(of)
    assert not permuted.applies(suspect(BEFORE[:, :1], BEFORE[:, :1], layer_norm(gain=None, bias=None)))


def test_a_correct_output_is_in_its_own_order_only():
    assert told(permuted, suspect(OUT, WIDE, NORM)) == []
