"""Stand-ins for libraries that only a part of a model needs: a timm tower without layers, so that the rest can be built.

What such a library would build has names of its own, which no config key tells; a table says nothing of it.
"""

from __future__ import annotations

import importlib
from types import SimpleNamespace
from typing import Any

import torch

_NEED_TIMM = (
    "timm_wrapper.modeling_timm_wrapper",
    "timm_wrapper.configuration_timm_wrapper",
    "timm_backbone.modeling_timm_backbone",
)
_NEED_OTHERS = ("dinat.modeling_dinat",)
TIMM_TYPES = ("timm_wrapper", "timm_backbone")  # nothing of these types is transformers' own


class _Features(torch.nn.Module):
    """What a model asks a timm backbone for: how many channels its stages have."""

    def __init__(self, channels: tuple[int, ...] = (256, 512, 1024, 2048)) -> None:
        super().__init__()
        rows = [{"module": f"layer{i}", "index": i, "num_chs": n, "reduction": 4 << i} for i, n in enumerate(channels)]
        self.feature_info = SimpleNamespace(
            info=rows,
            get_dicts=lambda: rows,
            channels=lambda: list(channels),
            module_name=lambda: [row["module"] for row in rows],
            out_indices=[row["index"] for row in rows],
        )
        self.num_features = channels[-1]


def install() -> None:
    """Let transformers build what needs timm or natten where they are not there."""
    for name in (*_NEED_TIMM, *_NEED_OTHERS):
        module: Any = importlib.import_module(f"transformers.models.{name}")
        module.requires_backends = lambda *_args, **_kwargs: None
        if name in _NEED_TIMM and "modeling" in name and not hasattr(module, "timm"):
            module.timm = SimpleNamespace(create_model=lambda *_args, **_kwargs: _Features(), __version__="none")
    config: Any = importlib.import_module("transformers.models.timm_wrapper.configuration_timm_wrapper")
    config.infer_imagenet_subset = lambda _config: None
