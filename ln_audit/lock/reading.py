"""Read a lockfile, strictly: whatever is not as `lock` writes it is refused with its place, what was expected and found."""

from __future__ import annotations

import re
from dataclasses import replace
from math import copysign, isfinite
from typing import TYPE_CHECKING, Any

from ln_audit.errors import UsageError
from ln_audit.formats import bounded_toml
from ln_audit.formats.shown import float32, shown
from ln_audit.lock.schema import DIGESTS, FLOAT64, FORMAT, NAME, VALUE, VERSION, Lock, LockedFile, LockedNorm, Parameter
from ln_audit.sources.disk_file import is_special

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_LARGEST = 16_000_000  # bytes; a model with a thousand norms has 700,000
_SHA256 = re.compile(r"[0-9a-f]{64}")
_FORMAT = re.compile(rf"{re.escape(NAME)}/([1-9]\d{{0,8}})")
_WAY_OUT = "write it again: ln-audit lock TARGET"
_ROLES = ("final", "block", "embedding", "qk", "other")


def read(path: str) -> Lock:
    """The lockfile at a path. Raises `UsageError` that names the file, the key, what was expected and what was found."""
    way = "write it with: ln-audit lock TARGET -o FILE; a path in a policy is relative to the policy's folder"
    if is_special(path):
        raise UsageError(f"{path}: expected a lockfile that can be read, found: no ordinary file", hint=way)
    try:
        with open(path, "rb") as file:  # noqa: PTH123 - a path with a NUL has no Path
            data = file.read(_LARGEST + 1)
    except (OSError, ValueError) as error:
        told = error.strerror.lower() if isinstance(error, OSError) and error.strerror else str(error)
        raise UsageError(f"{path}: expected a lockfile that can be read, found: {told}", hint=way) from error
    return parse(data, path)


def parse(data: bytes, where: str) -> Lock:
    """A lockfile's content. Raises `UsageError`."""
    try:
        return replace(_READERS[_version(table := _table(data))](table), where=where)
    except _LockError as error:
        raise UsageError(f"{where}: {error}", hint=error.hint) from error


class _LockError(Exception):
    """What is wrong, without the file's name."""

    def __init__(self, message: str, hint: str = _WAY_OUT) -> None:
        super().__init__(message)
        self.hint = hint


def _table(data: bytes) -> dict[str, Any]:
    if len(data) > _LARGEST:
        raise _LockError(f"expected at most {_LARGEST:,} bytes, found more")
    try:
        return bounded_toml.loads(data.decode())
    except ValueError as error:
        raise _LockError(f"expected a lockfile in TOML, found: {error}") from error


def _version(table: Mapping[str, Any]) -> int:
    """Which version wrote it; every version up to ours can be read."""
    stated = table.get("format")
    match = _FORMAT.fullmatch(stated) if isinstance(stated, str) else None
    if match is None:
        raise _LockError(f"format: expected {FORMAT!r}, found {shown(stated)}")
    version = int(match[1])
    if version > VERSION:
        way = "a newer ln-audit wrote it: upgrade ln-audit, or write it again with this one: ln-audit lock TARGET"
        raise _LockError(f"format: expected {FORMAT} at most, found {shown(stated)}", way)
    return version


class _Keys:
    """A table whose keys are taken one by one; what is left over at the end is unknown."""

    def __init__(self, table: object, where: str) -> None:
        self.where = where
        if not isinstance(table, dict):
            raise _LockError(f"{where}: expected a table, found {shown(table)}")
        self._left = dict(table)

    def wrong(self, key: str, expected: str, found: object) -> _LockError:
        return _LockError(f"{self.where}{'.' * bool(self.where)}{key}: expected {expected}, found {shown(found)}")

    def has(self, key: str) -> bool:
        """Whether a key is still there."""
        return key in self._left

    def take(self, key: str, default: object = ...) -> Any:
        """The value of a key, which must be there unless there is a default."""
        if key not in self._left and default is ...:
            raise _LockError(f"{self.where}{'.' * bool(self.where)}{key}: expected a value, found no such key")
        return self._left.pop(key, default)

    def string(self, key: str, default: object = ...) -> Any:
        value = self.take(key, default)
        if value is not default and (not isinstance(value, str) or not value):
            raise self.wrong(key, "a string", value)
        return value

    def count(self, key: str, least: int = 0, default: object = ...) -> Any:
        value = self.take(key, default)
        if value is not default and (type(value) is not int or not least <= value < 2**53):
            raise self.wrong(key, f"a whole number from {least}", value)
        return value

    def tables(self, key: str) -> list[Any]:
        value = self.take(key, [])
        if not isinstance(value, list):
            raise self.wrong(key, f"[[{key}]]", value)
        return value

    def done(self) -> None:
        if self._left:
            raise _LockError(f"{self.where or 'lockfile'}: expected no other keys, found {shown(min(self._left))}")


