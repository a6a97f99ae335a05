"""How a user describes a family that nobody knows: six lines of TOML, begun with what the checkpoint shows."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from ln_audit.families.recognise import WIDTHS, candidates

if TYPE_CHECKING:
    from ln_audit.core import Checkpoint
    from ln_audit.formats.config import Config

_EPSILONS = ("layer_norm_epsilon", "layer_norm_eps", "rms_norm_eps", "norm_eps", "norm_epsilon", "layernorm_epsilon")
_LONGEST = 100  # characters of a name that is put before a person


def suggested(checkpoint: Checkpoint, config: Config | None) -> str | None:
    """A table for ln-audit.toml; None where there is no model_type to know the family by, or no candidate.

    The last candidate stands for the final norm, as checkpoints usually list it; a person has to say whether it is.
    """
    model_type = None if config is None else config.get("model_type")
    listed = [line.rpartition(" [")[0] for line in candidates(checkpoint, config) if line.endswith("]")]
    if config is None or not isinstance(model_type, str) or not listed or len(listed[-1]) > _LONGEST:
        return None
    gain = listed[-1].removesuffix(".bias") + ".weight" if listed[-1].endswith(".bias") else listed[-1]
    name, _, leaf = gain.rpartition(".")
    where = f"name = {_quoted(name)}" if name and leaf == "weight" else f'name = {_quoted(gain)}, leaf = ""'
    kind = 'kind = "rms_norm"'
    if f"{name}.bias" in checkpoint.tensors:
        kind = 'kind = "layer_norm", bias = "required"'
    width = next((key for key in WIDTHS if config.has(key)), WIDTHS[0])
    epsilon = next((key for key in _EPSILONS if config.has(key)), "rms_norm_eps")
    return "\n".join(
        (
            f"[family.{re.sub(r'[^A-Za-z0-9_-]', '_', model_type[:_LONGEST]) or 'mine'}]",
            f"model_types = [{_quoted(model_type[:_LONGEST])}]",
            'source = "where you know it from"',
            f"sizes = {{{_quoted(width)} = {{}}}}",
            f"epsilon = {{keys = [{_quoted(epsilon)}]}}",
            f'norm = [{{{where}, role = "final", {kind}, shape = [{_quoted(width)}]}}]',
        )
    )


def _quoted(text: str) -> str:
    return json.dumps(text)  # a JSON string is a TOML string
