"""From a policy's text to what it says: strictly, with the file, the line and the key of whatever is wrong in it."""

from __future__ import annotations

import hashlib
import re
from datetime import datetime
from typing import TYPE_CHECKING, Any

from ln_audit.demand import Policy, PolicyTarget, Rules, Waiver
from ln_audit.errors import UsageError
from ln_audit.formats.shown import shown
from ln_audit.policy import paths
from ln_audit.policy.keys import POLICY
from ln_audit.policy.values import WrongError, table

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ln_audit.families.schema import Family
    from ln_audit.policy.found import Document
    from ln_audit.policy.lines import Path

_LONGEST_WORD = 60  # characters of a key in a message
_BARE = re.compile(r"[A-Za-z0-9_-]+")
_LAST = re.compile(r"(?:\.[^.\[]*|\[\d+\])\Z")
# Keys of a target that become the same field of its rules.
_FIELDS = ("values", "output_dtype", "before_rounded", "norm", "revision", "expect")


def policy(document: Document) -> Policy:
    """What the policy says. Raises `UsageError`: `ln-audit.toml:3: strict: expected true or false, found 'yes'`."""
    try:
        return _policy(document)
    except WrongError as error:
        where = f"{document.path}:{_line(document, error.path)}: {spelt((*document.root, *error.path))}"
        found = "no such key" if error.found is ... else shown(error.found)
        raise UsageError(f"{where}: expected {error.expected}, found {found}", hint=error.hint) from error


def spelt(path: Path) -> str:
    """A key's path as messages have it: `target[0].digests.values."ln_f.weight"`."""
    told = ""
    for word in path:
        if isinstance(word, int):
            told += f"[{word}]"
            continue
        short = word if len(word) <= _LONGEST_WORD else f"{word[:_LONGEST_WORD]}…"
        told += ("." if told else "") + (short if _BARE.fullmatch(word) else f'"{short}"')
    return told


def _policy(document: Document) -> Policy:
    said = table(document.table, POLICY, ())
    families = {name: _family(row, name, document) for name, row in said.get("family", {}).items()}
    return Policy(
        document.path,
        hashlib.sha256(document.data).hexdigest(),
        families,
        tuple(Waiver(**row) for row in said.get("waiver", ())),
        datetime.now().astimezone().date(),
        Rules(**_shared(said), families=_allowed(said, families), pinned="revisions" in said),
        (
            *(PolicyTarget(paths.target(each, document.folder)) for each in said.get("targets", ())),
            *(_target(row, document.folder) for row in said.get("target", ())),
        ),
        document.instead_of,
    )


def _shared(said: Mapping[str, Any]) -> dict[str, Any]:
    """What may be asked of every artifact, and of one target alone."""
    digests = said.get("digests", {})
    return {
        "require": said.get("require", ()),
        "strict": said.get("strict", False),
        "value_digests": digests.get("values", {}),
        "file_digests": digests.get("files", {}),
        **{name: said.get(name) for name in _FIELDS},
    }


def _target(row: Mapping[str, Any], folder: str) -> PolicyTarget:
    revisions, family = row.get("revisions", ()), row.get("family")
    rules = Rules(
        **_shared(row),
        pinned=revisions == "pinned",
        commits=() if revisions == "pinned" else revisions,
        family=paths.file(family, folder) if family is not None and family.endswith(".toml") else family,
        config=paths.file(row["config"], folder) if "config" in row else None,
        lock=paths.file(row["lock"], folder) if "lock" in row else None,
        against=paths.target(row["against"], folder) if "against" in row else None,
        recordings=tuple(paths.file(each, folder) for each in row.get("recordings", ())),
    )
    return PolicyTarget(paths.target(row["target"], folder), rules)


def _allowed(said: Mapping[str, Any], own: Mapping[str, Family]) -> tuple[str, ...] | None:
    """The names of the allowed families, each of which must be one: a slip would close the gate for a reason nobody sees."""
    if "families" not in said:
        return None
    from difflib import get_close_matches

    from ln_audit.families.recognise import index

    known = [*own, *index()["families"]]
    for at, name in enumerate(said["families"]):
        if name not in known:
            near = index()["model_types"].get(name) or next(iter(get_close_matches(name, known, n=1)), None)
            hint = f"did you mean {near}?" if near else "`ln-audit families` lists them"
            raise WrongError(("families", at), "the name of a family", name, hint)
    return tuple(said["families"])


def _family(row: Mapping[str, Any], name: str, document: Document) -> Family:
    from ln_audit.families.bounds import TableError
    from ln_audit.families.table import made

    try:
        return made({"name": name, **row})
    except TableError as error:
        path = ("family", name)
        at = error.at.removeprefix("family.").removeprefix("family")
        line = _line_below(document, path, at)
        told = f"{document.path}:{line}: {spelt((*document.root, *path))}: {error}"
        raise UsageError(told) from error


def _line(document: Document, path: Path) -> int:
    """The line of a key, or of the table that lacks it."""
    from ln_audit.policy.lines import lines

    known, whole = lines(document.text), (*document.root, *path)
    return next((known[whole[:end]] for end in range(len(whole), 0, -1) if whole[:end] in known), 1)


def _line_below(document: Document, path: Path, at: str) -> int:
    """The line of a key below `path` that the reader of family tables names: `norm[0].kind`; else of what it is in."""
    from ln_audit.policy.lines import lines

    above = (*document.root, *path)
    known = {
        _plain(key[len(above) :]): line for key, line in lines(document.text).items() if key[: len(above)] == above
    }
    while at and at not in known:
        shorter = _LAST.sub("", at)
        at = shorter if shorter != at else ""
    return known.get(at) or _line(document, path)


def _plain(path: Path) -> str:
    return "".join(f"[{word}]" if isinstance(word, int) else f".{word}" for word in path).removeprefix(".")