def _first(table: dict[str, Any]) -> Lock:
    """Version 1."""
    keys = _Keys(table, "")
    keys.take("format")
    model = _Keys(keys.take("model"), "model")
    files = tuple(_file(row, f"file[{i}]") for i, row in enumerate(keys.tables("file")))
    norms = tuple(_norm(row, f"norm[{i}]") for i, row in enumerate(keys.tables("norm")))
    keys.done()
    lock = Lock(
        norms,
        identity=model.string("identity"),
        container=model.string("container"),
        revision=model.string("revision", None),
        family=model.string("family", None),
        data=model.string("family_data", None),
        files=files,
    )
    model.done()
    if not norms:
        raise _LockError("norm: expected at least one [[norm]], found none")
    _distinct("norm", [norm.key for norm in norms])
    _distinct("file", [file.name for file in files])
    return lock


_READERS: Mapping[int, Callable[[dict[str, Any]], Lock]] = {1: _first}


def _distinct(what: str, names: list[Any]) -> None:
    seen: set[Any] = set()
    for at, name in enumerate(names):
        if name in seen:
            raise _LockError(f"{what}[{at}]: expected each {what} once, found {shown(name)} again")
        seen.add(name)


def _file(row: object, where: str) -> LockedFile:
    keys = _Keys(row, where)
    file = LockedFile(keys.string("name"), _sha256(keys, "sha256"))
    keys.done()
    return file


def _norm(row: object, where: str) -> LockedNorm:
    keys = _Keys(row, where)
    role = keys.string("role")
    if role not in _ROLES:
        raise keys.wrong("role", f"one of {', '.join(_ROLES)}", role)
    gain, bias = (_part(keys.take(part, None), f"{where}.{part}") for part in ("gain", "bias"))
    norm = LockedNorm(
        name=keys.string("name"),
        role=role,
        kind=keys.string("kind"),
        stack=keys.string("stack", None),
        layer=keys.count("layer", 0, None),
        width=keys.count("width", 0, None),
        epsilon=_epsilon(keys),
        nth=keys.count("nth", 1, 1),
        gain=gain,
        bias=bias,
    )
    counted = keys.count("parameters")
    if counted != norm.parameters:
        raise keys.wrong("parameters", f"{norm.parameters}, the elements of gain and bias", counted)
    keys.done()
    return norm


def _epsilon(keys: _Keys) -> float | None:
    value = keys.take("epsilon", None)
    if value is None:
        return None
    if type(value) in (int, float) and 0 <= value < 2**128 and isfinite(float32(value)) and copysign(1, value) > 0:
        return float(value)
    raise keys.wrong("epsilon", "a float32 not below 0", value)


def _part(row: object, where: str) -> Parameter | None:
    if row is None:
        return None
    keys = _Keys(row, where)
    elements = keys.count("elements")
    digests = {name: _sha256(keys, name) for name in DIGESTS if keys.has(name)}
    if digests and VALUE not in digests and FLOAT64 not in digests:
        raise _LockError(f"{where}.{VALUE}: expected a value, found no such key")
    keys.done()
    return Parameter(elements, digests)


def _sha256(keys: _Keys, key: str) -> str:
    value: str = keys.string(key)
    if _SHA256.fullmatch(value) is None:
        raise keys.wrong(key, "64 hexadecimal digits in lower case", value)
    return value
