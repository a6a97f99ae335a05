"""What a norm's module says of itself, in torch's words and in other people's."""

from typing import Any

import numpy as np
import pytest

from ln_audit.numerics.parameters import value_sha256
from ln_audit.record import stated

pytestmark = pytest.mark.peers
torch: Any = pytest.importorskip("torch")


class Own(torch.nn.Module):  # type: ignore[misc]
    def __init__(self, **attributes):
        super().__init__()
        for name, value in attributes.items():
            setattr(self, name, value)


def test_gain_and_bias_as_the_norm_uses_them():
    gain, bias = torch.nn.Parameter(torch.tensor([0.5, -1.0])), torch.nn.Parameter(torch.tensor([1.0, 2.0]))
    found = stated.stated(Own(gamma=gain, beta=bias), 2, 1.0)
    assert found.gain is not None
    assert found.bias is not None
    assert (found.gain.tolist(), found.bias.tolist()) == ([1.5, 0.0], [1.0, 2.0])
    assert found.gain_digest == value_sha256(np.array([0.5, -1.0], np.float32), 1.0)
    assert found.bias_digest == value_sha256(np.array([1.0, 2.0], np.float32), 0.0)
    assert found.param_dtype == "float32"


def test_without_parameters_there_is_nothing_to_say():
    found = stated.stated(torch.nn.LayerNorm(4, elementwise_affine=False), 4, 0.0)
    assert found == stated.Stated(None, None, None, None, None)


@pytest.mark.parametrize(
    "tensor",
    [
        torch.nn.Parameter(torch.ones(3)),  # a shard of it
        torch.nn.Parameter(torch.ones(4, device="meta")),  # offloaded
        torch.ones(4, dtype=torch.int8),  # quantized
        torch.ones(4).to(torch.float8_e4m3fn),
    ],
)
def test_a_gain_that_is_not_here_has_no_digest(tensor):
    assert stated.stated(Own(weight=tensor), 4, 0.0).gain_digest is None


@pytest.mark.parametrize(
    ("attributes", "epsilon"),
    [
        ({"eps": 1e-5}, 1e-5),
        ({"variance_epsilon": 1e-6}, 1e-6),
        ({"eps": None, "epsilon": torch.tensor(0.25)}, 0.25),
        ({"eps": torch.ones(2), "norm_eps": 1}, 1.0),
        ({"eps": len}, None),
        ({"eps": "1e-5"}, None),
        ({"eps": float("nan")}, None),
        ({}, None),
    ],
)
def test_epsilon(attributes, epsilon):
    assert stated.epsilon(Own(**attributes)) == epsilon


def test_the_kind_is_known_where_torch_computes_it():
    class Twice(torch.nn.LayerNorm):  # type: ignore[misc]
        def forward(self, x):
            return super().forward(x) * 2

    class T5LayerNorm(torch.nn.Module):  # type: ignore[misc]
        pass

    found = [stated.kind(each) for each in (torch.nn.LayerNorm(2), torch.nn.RMSNorm(2), Twice(2), T5LayerNorm())]
    assert found == ["layer_norm", "rms_norm", None, None]


def test_what_looks_like_a_norm():
    found = [stated.looks_like_a_norm(each) for each in (torch.nn.RMSNorm(2), torch.nn.Linear(2, 2))]
    assert found == [True, False]


def test_the_digest_of_a_stored_gain():
    gain = torch.nn.Parameter(torch.tensor([0.5, -1.0]))
    assert stated.gain_digest(Own(weight=gain), 2) == value_sha256(np.array([0.5, -1.0], np.float32), 0.0)
    assert stated.gain_digest(Own(weight=gain), 3) is None
    assert stated.gain_digest(Own(weight=gain), None) is None
    assert stated.gain_digest(torch.nn.Sequential(Own(weight=gain)), 2) is None


def test_torchs_rms_norm_without_an_epsilon_has_that_of_its_gains_dtype_where_that_is_sure():
    made = {
        dtype: stated.epsilon(torch.nn.RMSNorm(4, dtype=dtype))
        for dtype in (torch.float32, torch.float64, torch.float16)
    }
    assert made == {torch.float32: 2.0**-23, torch.float64: 2.0**-52, torch.float16: None}
    row = torch.full((1, 4), 1e-2)
    assert torch.equal(torch.nn.RMSNorm(4)(row), torch.nn.RMSNorm(4, eps=2.0**-23)(row))
    assert stated.epsilon(torch.nn.RMSNorm(4, elementwise_affine=False)) is None
    assert stated.epsilon(torch.nn.RMSNorm(4, eps=0.25)) == 0.25


def test_only_a_class_of_transformers_without_such_an_attribute_has_its_epsilon_in_its_code():
    from transformers.models.llama.modeling_llama import LlamaRMSNorm
    from transformers.models.olmo.modeling_olmo import OlmoLayerNorm

    emptied = LlamaRMSNorm(4)
    emptied.variance_epsilon = None
    modules = (OlmoLayerNorm(4), LlamaRMSNorm(4), emptied, torch.nn.Identity())
    assert [stated.epsilon_in_code(module) for module in modules] == [True, False, False, False]
