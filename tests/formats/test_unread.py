from __future__ import annotations

import pytest

from ln_audit.formats.unread import holds_weights, unread_format


@pytest.mark.parametrize(
    ("file", "what"),
    [
        ("flax_model.msgpack", "a Flax checkpoint"),
        ("out/model.pdparams", "a Paddle checkpoint"),
        ("pytorch_model.bin", None),
        ("tf_model.h5", None),
        ("model.safetensors", None),
        ("training_args.bin", None),
        ("sub/optimizer.pt", None),
        ("rng_state_3.pth", None),
        ("README.md", None),
    ],
)
def test_weights_of_other_formats_are_known_by_name(file, what):
    assert unread_format(file) == what


@pytest.mark.parametrize(
    ("file", "weights"),
    [
        ("pytorch_model.bin", True),
        ("training_args.bin", False),
        ("sub/optimizer.pt", False),
        ("rng_state_3.pth", False),
    ],
)
def test_what_training_leaves_beside_a_model_holds_no_weights(file, weights):
    assert holds_weights(file) == weights
