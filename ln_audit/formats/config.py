"""config.json and what a user names in its place."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from ln_audit.errors import FormatError, UsageError
from ln_audit.formats.bounded_json import Members, parse_object

if TYPE_CHECKING:
    from ln_audit.core import Source

FILE = "config.json"
OTHERS = ("params.json",)  # of releases that have no such file: Meta's and Mistral's own
MAX_CONFIG = 10_000_000  # bytes; the longest known, with per-layer quantization tables, are a tenth of that


MAX_DEPTH = 64  # the deepest known configs nest six levels


@dataclass(frozen=True, slots=True)
class Config:
    """A model's configuration, from the file `where`. Of the keys in `repeated` it has several: the last counts.

    `spelt` is what the file itself calls keys that it has under other names (GGUF's, params.json's); they may stand in `data`
    flat, dotted keys whole.
    """

    data: Mapping[str, object]
    where: str
    repeated: tuple[str, ...] = ()
    spelt: Mapping[str, str] = field(default_factory=dict)

    def at(self, key: str) -> str:
        """The file and the key as the file spells it: the place that messages name."""
        return f"{self.where}: {self.spelt.get(key, key)}"

    def has(self, key: str) -> bool:
        """Whether the key is there, be its value null."""
        return self._find(key)[0]

    def get(self, key: str) -> object:
        """The value of a key, dotted where it is nested (`text_config.rms_norm_eps`), with `.-1` the last of a list
        (`hidden_sizes.-1`); None where missing or null.
        """
        return self._find(key)[1]

    def _find(self, key: str) -> tuple[bool, object]:
        """Nested, as loaders look it up. A dotted key as it stands counts only where we gave the name, never one of a file."""
        there, value = _look_up(self.data, key)
        return (True, self.data[key]) if not there and key in self.spelt and key in self.data else (there, value)


def read_config(source: Source, override: str | None = None) -> Config | None:
    """The config beside the weights, or the local file `override` (`--config`); None where there is none.

    Of another release's file its own keys are read; what they mean is a matter of its layout.

    Numbers that JSON does not have (NaN, Infinity) are kept: transformers reads them too, and checks judge them. Raises
    `FormatError` for what is no JSON object, `UsageError` when `override` cannot be opened.
    """
    if override is not None:
        data, size = _read_local(override)
        return parse_config(data, override, size)
    beside = posixpath.dirname(source.entry or "")
    named = (posixpath.join(beside, name) for name in (FILE, *OTHERS))
    file = next((each for each in named if source.exists(each)), None)
    if file is None:
        return None
    return parse_config(source.read_prefix(file, MAX_CONFIG + 1), file, source.size(file))


def parse_config(data: bytes, where: str, size: int) -> Config:
    """A config from its bytes. Raises `FormatError`."""
    members = parse_object(data, where, size=size, at_most=MAX_CONFIG, what="a model configuration")
    repeated: list[str] = []
    plain = _plain(members, "", repeated)
    if not isinstance(plain, Mapping):  # parse_object gives an object or raises; this tells the type checker
        raise FormatError(f"{where}: expected a JSON object")
    return Config(plain, where, tuple(repeated))


def _plain(value: Any, path: str, repeated: list[str], depth: int = 0) -> object:
    """Members to read-only mappings, the last of equal names winning as in `json.load`."""
    if depth > MAX_DEPTH:
        raise FormatError(f"{path[:80]}: expected at most {MAX_DEPTH} levels of nesting, found more")
    if isinstance(value, Members):
        found: dict[str, object] = {}
        for key, inner in value:
            where = f"{path}.{key}" if path else key
            if key in found:
                repeated.append(where)
            found[key] = _plain(inner, where, repeated, depth + 1)
        return MappingProxyType(found)
    if isinstance(value, list):
        return [_plain(inner, f"{path}[{i}]", repeated, depth + 1) for i, inner in enumerate(value)]
    return value


def _look_up(data: Mapping[str, object], key: str) -> tuple[bool, object]:
    first, dot, rest = key.partition(".")
    if not dot:
        return key in data, data.get(key)
    inner = data.get(first)
    if isinstance(inner, list) and inner and rest == "-1":  # of each stage its width: the last one's
        return True, inner[-1]
    return _look_up(inner, rest) if isinstance(inner, Mapping) else (False, None)


def _read_local(path: str) -> tuple[bytes, int]:
    from ln_audit.sources.disk_file import is_special

    if is_special(path):
        raise UsageError(f"--config {path}: expected a file to read, found no ordinary one")
    try:
        with Path(path).open("rb") as file:
            data = file.read(MAX_CONFIG + 1)
    except (OSError, ValueError) as cause:  # ValueError: a NUL in the path
        reason = cause.strerror.lower() if isinstance(cause, OSError) and cause.strerror else "no path"
        raise UsageError(f"--config {path}: expected a file to read, found {reason}") from cause
    return data, len(data)
