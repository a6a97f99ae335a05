"""How a user describes a family that nobody knows: six lines of TOML, begun with what the checkpoint shows."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from ln_audit.families.recognise import WIDTHS, gains

if TYPE_CHECKING:
    from ln_audit.core import Checkpoint
    from ln_audit.formats.config import Config

_EPSILONS = ("layer_norm_epsilon", "layer_norm_eps", "rms_norm_eps", "norm_eps", "norm_epsilon", "layernorm_epsilon")
_LONGEST = 100  # characters of a name that is put before a person
_MOST = 8  # rows
_LAYER = re.compile(r"(^|\.)\d{1,7}(\.)")


def suggested(checkpoint: Checkpoint, config: Config | None) -> str | None:
    """A table for ln-audit.toml; None where there is no model_type to know the family by, or no candidate.

    Every candidate is a row of it. The last one outside the layers stands for the final norm, as checkpoints usually list it; a
    person has to say whether it is.
    """
    model_type = None if config is None else config.get("model_type")
    rows = _rows(checkpoint, config)
    if config is None or not isinstance(model_type, str) or not rows:
        return None
    width = next((key for key in WIDTHS if config.has(key)), WIDTHS[0])
    epsilon = next((key for key in _EPSILONS if config.has(key)), "rms_norm_eps")
    norms = [f"{{{row}, shape = [{_quoted(width)}]}}" for row in rows]
    return "\n".join(
        (
            f"[family.{re.sub(r'[^A-Za-z0-9_-]', '_', model_type[:_LONGEST]) or 'mine'}]",
            f"model_types = [{_quoted(model_type[:_LONGEST])}]",
            'source = "where you know it from"',
            f"sizes = {{{_quoted(width)} = {{}}}}",
            f"epsilon = {{keys = [{_quoted(epsilon)}]}}",
            f"norm = [{', '.join(norms)}]",
        )
    )


def _rows(checkpoint: Checkpoint, config: Config | None) -> list[str]:
    """One row for each name that the candidates have but for their layer; the final norm's last."""
    names = [gain for gain in gains(checkpoint, config) if len(gain) <= _LONGEST]
    patterns = dict.fromkeys(_LAYER.sub(r"\1{layer}\2", gain, count=1) for gain in names)
    final = next((gain for gain in reversed(patterns) if "{layer}" not in gain), None)
    ordered = [gain for gain in patterns if gain != final] + ([] if final is None else [final])
    return [_row(gain, checkpoint, final=gain == final) for gain in ordered[:_MOST]]


def _row(gain: str, checkpoint: Checkpoint, *, final: bool) -> str:
    name, _, leaf = gain.rpartition(".")
    where = f"name = {_quoted(name)}" if name and leaf == "weight" else f'name = {_quoted(gain)}, leaf = ""'
    if "{layer}" in gain:
        where += f", beside = {_quoted(gain.partition('{layer}')[0] + '{layer}.')}"
    kind = 'kind = "rms_norm"'
    if any(
        f"{name}.bias" == _LAYER.sub(r"\1{layer}\2", other, count=1)
        for other in checkpoint.tensors
        if other.endswith(".bias")
    ):
        kind = 'kind = "layer_norm", bias = "required"'
    return f'{where}, role = "{"final" if final else "block"}", {kind}'


def _quoted(text: str) -> str:
    return json.dumps(text)  # a JSON string is a TOML string
