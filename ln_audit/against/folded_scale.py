"""A factor for each channel on a block norm of an export that folds scales into norms: AWQ, SmoothQuant and the like."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ln_audit.against.explanation import Explanation

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ln_audit.against.difference import Difference

NAME = "folded scale"
_METHODS = (
    "awq",
    "smoothquant",
    "smooth_quant",
    "compressed-tensors",
    "modelopt",
    "quark",
)  # names of quantization methods


def explain(difference: Difference) -> Explanation | None:
    """A positive finite ratio in every channel, where the artifact's config names such a method; never the final norm."""
    method = _method(difference.twins.artifact.config)
    if not difference.whole or method is None or difference.pair.artifact.role != "block":
        return None
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = difference.artifact.exact / difference.source.exact
    if not (np.isfinite(ratio).all() and (ratio > 0).all()):
        return None
    told = f"a factor for each channel, {ratio.min():.3g} to {ratio.max():.3g}, as {method} folds into norms"
    return Explanation(
        NAME, "warn", told, "folded scale; the matrices that read it were not, so nobody checked the other half"
    )


def _method(config: Mapping[str, object]) -> str | None:
    found = config.get("quantization_config")
    method = found.get("quant_method") if hasattr(found, "get") else None
    return method if isinstance(method, str) and method.lower() in _METHODS else None
