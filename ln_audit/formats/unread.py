"""Formats that are known by their names and not read by this version: said so, instead of `no weights found`."""

from __future__ import annotations

import re

BY_SUFFIX = {
    ".msgpack": "a Flax checkpoint",
    ".ot": "a rust-bert checkpoint",
    ".pdparams": "a Paddle checkpoint",
}
# What training leaves beside a model under the same suffixes.
_NO_WEIGHTS = re.compile(r"(training_args|optimizer|scheduler|scaler|rng_state.*|random_states.*|trainer_state)\.\w+")


def holds_weights(file: str) -> bool:
    """Whether a file of a checkpoint's suffix is one by its name, and nothing that training leaves beside it."""
    return _NO_WEIGHTS.fullmatch(file.rpartition("/")[2]) is None


def unread_format(file: str) -> str | None:
    """What a file is by its name, if that is a checkpoint of a format that is not read."""
    name = file.rpartition("/")[2]
    if not holds_weights(name):
        return None
    return next((what for suffix, what in BY_SUFFIX.items() if name.endswith(suffix)), None)
