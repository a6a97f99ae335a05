"""On which line of a TOML text a key stands: `tomllib` does not tell, and an error without it is a search through a long file."""

from __future__ import annotations

import re
import tomllib
from itertools import count
from typing import TYPE_CHECKING

from ln_audit.formats.bounded_toml import OPAQUE

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

Path = tuple[str | int, ...]  # ("target", 0, "lock"): keys, and places in arrays

_BLANK = re.compile(r"(?:[ \t\r\n]|#[^\n]*+)*+")
_KEY = re.compile(r"""[ \t]*+("(?:[^"\\\n]|\\.)*+"|'[^'\n]*+'|[A-Za-z0-9_-]++)[ \t]*+""")
_PLAIN = re.compile(r"[^,\]}#\n]*+")  # a number, a date, true: whatever is no string


def lines(text: str) -> Mapping[Path, int]:
    """Every key and every item of an array, by its path, with the line (from 1) on which it is first named.

    The text must be one that `tomllib` reads; of any other the answer means nothing.
    """
    return _Walk(text).found


class _Walk:
    """One walk through the text. It trusts that the text is TOML, and only looks for where things begin and end."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.found: dict[Path, int] = {}
        self._rows: dict[Path, int] = {}  # [[path]] → its last row
        self._counted, self._line = 0, 1
        table: Path = ()
        at = self._blank(0)
        while at < len(text):
            if text[at] == "[":
                table, at = self._header(at)
            else:
                path, at = self._keys(table, at)
                at = self._value(path, at + 1)
            at = self._blank(at)

    def _header(self, at: int) -> tuple[Path, int]:
        """`[path]` or `[[path]]`: the table that the lines below it are of, and where they begin."""
        of_array = self.text.startswith("[[", at)
        path, end = self._keys((), at + 1 + of_array, rows=of_array)
        return path, end + 1 + of_array

    def _keys(self, table: Path, at: int, *, rows: bool = False) -> tuple[Path, int]:
        """A dotted key below a table; with `rows` its last word begins a new row of an array of tables."""
        start, path = at, table
        while key := _KEY.match(self.text, at):
            path = (*path, _word(key[1]))
            self._note(path, start)
            at = key.end()
            last = not self.text.startswith(".", at)
            if rows and last:
                self._rows[path] = self._rows.get(path, -1) + 1
            if path in self._rows:
                path = (*path, self._rows[path])
                self._note(path, start)
            if last:
                break
            at += 1
        return path, at

    def _value(self, path: Path, at: int) -> int:
        """Walks over a value and notes what is in it; gives where it ends. No recursion: arrays may be deep."""
        open_: list[tuple[Path, Iterator[int] | None]] = []  # arrays and, without a count, inline tables around `at`
        while True:
            at = self._blank(at)
            if self.text[at] in "[{":
                open_.append((path, count() if self.text[at] == "[" else None))
                at += 1
            else:
                at = self._past(OPAQUE, at) or self._past(_PLAIN, at)
            at = self._closed(open_, at)
            if not open_:
                return at
            path, places = open_[-1]
            if places is None:
                path, at = self._keys(path, at)
                at += 1  # the equals sign
            else:
                path = (*path, next(places))
                self._note(path, at)

    def _closed(self, open_: list[tuple[Path, Iterator[int] | None]], at: int) -> int:
        """Past commas and closing brackets, up to the next item or to the end of the whole value."""
        while open_:
            at = self._blank(at)
            if self.text[at] in "]}":
                open_.pop()
            elif self.text[at] != ",":
                break
            at += 1
        return at

    def _blank(self, at: int) -> int:
        return self._past(_BLANK, at)

    def _past(self, pattern: re.Pattern[str], at: int) -> int:
        """Where a match at this place ends; 0 where there is none."""
        match = pattern.match(self.text, at)
        return 0 if match is None else match.end()

    def _note(self, path: Path, at: int) -> None:
        self._line += self.text.count("\n", self._counted, at)
        self._counted = at
        self.found.setdefault(path, self._line)


def _word(written: str) -> str:
    """A key as it is meant: quotation marks taken off, escapes read."""
    if written[0] == "'":
        return written[1:-1]
    if written[0] == '"':
        read: str = tomllib.loads(f"key = {written}")["key"]
        return read
    return written
