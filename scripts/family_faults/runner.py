"""The walk over model types and faults: what was measured before is not measured again."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from scripts.family_faults import results
from scripts.family_faults.registry import FAULTS
from scripts.family_faults.results import MODEL, Record
from scripts.family_faults.trial import trials

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from scripts.family_faults.registry import Fault


def shard(model_types: Sequence[str], part: str) -> list[str]:
    """Every n-th of them: `1/4` is the first quarter. Raises `ValueError` for what is no such part."""
    number, _, count = part.partition("/")
    if not (number.isdigit() and count.isdigit() and 1 <= int(number) <= int(count)):
        raise ValueError(f"--shard: expected K/N with K from 1 to N, found {part!r}")
    return sorted(model_types)[int(number) - 1 :: int(count)]


def lacking(
    model_type: str, done: Mapping[tuple[str, str], Record], keys: Mapping[str, str], faults: Sequence[Fault] = FAULTS
) -> list[Fault]:
    """The faults that were not measured with this code and these tables. A model that cannot be audited has none."""
    known = done.get((model_type, MODEL))
    if known is not None and known.key == keys[MODEL] and known.family is None:
        return []
    found = []
    for fault in faults:
        record = done.get((model_type, fault.name))
        if record is None or record.key != keys[fault.name]:
            found.append(fault)
    return found


def keys(model_type: str, code: str, faults: Sequence[Fault] = FAULTS) -> dict[str, str]:
    """The key of each fault's line, and of the model's own."""
    tables = results.tables(model_type)
    return {name: results.key(model_type, name, code, tables) for name in (MODEL, *(fault.name for fault in faults))}


def measured(model_type: str, faults: Sequence[Fault], keyed: Mapping[str, str]) -> Iterator[Record]:
    """Build the model once and plant each fault: first the line that says what it is, then one for each fault."""
    from ln_audit.audit import audit
    from ln_audit.demand import Demand
    from scripts.family_faults.case import case
    from scripts.family_faults.model import recorded

    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "model"
        try:
            model = recorded(model_type, place)
        except Exception as error:  # noqa: BLE001  # whatever transformers raises while it builds or saves a model
            told = f"not built: {type(error).__name__}: {(str(error).splitlines() or [''])[0][:160]}"
            yield Record(model_type, MODEL, keyed[MODEL], notes=(told,))
            return
        try:
            report, *_ = audit(str(place), Demand())
        except Exception as error:  # noqa: BLE001  # an audit must never end like this
            told = f"false alarm: the audit ended with {type(error).__name__}: {error}"
            yield Record(model_type, MODEL, keyed[MODEL], notes=(told,))
            return
        found = case(model, report)
        notes = list(model.notes)
        if found.family is None:
            notes.append("no table: " + (report.error.message if report.error else "its family is not known")[:160])
        elif found.final is not None and not found.final.judged:
            notes.append(f"{found.final.name}: structure only: its run shows no norm over the last axis")
        elif found.final is None and found.block is None:
            notes.append("structure only: no final norm and no block norm was run")
        yield Record(model_type, MODEL, keyed[MODEL], found.family, notes=tuple(notes))
        for fault in faults if found.family is not None else ():
            yield Record(model_type, fault.name, keyed[fault.name], found.family, tuple(trials(found, fault)))
