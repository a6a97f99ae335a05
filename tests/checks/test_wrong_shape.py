import numpy as np
import pytest

from ln_audit.checks import wrong_shape
from tests.checks.subject_builder import WHOLE, floats, found, norm, subject


def test_the_configured_width_passes():
    assert found(wrong_shape, subject(WHOLE, norm())) == [("pass", "ln_f", "shape [4] (config.json: n_embd)")]


@pytest.mark.parametrize(
    ("shape", "cause"),
    [
        ((0,), "a ZeRO-3 or FSDP placeholder: gather before saving (zero_to_fp32, full state dict)"),
        ((2,), "one of 2 shards saved as if it were whole? gather or merge before saving"),
        ((1,), "one of 4 shards saved as if it were whole? gather or merge before saving"),
        ((3,), "another model's norm, or a config of another width"),
        ((8,), "another model's norm, or a config of another width"),
        ((1, 4), "stacked layers or an extra axis; a norm's parameters are one-dimensional"),
        ((), "another model's norm, or a config of another width"),
    ],
)
def test_another_shape_fails_and_says_what_leaves_such_a_shape(shape, cause):
    tensors = WHOLE | {"ln_f.weight": np.ones(shape, np.float32)}
    (finding,) = wrong_shape.check(subject(tensors, norm()))
    assert (
        finding.message
        == f"model.safetensors: ln_f.weight: expected shape [4] (config.json: n_embd), found {list(shape)}"
    )
    assert (finding.status, finding.reason) == ("fail", cause)


def test_an_unknown_width_is_undecided_and_the_verdict_depends_on_it():
    (finding,) = wrong_shape.check(subject(WHOLE, norm(width=None, width_source="no config")))
    assert (finding.status, finding.required, finding.reason) == (
        "skip",
        True,
        "the model's width is unknown: no config",
    )


def test_a_missing_norm_has_no_shape():
    assert found(wrong_shape, subject({"other": floats(1)}, norm())) == []
