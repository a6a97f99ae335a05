"""What is wrong in what a file states beside its tensors: the epsilon, and a quantization method that folds scales into norms."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ln_audit.families.names_index import of_architecture
from ln_audit.families.recognise import load
from scripts.source_faults.artifacts import architecture
from scripts.source_faults.faults import Planted, channel_factors

if TYPE_CHECKING:
    from scripts.source_faults.artifacts import Artifact


_DEFAULT = 1e-5  # of ONNX's operators: the epsilon of a node that writes none


def epsilon_times_ten(artifact: Artifact) -> Planted | None:
    """The epsilon is written ten times too large, wherever this container writes it."""
    return _epsilon(artifact, 10.0)


def epsilon_missing(artifact: Artifact) -> Planted | None:
    """Nobody wrote the epsilon."""
    return _epsilon(artifact, None)


def _epsilon(artifact: Artifact, times: float | None) -> Planted | None:
    family = artifact.model.spec.family
    keys = [key for key in load(family).epsilon_keys if key in artifact.config]
    if artifact.container == "onnx" and times is None and all(held.eps == _DEFAULT for held in artifact.held):
        return None
    if artifact.container == "onnx":  # its graph computes with its own, whatever a config says
        held = tuple(
            replace(each, eps=None if times is None or each.eps is None else each.eps * times) for each in artifact.held
        )
        return Planted(replace(artifact, held=held))
    if artifact.container == "gguf" and not keys:
        names = of_architecture("gguf", architecture(family))
        assert names is not None
        if names.epsilon is None:
            return None
        return Planted(replace(artifact, facts={names.epsilon: None if times is None else 1e-5 * times}))
    if not keys:
        return None
    config = {key: value for key, value in artifact.config.items() if key not in keys or times is not None}
    config |= {key: artifact.config[key] * times for key in keys if times is not None}
    return Planted(replace(artifact, config=config))


def folded_and_told(artifact: Artifact) -> Planted | None:
    """A factor for each channel, in an export whose config says that its method folds scales, and whose matrices changed."""
    planted = told_alone(artifact)
    if planted is None:
        return None
    matrices = {name: held * held.dtype.type(0.875) for name, held in artifact.tensors.items() if held.ndim > 1}
    return Planted(planted.artifact.with_tensors(matrices), planted.struck)


def told_alone(artifact: Artifact) -> Planted | None:
    """The same, with the matrices that read the norm left as they were: nothing was folded into them."""
    planted = None if artifact.container == "gguf" else channel_factors(artifact)  # GGUF states no such method
    if planted is None:
        return None
    config = dict(artifact.config) | {"quantization_config": {"quant_method": "awq", "bits": 4}}
    return Planted(replace(planted.artifact, config=config), planted.struck)
