"""What an exported language model is given beside its token ids."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from ln_audit.errors import RecordingError
from ln_audit.formats.config import Config
from ln_audit.record import onnx_inputs


def asked(name, type_="tensor(int64)", shape=("batch", "n")):
    return SimpleNamespace(name=name, type=type_, shape=list(shape))


def subject(**config) -> Any:
    return SimpleNamespace(config=Config(config, "config.json") if config else None)


def test_every_input_that_exporters_ask_for():
    inputs = [
        asked("input_ids"),
        asked("attention_mask", "tensor(int32)"),
        asked("position_ids"),
        asked("token_type_ids"),
        asked("past_key_values.0.key", "tensor(float)", ("batch", 2, "past", 16)),
        asked("use_cache_branch", "tensor(bool)", (1,)),
    ]
    given = onnx_inputs.feed(inputs, np.array([5, 6]), "m.onnx")
    assert {name: each.tolist() for name, each in given.items() if each.size} == {
        "input_ids": [[5, 6]],
        "attention_mask": [[1, 1]],
        "position_ids": [[0, 1]],
        "token_type_ids": [[0, 0]],
        "use_cache_branch": [False],
    }
    assert given["past_key_values.0.key"].shape == (1, 2, 0, 16)
    assert given["attention_mask"].dtype == "int32"


def test_an_input_that_nobody_knows_is_said():
    with pytest.raises(
        RecordingError, match=r"m\.onnx: pixel_values: expected an input of a language model, found tensor\(float\)"
    ):
        onnx_inputs.feed([asked("pixel_values", "tensor(float)")], np.array([1]), "m.onnx")


def test_a_cache_larger_than_any_is_refused_before_memory_is_asked_for():
    cache = asked("past_key_values.0.key", "tensor(float)", ("batch", 2, 10**6, 10**9))
    with pytest.raises(
        RecordingError, match=r"m\.onnx: past_key_values\.0\.key: expected at most 268,435,456 elements"
    ):
        onnx_inputs.feed([cache], np.array([1]), "m.onnx")


@pytest.mark.parametrize(
    ("config", "length"),
    [
        ({}, 512),
        ({"n_positions": True}, 512),
        ({"n_positions": 10}, 8),
        ({"n_positions": 2}, 512),
        ({"text_config": {"max_position_embeddings": 4096}}, 512),
    ],
)
def test_a_pass_is_no_longer_than_the_model_has_positions(config, length):
    assert onnx_inputs.length(subject(**config)) == length
