"""The values of a policy's keys: what each type of value may be, and what it becomes."""

from __future__ import annotations

import re
from datetime import date, datetime
from difflib import get_close_matches
from json import dumps
from typing import TYPE_CHECKING, Any

from ln_audit import checks
from ln_audit.checks import expired_waiver
from ln_audit.policy.applying import ALL
from ln_audit.printable import one_line
from ln_audit.sources.hub_cache import COMMIT

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ln_audit.policy.keys import Key, Type
    from ln_audit.policy.lines import Path

LONGEST = 4_000  # characters of a string; signed addresses have a thousand
MOST = 10_000  # items of a list or table
CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_SHOWN = 80  # characters of a value that is written as it should be
SHA256 = re.compile(r"[0-9a-f]{64}")


class WrongError(Exception):
    """A value that is not what its key asks for; the message has no file and no line yet."""

    def __init__(self, path: Path, expected: str, found: object = None, hint: str = "") -> None:
        super().__init__(expected)
        self.path = path
        self.expected = expected
        self.found = found
        self.hint = hint


def rule_words() -> tuple[str, ...]:
    """The ids and the names of all rules, as `explain` writes them."""
    return tuple(word for check in checks.CHECKS for word in (check.RULE.id, check.RULE.name))


def table(value: object, keys: Mapping[str, Key], path: Path) -> dict[str, Any]:
    """A table with these keys and no other; those that are there, as what they become. Raises `WrongError`."""
    if not isinstance(value, dict):
        raise WrongError(path, "a table", value)
    for word in value:
        if word not in keys:
            near = get_close_matches(word[:LONGEST], keys, n=1)
            hint = f"did you mean {near[0]}?" if near else ""
            raise WrongError((*path, word), f"one of {', '.join(sorted(keys))}", word, hint)
    for word, key in keys.items():
        if key.needed and word not in value:
            raise WrongError((*path, word), f"a value ({key.means})", ...)
        if word in value and key.needs is not None and key.needs not in value:
            raise WrongError((*path, word), f"{key.needs}, which it belongs to", ...)
    return {word: read(item, keys[word], (*path, word)) for word, item in value.items()}


def read(value: object, key: Key, path: Path) -> Any:
    """What one value becomes. Raises `WrongError`."""
    return _READERS[key.type](value, key, path)


def _string(value: object, path: Path, expected: str = "a string") -> str:
    if not isinstance(value, str) or not value.strip():
        raise WrongError(path, expected, value)
    if len(value) > LONGEST:
        raise WrongError(path, f"at most {LONGEST:,} characters", value)
    return value


def _name(value: object, _: Key, path: Path) -> str:
    if CONTROL.search(text := _string(value, path)):
        raise WrongError(path, "a string without control characters", value)
    return text


def _text(value: object, _: Key, path: Path) -> str:
    return one_line(_string(value, path).strip())


def _switch(value: object, _: Key, path: Path) -> bool:
    if not isinstance(value, bool):
        raise WrongError(path, "true or false", value)
    return value


def _day(value: object, _: Key, path: Path) -> date:
    if not isinstance(value, date) or isinstance(value, datetime):
        raise WrongError(path, "a date", value, "without quotation marks: until = 2027-01-31")
    return value


def _choice(value: object, key: Key, path: Path) -> str:
    if not isinstance(value, str) or value not in key.choices:
        raise WrongError(path, " or ".join(key.choices), value)
    return value


def _rule(value: object, _: Key, path: Path) -> str:
    """The id of a rule that can be waived."""
    word = _known_rule(value, path)
    found = checks.find(word).RULE
    if found is expired_waiver.RULE:
        raise WrongError(path, "a rule that can be waived", value)
    return found.id


def _rules(value: object, _: Key, path: Path) -> tuple[str, ...]:
    """The ids of rules; `all` stays as it is."""
    words = _list(value, path, "a list of rules")
    found = (ALL if word == ALL else _known_rule(word, (*path, at)) for at, word in enumerate(words))
    return tuple(word if word == ALL else checks.find(word).RULE.id for word in found)


def _known_rule(value: object, path: Path) -> str:
    known = rule_words()
    if not isinstance(value, str) or value not in known:
        near = get_close_matches(value[:LONGEST], known, n=1) if isinstance(value, str) else []
        hint = f"did you mean {near[0]}?" if near else "`ln-audit explain` lists them"
        raise WrongError(path, "a rule's id or name", value, hint)
    return value


def _list(value: object, path: Path, expected: str) -> list[Any]:
    if not isinstance(value, list):
        raise WrongError(path, expected, value)
    if len(value) > MOST:
        raise WrongError(path, f"at most {MOST:,} items", f"{len(value):,}")
    return value


def _names(value: object, key: Key, path: Path) -> tuple[str, ...]:
    if isinstance(value, str):
        raise WrongError(path, "a list of strings", value, f"in brackets: [{dumps(one_line(value)[:_SHOWN])}]")
    items = _list(value, path, "a list of strings")
    if len(items) < key.least:
        raise WrongError(path, f"at least {key.least} item, or no such key", value)
    return tuple(_name(item, key, (*path, at)) for at, item in enumerate(items))


def _revisions(value: object, _: Key, path: Path) -> str | tuple[str, ...]:
    if value == "pinned":
        return "pinned"
    expected = '"pinned" or a list of commits'
    for at, commit in enumerate(items := _list(value, path, expected)):
        if not isinstance(commit, str) or COMMIT.fullmatch(commit) is None:
            raise WrongError((*path, at), "a commit of 40 hexadecimal digits in lower case", commit)
    if not items:
        raise WrongError(path, expected, value)
    return tuple(items)


def _digests(value: object, key: Key, path: Path) -> dict[str, str]:
    if not isinstance(value, dict) or len(value) > MOST:
        raise WrongError(path, f"a table of at most {MOST:,} digests", value)
    for name, digest in value.items():
        _name(name, key, (*path, name))
        if not isinstance(digest, str) or SHA256.fullmatch(digest) is None:
            hint = 'a name with dots stands in quotation marks: "ln_f.weight" = "…"' * isinstance(digest, dict)
            raise WrongError((*path, name), "64 hexadecimal digits in lower case", digest, hint)
    return value


def _table(value: object, key: Key, path: Path) -> dict[str, Any]:
    return table(value, key.keys or {}, path)


def _tables(value: object, key: Key, path: Path) -> tuple[dict[str, Any], ...]:
    rows = _list(value, path, f"[[{path[-1]}]] tables")
    if path[-1] == "target" and rows and isinstance(rows[0], str):
        raise WrongError(path, "[[target]] tables", rows[0], "a plain list of targets is called targets")
    return tuple(table(row, key.keys or {}, (*path, at)) for at, row in enumerate(rows))


def _families(value: object, _: Key, path: Path) -> dict[str, Any]:
    if not isinstance(value, dict) or len(value) > MOST:
        raise WrongError(path, "[family.NAME] tables", value)
    for name, row in value.items():
        if not isinstance(row, dict) or row.get("name", name) != name:
            raise WrongError((*path, name), "a table of that name", row)
    return value


_READERS: Mapping[Type, Callable[[object, Key, Path], Any]] = {
    "name": _name,
    "text": _text,
    "switch": _switch,
    "day": _day,
    "choice": _choice,
    "rule": _rule,
    "rules": _rules,
    "names": _names,
    "paths": _names,
    "revisions": _revisions,
    "digests": _digests,
    "table": _table,
    "tables": _tables,
    "families": _families,
}
