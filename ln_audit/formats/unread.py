"""Formats that are known by their names and not read by this version: said so, instead of `no weights found`."""

from __future__ import annotations

import re

_BY_SUFFIX = {
    ".bin": "a PyTorch checkpoint",
    ".pt": "a PyTorch checkpoint",
    ".pth": "a PyTorch checkpoint",
    ".ckpt": "a PyTorch or TensorFlow checkpoint",
    ".gguf": "a GGUF file",
    ".onnx": "an ONNX model",
    ".npz": "a NumPy archive",
    ".keras": "a Keras model",
    ".h5": "a Keras or TensorFlow model in HDF5",
    ".msgpack": "a Flax checkpoint",
    ".ot": "a rust-bert checkpoint",
    ".pdparams": "a Paddle checkpoint",
}
# What training leaves beside a model under the same suffixes.
_NO_WEIGHTS = re.compile(r"(training_args|optimizer|scheduler|scaler|rng_state.*|random_states.*|trainer_state)\.\w+")


def unread_format(file: str) -> str | None:
    """What a file is by its name, if that is a checkpoint of a format that is not read."""
    name = file.rpartition("/")[2]
    if _NO_WEIGHTS.fullmatch(name):
        return None
    return next((what for suffix, what in _BY_SUFFIX.items() if name.endswith(suffix)), None)
