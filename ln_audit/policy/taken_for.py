"""What each target of a policy is taken for, as far as can be told without opening it: a word may be a folder or a model."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from ln_audit.errors import LnAuditError
from ln_audit.sources import hub_target, near_names, source_of
from ln_audit.sources.hub_cache import COMMIT

if TYPE_CHECKING:
    from collections.abc import Mapping

_DIGITS = 12  # of a commit: enough for people to compare
_OTHERS: Mapping[str, str] = {"sample": "the model that ships with ln-audit", "http": "a file on a web server"}


def taken_for(target: str, revision: str | None) -> str:
    """`a folder on this machine`, `a model on the Hub, not pinned to a commit`, …; `revision` is what the policy says of it."""
    source = source_of(target)
    if source == "hub":
        return _on_hub(target, revision)
    if source == "local":
        return _here(target)
    return "nothing that is known, and no path on this machine" if source is None else _OTHERS[source]


def doubt(target: str) -> str:
    """What a reader should know of a target that may be mistyped; empty where nothing tells that it is."""
    source = source_of(target)
    if source == "hub":
        return near_names.local_hint(target)
    missing = source is None or (source == "local" and not os.path.lexists(os.path.expanduser(target)))  # noqa: PTH111
    return f"nothing is there now: {near_names.hint(target)}" if missing else ""


def _here(target: str) -> str:
    path = os.path.expanduser(target)  # noqa: PTH111 - never raises, Path.expanduser does for an unknown user
    if os.path.isdir(path):  # noqa: PTH112
        return "a folder on this machine"
    return "a file on this machine" if os.path.lexists(path) else "a path on this machine"


def _on_hub(target: str, revision: str | None) -> str:
    """Which model, and whether it can change under its name."""
    try:
        found = hub_target.parse(target, revision)
    except LnAuditError:
        return "a model on the Hub"
    told = "a model on the Hub" if found.repo in target else f"{found.repo} on the Hub"
    at = found.revision or ""
    if COMMIT.fullmatch(at):
        return f"{told}, pinned to commit {at[:_DIGITS]}"
    return f"{told}{f' at {at}' if at else ''}, not pinned to a commit"
