"""The tables of docs/numerics.md, sections 3 and 4, with the implementations that people run: torch, transformers, onnxruntime on a CPU."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from ln_audit.numerics.compare import compare
from ln_audit.numerics.parameters import NormParameters
from tests.numerics.runs import KINDS_OF_ROWS, ArrayRows, gain_and_bias, rows_of

pytestmark = pytest.mark.peers

WIDTHS = (1, 2, 7, 64, 768, 4096, 16384)
DTYPES = ("float32", "bfloat16", "float16")
LARGEST = {  # the table's row of torch float32, with room for other processors
    "plain": 0.4,
    "outliers": 0.4,
    "mean of 100 sigma": 0.5,
    "1e-3": 0.4,
    "constant": 0.4,
    "one-hot": 0.5,
}


def to_torch(values: Any, dtype: str) -> Any:
    torch = pytest.importorskip("torch")
    return torch.from_numpy(np.ascontiguousarray(values, dtype=np.float32)).to(getattr(torch, dtype))


def to_numpy(tensor: Any) -> np.ndarray[Any, Any]:
    torch = pytest.importorskip("torch")
    if tensor.dtype == torch.bfloat16:
        return tensor.detach().view(torch.int16).numpy().view(ml_dtypes.bfloat16)
    return tensor.detach().numpy()


def judged(before, after, kind, gain, bias, eps=1e-5, **options):
    parameters = NormParameters(kind, gain, bias, eps, options.pop("offset", 0.0), options.pop("chain", None))
    return compare(ArrayRows(before, after), parameters, norm="", recording="", provenance="", **options)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("kind", ["layer_norm", "rms_norm"])
@pytest.mark.parametrize("kind_of_rows", KINDS_OF_ROWS)
def test_torch_passes_on_rows_of_every_kind_and_width(kind_of_rows, kind, dtype):
    functional = pytest.importorskip("torch").nn.functional
    largest = 0.0
    for d in WIDTHS:
        x = to_torch(rows_of(kind_of_rows, d, 8), dtype)
        gain, bias = (to_torch(values, dtype) for values in gain_and_bias(d))
        if kind == "layer_norm":
            y = functional.layer_norm(x, (d,), gain, bias, 1e-5)
        else:
            y, bias = functional.rms_norm(x, (d,), gain, 1e-5), None
        stored = None if bias is None else to_numpy(bias)
        found = judged(to_numpy(x), to_numpy(y), kind, to_numpy(gain), stored, output_dtype=dtype)
        assert (found.status, found.outside_cells or 0) == ("pass", 0), (d, found.message)
        largest = max(largest, found.max_error_ratio or 0.0)
    assert largest < (LARGEST[kind_of_rows] if dtype == "float32" else 1)


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_torch_with_float32_parameters_passes_as_stored(dtype):
    functional = pytest.importorskip("torch").nn.functional
    x = to_torch(rows_of("plain", 768), dtype)
    gain, bias = gain_and_bias(768)
    y = functional.layer_norm(x, (768,), to_torch(gain, "float32"), to_torch(bias, "float32"), 1e-5)
    found = judged(to_numpy(x), to_numpy(y), "layer_norm", gain, bias)
    assert (found.status, found.param_dtype, found.chain) == ("pass", "float32", "once")
    cast = functional.layer_norm(x, (768,), to_torch(gain, dtype), to_torch(bias, dtype), 1e-5)
    found = judged(to_numpy(x), to_numpy(cast), "layer_norm", gain, bias)
    assert (found.status, found.param_dtype, found.chain) == ("pass", dtype, "once")


def hooked(model, path, ids):
    """What a module of a model reads and gives in a real forward pass."""
    torch = pytest.importorskip("torch")
    seen: list[tuple[Any, Any]] = []
    module = model.get_submodule(path)
    handle = module.register_forward_hook(lambda _, inputs, output: seen.append((inputs[0], output)))
    with torch.no_grad():
        model(ids)
    handle.remove()
    return module, *(to_numpy(side) for side in seen[0])


def tiny(name: str, **settings: Any) -> Any:
    torch, transformers = pytest.importorskip("torch"), pytest.importorskip("transformers")
    torch.manual_seed(0)
    model = transformers.AutoModelForCausalLM.from_config(transformers.AutoConfig.for_model(name, **settings)).eval()
    with torch.no_grad():
        for key, parameter in model.named_parameters():
            if "norm" in key or "ln_" in key:  # a new norm is all ones and zeros and would hide a swap
                parameter.add_(torch.randn_like(parameter) * 0.3)
    return model


def ids() -> Any:
    torch = pytest.importorskip("torch")
    return torch.arange(24).reshape(2, 12) % 50


SMALL = {"vocab_size": 64, "hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 2, "num_attention_heads": 4}
GPT2 = {"vocab_size": 64, "n_embd": 64, "n_layer": 2, "n_head": 4, "n_positions": 32}
MODELS = {
    "gpt2": (
        GPT2,
        ("transformer.ln_f", "transformer.h.0.ln_1", "transformer.h.1.ln_2"),
        "layer_norm",
        0.0,
        "once",
        1e-5,
    ),
    "llama": (
        {**SMALL, "num_key_value_heads": 4},
        ("model.norm", "model.layers.0.input_layernorm", "model.layers.1.post_attention_layernorm"),
        "rms_norm",
        0.0,
        "before_gain",
        1e-6,
    ),
    "nemotron": (
        {**SMALL, "num_key_value_heads": 4},
        ("model.norm", "model.layers.0.input_layernorm"),
        "layer_norm",
        1.0,
        "once",
        1e-5,
    ),
}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", MODELS)
def test_the_norms_of_transformers_pass_in_every_dtype(name, dtype):
    torch = pytest.importorskip("torch")
    settings, paths, kind, offset, chain, eps = MODELS[name]
    model = tiny(name, **settings)
    stored = {key: to_numpy(value.clone()) for key, value in model.state_dict().items()}
    model = model.to(getattr(torch, dtype))
    for path in paths:
        _, before, after = hooked(model, path, ids())
        gain, bias = stored[f"{path}.weight"], stored.get(f"{path}.bias")
        found = judged(before, after, kind, gain, bias, eps, offset=offset, chain=chain)
        assert (found.status, found.outside_cells or 0) == ("pass", 0), (path, found.message)
        assert found.output_dtype == dtype
        assert found.chain == (None if dtype == "float32" else chain)


@pytest.mark.parametrize("name", MODELS)
def test_a_perturbed_norm_of_transformers_fails(name):
    torch = pytest.importorskip("torch")
    settings, paths, kind, offset, chain, eps = MODELS[name]
    model = tiny(name, **settings)
    stored = {key: to_numpy(value.clone()) for key, value in model.state_dict().items()}
    for path in paths:
        module = model.get_submodule(path)
        for parameter in module.parameters():
            with torch.no_grad():
                parameter[7] += 1e-3
            _, before, after = hooked(model, path, ids())
            gain, bias = stored[f"{path}.weight"], stored.get(f"{path}.bias")
            found = judged(before, after, kind, gain, bias, eps, offset=offset, chain=chain)
            assert (found.status, found.worst.channel) == ("fail", 7), (path, found.message)
            with torch.no_grad():
                parameter[7] -= 1e-3


def onnx_layer_norm(x, gain, bias):
    onnx, runtime = pytest.importorskip("onnx"), pytest.importorskip("onnxruntime")
    helper, floats = onnx.helper, onnx.TensorProto.FLOAT
    node = helper.make_node("LayerNormalization", ["x", "gain", "bias"], ["y"], axis=-1, epsilon=1e-5)
    graph = helper.make_graph(
        [node],
        "norm",
        [helper.make_tensor_value_info("x", floats, x.shape)],
        [helper.make_tensor_value_info("y", floats, x.shape)],
        [onnx.numpy_helper.from_array(gain, "gain"), onnx.numpy_helper.from_array(bias, "bias")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    session = runtime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    return session.run(None, {"x": x})[0]


def test_onnxruntimes_layer_norm_leaves_the_bound_on_one_hot_rows_by_its_summation_order():
    x = rows_of("one-hot", 4096)
    gain, bias = gain_and_bias(4096)
    found = judged(x, onnx_layer_norm(x, gain, bias), "layer_norm", gain, bias)
    assert (found.status, found.finding) == ("warn", "summation-order"), found.message
    assert found.max_error_ratio > 1


@pytest.mark.parametrize("kind_of_rows", ["plain", "outliers", "mean of 100 sigma", "1e-3"])
def test_onnxruntimes_layer_norm_passes_on_all_others(kind_of_rows):
    for d in (64, 768, 4096):
        x = rows_of(kind_of_rows, d)
        gain, bias = gain_and_bias(d)
        found = judged(x, onnx_layer_norm(x, gain, bias), "layer_norm", gain, bias)
        assert found.status in {"pass", "warn"}, found.message
