"""What was measured, as JSON lines in a folder that git ignores: one line for each model type and fault, so that a run that
was interrupted goes on where it stopped. A line counts only for the code and the tables that it was made with.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scripts.family_faults.expected import Trial

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

ROOT = Path(__file__).resolve().parents[2]
CACHE = ROOT / ".family_faults"
DATA = ROOT / "ln_audit" / "families" / "data"
MODEL = "model"  # the line that says what the model is, beside those of its faults
_CODE = ("ln_audit/**/*.py", "scripts/family_faults/*.*", "scripts/derive/tiny*.py", "scripts/recording_file.py")


@dataclass(frozen=True)
class Record:
    """One line: what became of one fault in one model type, or (`fault` = "model") what that model is."""

    model_type: str
    fault: str
    key: str
    family: str | None = None
    trials: tuple[Trial, ...] = ()
    notes: tuple[str, ...] = ()

    def line(self) -> str:
        """As JSON, without a line end."""
        return json.dumps({**vars(self), "trials": [each.as_json() for each in self.trials]}, ensure_ascii=False)


def parse(line: str) -> Record | None:
    """A line as it was written; None for one that an interrupted run left half."""
    try:
        read: dict[str, Any] = json.loads(line)
    except ValueError:
        return None
    trials = tuple(Trial(**each) for each in read.pop("trials"))
    return Record(**{**read, "notes": tuple(read["notes"])}, trials=trials)


def load(folder: Path = CACHE) -> dict[tuple[str, str], Record]:
    """The newest line of every model type and fault, over the files of all shards."""
    found: dict[tuple[str, str], Record] = {}
    for file in sorted(folder.glob("*.jsonl"), key=lambda file: file.stat().st_mtime):
        for line in file.read_text(encoding="utf-8").splitlines():
            record = parse(line)
            if record is not None:
                found[record.model_type, record.fault] = record
    return found


def append(records: Iterable[Record], file: Path) -> None:
    """Write lines at the end of a shard's file; a half line before them is closed first."""
    file.parent.mkdir(parents=True, exist_ok=True)
    torn = file.exists() and not file.read_bytes().endswith(b"\n") and file.stat().st_size > 0
    with file.open("a", encoding="utf-8") as out:
        out.write("\n" * torn)
        for record in records:
            out.write(record.line() + "\n")


def code() -> str:
    """The digest of all code that a result depends on, with the versions of the libraries that the models come from."""
    digest = hashlib.sha256()
    for pattern in _CODE:
        for path in sorted(ROOT.glob(pattern)):
            digest.update(path.relative_to(ROOT).as_posix().encode() + b"\0" + path.read_bytes())
    for library in ("torch", "transformers"):
        digest.update(f"{library} {metadata.version(library)}".encode())
    return digest.hexdigest()


def key(model_type: str, fault: str, code: str, tables: str) -> str:
    """What a line was made with."""
    return hashlib.sha256(f"{code} {tables} {model_type} {fault}".encode()).hexdigest()[:16]


def tables(model_type: str, data: Path = DATA) -> str:
    """The digest of the family's table; one with parts depends on all the others."""
    index = json.loads((data / "index.json").read_text(encoding="utf-8"))
    family = index["model_types"].get(model_type, "")
    table = data / f"{family}.toml"
    if not table.is_file():
        return "none"
    parts = b"[[part]]" in table.read_bytes()
    read = sorted(data.glob("*.toml")) if parts else [table]
    return hashlib.sha256("".join(_digest(each, each.stat().st_mtime_ns) for each in read).encode()).hexdigest()


@cache
def _digest(file: Path, _changed: int) -> str:
    return hashlib.sha256(file.name.encode() + b"\0" + file.read_bytes()).hexdigest()


def current(done: Mapping[tuple[str, str], Record], code: str) -> dict[tuple[str, str], Record]:
    """Those that were made with this code and today's tables."""
    held = {model_type: tables(model_type) for model_type, _ in done}
    return {at: record for at, record in done.items() if record.key == key(*at, code, held[at[0]])}
