"""One file behind a URL, read by range and pinned to the ETag and size of its first answer.

Never parses from a wrong offset: an answer counts only when it says which bytes it holds, and these were asked for.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ln_audit.core import Range
from ln_audit.errors import SourceError
from ln_audit.sources import faults
from ln_audit.sources.file_names import printable
from ln_audit.sources.spans import check_bounds, content_range, joined
from ln_audit.sources.wire import WHOLE_FILE_CAP, Answer, Ask, Wire

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

FIRST_BYTES = 16 * 1024  # holds GPT-2's header of 14,291 bytes and fits TCP's first window more or less
_EXPIRED = frozenset({401, 403, 410})  # how CDNs answer a signed URL after its hour
_BAD_SERVER = (
    "the server, or a proxy in between, serves ranges wrongly: try again, or use --full for a model on the Hub"
)
_HTML_STARTS = (b"<!doctype html", b"<html")


@dataclass
class RemoteFile:
    """`memory` holds the file's first bytes as far as they were read: ranges inside cost nothing.

    `renew` gives the address to go to when a signed URL has expired.
    """

    wire: Wire
    ask: Ask
    url: str
    size: int | None = None
    renew: Callable[[], str] | None = None
    memory: bytes = b""
    version: str | None = None  # ETag, else Last-Modified
    pinned_elsewhere: bool = False  # by the commit in its address

    def measure(self) -> int:
        """Size in bytes; one request when no answer has told it yet. Raises `SourceError`."""
        if self.size is None:
            self.prefix(FIRST_BYTES)
        return self._known_size()

    def prefix(self, at_most: int) -> bytes:
        """The first bytes. The first request takes `FIRST_BYTES` whatever was asked. Raises `SourceError`."""
        goal = max(at_most, FIRST_BYTES)
        if self.size is not None:
            goal, at_most = min(goal, self.size), min(at_most, self.size)
        if len(self.memory) >= at_most:
            return self.memory[:at_most]
        return (self.memory + self._fetch(Range(len(self.memory), goal)))[:at_most]

    def read(self, ranges: Sequence[Range]) -> list[bytes]:
        """The bytes of each range, neighbours in one request. Raises `SourceError`."""
        check_bounds(self.ask.label, ranges, self.measure())
        found: list[bytes] = [self.memory[r.begin : r.end] for r in ranges]
        for span in joined(ranges, start=len(self.memory)):
            here = span.range.end <= len(self.memory)  # since an answer was the whole file
            data = self.memory[slice(*span.range)] if here else self._fetch(span.range)
            for i in span.members:
                begin = max(ranges[i].begin, span.range.begin) - span.range.begin
                piece = data[begin : ranges[i].end - span.range.begin]
                found[i] = found[i] + piece if found[i] else piece
        return found

    def _fetch(self, wanted: Range) -> bytes:
        ask = replace(self.ask, range=wanted)
        answer = self.wire.follow(self.url, ask)[-1]
        if answer.status in _EXPIRED and self.renew is not None:
            fresh = self.renew()
            if fresh != self.url:
                answer = self.wire.follow(fresh, ask)[-1]
        data = self.accept(answer, wanted)
        self.url = answer.url  # where redirects ended
        return data

    def accept(self, answer: Answer, wanted: Range) -> bytes:
        """The wanted bytes out of an answer (fewer where the file ends), after all that it claims was checked."""
        if answer.status == 416 and answer.headers.get("content-range", "").strip() == "bytes */0":
            self._pin(answer, 0)  # how servers answer a range of an empty file
            return b""
        if answer.status not in {200, 206}:
            raise self._refused(answer, wanted)
        encoding = answer.headers.get("content-encoding", "identity").lower()
        if encoding != "identity":
            raise self._wrong(f"expected the file's own bytes, found them encoded as {printable(encoding)!r}")
        if is_page(answer, 0 if answer.status == 200 else wanted.begin):
            raise self._wrong(
                "expected the file, found an HTML page",
                "a login page, an error page, or a page about the file instead of the file itself",
            )
        return self._from_whole(answer, wanted) if answer.status == 200 else self._from_part(answer, wanted)

    def _from_part(self, answer: Answer, wanted: Range) -> bytes:
        told = content_range(answer.headers.get("content-range"))
        if told is None:
            found = printable(answer.headers.get("content-range", "none"))
            raise self._wrong(f"expected Content-Range bytes {wanted.begin}-{wanted.end - 1}, found {found!r}")
        got, total = told
        self._pin(answer, self._known_size() if total is None else total)
        end = min(wanted.end, self._known_size())
        if got != Range(wanted.begin, end):
            raise self._wrong(f"expected bytes {wanted.begin}-{end - 1}, found bytes {got.begin}-{got.end - 1}")
        if len(answer.body) != end - wanted.begin:
            way = "longer than asked" if len(answer.body) > end - wanted.begin else "cut short"
            raise self._wrong(f"expected {end - wanted.begin} bytes, found {len(answer.body)}: the answer is {way}")
        if wanted.begin == len(self.memory) and end <= WHOLE_FILE_CAP:
            self.memory += answer.body
        return answer.body

    def _from_whole(self, answer: Answer, wanted: Range) -> bytes:
        """A server that ignores Range: a small file is taken whole, a large one refused."""
        if not answer.whole:
            size = printable(answer.headers.get("content-length", "an unknown number of"))
            raise self._wrong(
                f"expected bytes {wanted.begin}-{wanted.end - 1} (206), found the whole file (200, {size} bytes)",
                f"the server ignores Range and the file is longer than the {self.ask.cap} bytes we take: "
                "download it, or use --full for a model on the Hub",
            )
        self._pin(answer, len(answer.body))
        self.memory = answer.body
        return answer.body[wanted.begin : wanted.end]

    def _pin(self, answer: Answer, size: int) -> None:
        if self.size is not None and self.size != size:
            raise self._wrong(
                f"expected a file of {self.size} bytes, found one of {size}", "it changed, or was cut short"
            )
        version = answer.headers.get("etag") or answer.headers.get("last-modified")
        if version is None and self.version is None and self.size is not None and not self.pinned_elsewhere:
            raise self._wrong(
                "expected an ETag or Last-Modified that pins several reads to one version, found neither",
                "download the file and verify the copy",
            )
        if self.version is not None and version != self.version:
            raise self._wrong(
                f"expected the version first read ({printable(self.version)}), found {printable(version or 'no ETag')}",
                "the file changed while it was read: run again",
            )
        self.size, self.version = size, version

    def _refused(self, answer: Answer, wanted: Range) -> SourceError:
        if answer.status == 416:
            found = printable(answer.headers.get("content-range", "no size"))
            return self._wrong(
                f"expected bytes {wanted.begin}-{wanted.end - 1}, found range not satisfiable (416, {found})"
            )
        return faults.refused(self.ask.label, answer)

    def _wrong(self, what: str, hint: str = _BAD_SERVER) -> SourceError:
        return SourceError(f"{self.ask.label}: {what}", hint=hint)

    def _known_size(self) -> int:
        if self.size is None:
            raise self._wrong("expected an answer that tells the file's size, found none")
        return self.size


def is_page(answer: Answer, begin: int) -> bool:
    """Whether an answer that starts at byte `begin` is an HTML page: by what it says it is, or by its first bytes."""
    told = answer.headers.get("content-type", "").lower().startswith("text/html")
    return told or (begin == 0 and answer.body[:64].lstrip().lower().startswith(_HTML_STARTS))
