"""Which version of its families' tables a model was locked with: a digest of what they say, not of how it is written."""

from __future__ import annotations

import hashlib
import json
from dataclasses import MISSING, fields, is_dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ln_audit.families.schema import Family

_PROSE = ("title", "source")
_LENGTH = 12  # hexadecimal digits: nobody makes two tables collide, and a person compares them


def data_version(families: Iterable[Family]) -> str:
    """Twelve hexadecimal digits over all that the tables say.

    A key at its default counts as absent, so that a key which a later version adds changes no table that lacks it.
    """
    said = json.dumps([_said(family) for family in families], sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(said.encode()).hexdigest()[:_LENGTH]


def _said(value: Any) -> Any:
    if is_dataclass(value) and not isinstance(value, type):
        return {
            each.name: _said(getattr(value, each.name))
            for each in fields(value)
            if each.name not in _PROSE and getattr(value, each.name) != _default(each)
        }
    if isinstance(value, dict):
        return {str(key): _said(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_said(item) for item in value]
    return value if isinstance(value, (str, int, float, bool)) or value is None else str(value)


def _default(each: Any) -> object:
    return each.default_factory() if each.default_factory is not MISSING else each.default
