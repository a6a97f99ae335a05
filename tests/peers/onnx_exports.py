"""GPT-2 as PyTorch exports it and as onnxruntime rewrites it, its config beside it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.peers.torch_models import tiny

if TYPE_CHECKING:
    from pathlib import Path


def exported(folder: Path, opset: int = 17, dtype: str = "float32", level: str | None = None) -> str:
    """The path of `model.onnx` in the folder; `level`: optimized by onnxruntime."""
    import onnxruntime
    import torch

    made = tiny("gpt2").to(getattr(torch, dtype))
    made.config._attn_implementation = "eager"

    class Exported(torch.nn.Module):  # type: ignore[misc]
        """Without a mask, which the old exporter cannot trace."""

        def __init__(self) -> None:
            super().__init__()
            self.transformer = made.transformer

        def forward(self, input_ids: Any) -> Any:
            mask = torch.zeros(1, 1, input_ids.shape[1], input_ids.shape[1], dtype=getattr(torch, dtype))
            return self.transformer(input_ids, use_cache=False, attention_mask=mask)[0]

    made.config.save_pretrained(folder)
    path = folder / "model.onnx"
    ids = torch.arange(32)[None]
    axes = {"input_ids": {1: "n"}}
    torch.onnx.export(
        Exported(), (ids,), path, input_names=["input_ids"], opset_version=opset, dynamo=False, dynamic_axes=axes
    )
    if level is not None:
        options = onnxruntime.SessionOptions()
        options.optimized_model_filepath, options.log_severity_level = str(path), 4
        options.graph_optimization_level = getattr(onnxruntime.GraphOptimizationLevel, f"ORT_ENABLE_{level}")
        onnxruntime.InferenceSession(path.read_bytes(), options, providers=["CPUExecutionProvider"])
    return str(path)
