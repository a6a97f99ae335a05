from __future__ import annotations

import pytest

from ln_audit.formats.unread import unread_format


@pytest.mark.parametrize(
    ("file", "what"),
    [
        ("pytorch_model.bin", "a PyTorch checkpoint"),
        ("out/ckpt.pt", "a PyTorch checkpoint"),
        ("model.Q4_K_M.gguf", "a GGUF file"),
        ("model.onnx", "an ONNX model"),
        ("tf_model.h5", "a Keras or TensorFlow model in HDF5"),
        ("model.safetensors", None),
        ("training_args.bin", None),
        ("sub/optimizer.pt", None),
        ("rng_state_3.pth", None),
        ("README.md", None),
    ],
)
def test_weights_of_other_formats_are_known_by_name(file, what):
    assert unread_format(file) == what
