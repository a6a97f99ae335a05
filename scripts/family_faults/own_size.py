"""A model type at the size of its own default config: names and shapes alone, on no memory, in a file that is mostly a hole.

Tiny configs have numbers in common that real ones have not (a rank of 24 for queries and for keys); here a table that took one
for the other asks for a wrong shape. Values are all zero, so that only what is known without them is looked at.
"""

from __future__ import annotations

import json
import struct
import tempfile
import warnings
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ln_audit.audit import audit
from ln_audit.demand import Demand
from scripts.family_faults.expected import Trial, said

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ln_audit.result import Report

_STRUCTURE = ("LN001", "LN002", "LN003", "LN004", "LN005", "LN008", "LN009")


def trial(model_type: str) -> Trial:
    """What is said of a healthy model of its usual size."""
    from transformers.models.auto.configuration_auto import CONFIG_MAPPING

    from scripts.derive import survey, tiny

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            config = CONFIG_MAPPING[model_type]()
            model = tiny.build(model_type, meta=True, config=config)
        shapes = {name: tuple(each.shape) for name, each in survey.written(model).tensors.items()}
    except Exception as error:  # noqa: BLE001  # whatever transformers raises: some defaults cannot be built
        told = (str(error).splitlines() or [""])[0][:160]
        return Trial("", "default config", "not here", f"{type(error).__name__}: {told}")
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        config.architectures = [type(model).__name__]
        config.save_pretrained(place)
        write_hole(place / "model.safetensors", shapes)
        return _judged(audit(folder, Demand(values="final")), place)


def write_hole(path: Path, shapes: Mapping[str, Sequence[int]]) -> None:
    """A safetensors file of float32 tensors that are all zero, and take no room on the disk."""
    header: dict[str, Any] = {}
    end = 0
    for name, shape in shapes.items():
        begin, end = end, end + 4 * prod(shape)
        header[name] = {"dtype": "F32", "shape": list(shape), "data_offsets": [begin, end]}
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with path.open("wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        file.truncate(8 + len(text) + end)


def _judged(reports: Sequence[Report], place: Path) -> Trial:
    """Whether anything is wrong with names, shapes, epsilon or conventions."""
    report = reports[0]
    if report.norms and not any(each.norm.tensors for each in report.norms):
        return Trial("", "default config", "not here", "no norm of it has parameters")
    loud = [
        each
        for each in report.findings
        if each.rule in _STRUCTURE and (each.status in ("fail", "warn") or (each.status == "skip" and each.required))
    ]
    if report.error is None and not loud:
        return Trial("", "default config", "passes")
    return Trial("", "default config", "false alarm", said(report, loud).replace(f"{place}/", ""))
