"""Models as PyTorch exports them and as onnxruntime's optimizer rewrites them: the same norms, whatever they are made of."""

from typing import Any

import numpy as np
import pytest

from ln_audit.formats import onnx as onnx_format
from ln_audit.formats.dtypes import array
from ln_audit.formats.onnx_norms import OPERATORS
from tests.formats.memory_source import folder
from tests.formats.onnx_models import model, node

pytestmark = pytest.mark.peers
torch: Any = pytest.importorskip("torch")
onnxruntime = pytest.importorskip("onnxruntime")
WIDTH = 16


def _norms():
    from transformers.models.gemma.modeling_gemma import GemmaRMSNorm
    from transformers.models.llama.modeling_llama import LlamaRMSNorm
    from transformers.models.t5.modeling_t5 import T5LayerNorm

    return {
        "LayerNorm": (lambda: torch.nn.LayerNorm(WIDTH, eps=1e-6), "layer_norm", 1e-6),
        "LayerNorm without bias": (lambda: torch.nn.LayerNorm(WIDTH, bias=False), "layer_norm", 1e-5),
        "LlamaRMSNorm": (lambda: LlamaRMSNorm(WIDTH, eps=1e-5), "rms_norm", 1e-5),
        "GemmaRMSNorm": (lambda: GemmaRMSNorm(WIDTH, eps=1e-6), "rms_norm", 1e-6),
        "T5LayerNorm": (lambda: T5LayerNorm(WIDTH, eps=1e-6), "rms_norm", 1e-6),
    }


class Block(torch.nn.Module):  # type: ignore[misc]
    """A norm, a layer, the residual, and the final norm."""

    def __init__(self, norm) -> None:
        super().__init__()
        self.ln_1, self.fc, self.ln_f = norm(), torch.nn.Linear(WIDTH, WIDTH), norm()
        for parameter in self.parameters():
            parameter.data = torch.randn_like(parameter)

    def forward(self, x):
        return self.ln_f(x + self.fc(self.ln_1(x)))


def _gains(path):
    """The names, and the gain of each norm as it multiplies."""
    checkpoint = onnx_format.read_checkpoint(folder(path.parent), path.name)
    names = [site.gain or "" for site in checkpoint.norm_sites]
    stored = checkpoint.read(names)
    return checkpoint.norm_sites, [array(stored[name]) for name in names]


@pytest.mark.parametrize("dtype", ["float32", "float16"])
@pytest.mark.parametrize("opset", [13, 17, 20])
@pytest.mark.parametrize("name", ["LayerNorm", "LayerNorm without bias", "LlamaRMSNorm", "GemmaRMSNorm", "T5LayerNorm"])
@pytest.mark.filterwarnings("ignore")
def test_the_norms_of_an_exported_block_before_and_after_the_optimizer(tmp_path, name, opset, dtype):
    norm, kind, eps = _norms()[name]
    block = Block(norm).to(getattr(torch, dtype))
    x = torch.randn(1, 4, WIDTH, dtype=getattr(torch, dtype))
    path = tmp_path / "model.onnx"
    torch.onnx.export(block, (x,), path, opset_version=opset, dynamo=False)
    options = onnxruntime.SessionOptions()
    options.optimized_model_filepath = str(tmp_path / "optimized.onnx")
    options.log_severity_level = 4
    onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    offset = 1 if name == "GemmaRMSNorm" else 0  # constant folding adds it in float32
    expected = [(offset + part.weight.detach().float()).numpy() for part in (block.ln_1, block.ln_f)]
    for file in (path, tmp_path / "optimized.onnx"):
        sites, gains = _gains(file)
        assert [(site.kind, site.eps) for site in sites] == [(kind, eps)] * 2
        assert [gain.astype(np.float32).tolist() for gain in gains] == [gain.tolist() for gain in expected]
        zeros = opset > 13 and name == "LayerNorm without bias"  # its operator is exported with a bias of zeros
        assert [site.bias is not None for site in sites] == [name == "LayerNorm" or zeros] * 2


@pytest.mark.parametrize(("domain", "op"), [key for key in OPERATORS if key[1] != "EmbedLayerNormalization"])
def test_without_an_attribute_onnxruntime_takes_the_epsilon_that_we_report(domain, op):
    """A row so small that 1e-5 and 1e-12 give results that differ by factors."""
    operator = OPERATORS[domain, op]
    rng = np.random.default_rng(1)
    x = (rng.standard_normal((1, 1, 64)) * 1e-5).astype(np.float32)
    gain = np.ones(64, np.float32)
    inputs = {1: "x g", 2: "x zero g"}[operator.gain]
    more = {"com.microsoft": 1} if domain else {}
    proto = model([node(op, inputs, "y", domain)], {"g": gain, "zero": np.zeros_like(x)}, 23, **more)
    session = onnxruntime.InferenceSession(proto.SerializeToString(), providers=["CPUExecutionProvider"])
    (y,) = session.run(["y"], {"x": x})
    eps = operator.eps if operator.eps is not None else 1e-5
    wide = x.astype(np.float64)
    centred = wide - wide.mean() if operator.kind == "layer_norm" else wide
    np.testing.assert_allclose(y, centred / np.sqrt(np.mean(centred**2) + eps), rtol=1e-4)
