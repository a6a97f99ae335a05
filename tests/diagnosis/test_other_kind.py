import pytest

from ln_audit.diagnosis import other_kind
from tests.diagnosis.suspects import BEFORE, explained, layer_norm, reference, suspect, told

RMS = layer_norm(kind="rms_norm", bias=None)


def test_layer_norm_for_rms_norm_is_named():
    (found,) = explained(other_kind, suspect(reference(BEFORE, layer_norm(bias=None)), parameters=RMS))
    assert (found.name, found.advice) == (
        "LayerNorm fits, RMSNorm does not",
        "use RMSNorm: it does not take the mean off",
    )


@pytest.mark.parametrize(
    ("bias", "name"),
    [
        (layer_norm().bias, "RMSNorm fits, LayerNorm does not"),
        (None, "RMSNorm without a bias fits, LayerNorm does not"),
    ],
)
def test_rms_norm_for_layer_norm_is_named_with_its_bias_or_without(bias, name):
    after = reference(BEFORE, layer_norm(kind="rms_norm", bias=bias))
    assert told(other_kind, suspect(after)) == [name]


def test_rows_without_a_mean_cannot_tell_the_two_apart():
    flat = BEFORE - BEFORE.mean(axis=1, keepdims=True)
    of = suspect(reference(flat, layer_norm(bias=None)), flat, RMS)
    assert told(other_kind, of) == ["LayerNorm fits, RMSNorm does not"]
    assert other_kind.applies(of)
