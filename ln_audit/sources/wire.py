"""Requests, one at a time, through `huggingface_hub`'s session: bounded, counted, retried a little.

The session brings proxies, certificates and offline mode as people have set them up for the Hub. Its own retries are
not used: they wait as long as a server says, and would not show in the account of what went over the wire.
"""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import urljoin, urlsplit

from ln_audit import __version__
from ln_audit.errors import SourceError
from ln_audit.sources import faults
from ln_audit.sources.file_names import printable

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ln_audit.core import Range

CONNECT_SECONDS = 10.0
READ_SECONDS = 30.0  # longest silence within an answer
WHOLE_FILE_CAP = 8_000_000  # bytes of a whole file that we take from a server which ignores Range
_OTHER_CAP = 64 * 1024  # bytes of a redirect's or an error's body: read so that the connection can be used again
_SLOWEST = 10_000  # bytes per second; a server that drips is given up on
_BACKOFF = (0.25, 1.0)  # seconds before the second and the third attempt
_RETRIED = frozenset({500, 502, 503, 504})
_LONGEST_WAIT = 60.0  # seconds we wait for a 429 to end; coming back earlier than told prolongs the block
_WAIT_UNTOLD = 2.0  # seconds, when a 429 does not say
_LONGEST_BODY = 60.0  # seconds for one body; what is read by range is small
_MAX_HOPS = 8  # a renamed repository costs one redirect, a small file another, a mirror a third
_REDIRECTS = frozenset({301, 302, 303, 307, 308})

Origin = tuple[str, str, int | None]


@dataclass(frozen=True, slots=True)
class Ask:
    """What is asked for: `label` as messages call it, `file` as the account lists it, `range` None for all of it."""

    label: str
    file: str
    range: Range | None = None
    cap: int = WHOLE_FILE_CAP  # longest body taken from a 200


@dataclass(frozen=True, slots=True)
class Answer:
    """One response, its body cut at what was allowed; `whole` says that the body ended within that."""

    url: str
    status: int
    headers: Mapping[str, str]  # keys match in any case
    body: bytes
    whole: bool

    @property
    def redirect(self) -> str | None:
        """Where it points to, as an absolute URL; None when it is no redirect. Raises `SourceError` for what is no URL."""
        location = self.headers.get("location")
        if self.status not in _REDIRECTS or not location:
            return None
        try:
            return urljoin(self.url, location)
        except ValueError as error:
            raise SourceError(
                f"{printable(self.url)}: expected a redirect to a URL, found {printable(location)!r}"
            ) from error


def request_headers(token: str | None = None) -> dict[str, str]:
    """Who we are, and the token for a host that may see it."""
    who = {"user-agent": f"ln-audit/{__version__}; python/{sys.version_info[0]}.{sys.version_info[1]}"}
    return who | ({"authorization": f"Bearer {token}"} if token else {})


def origin(url: str) -> Origin:
    """Scheme, host and port: what a credential belongs to. Raises `SourceError` for a URL that has none."""
    try:
        parts = urlsplit(url)
        port = parts.port or {"http": 80, "https": 443}.get(parts.scheme)
    except ValueError as error:
        raise SourceError(f"{printable(url)}: expected a URL, found {error}") from error
    return parts.scheme, (parts.hostname or "").lower(), port


@dataclass
class Wire:
    """Sends requests and keeps their account. `headers_for(url)` alone decides who gets which headers: the token."""

    headers_for: Callable[[str], Mapping[str, str]]
    requests: int = 0
    received: dict[str, int] = field(default_factory=dict)  # file → bytes of all bodies that came for it

    def follow(self, url: str, ask: Ask, stop: Callable[[str], bool] = lambda _: False) -> list[Answer]:
        """All answers on the way; the last is no redirect, or one to where `stop` says so. Raises `SourceError`."""
        hops: list[Answer] = []
        while len(hops) < _MAX_HOPS:
            hops.append(self.get(url, ask))
            target = hops[-1].redirect
            if target is None:
                return hops
            scheme = origin(target)[0]
            if scheme not in {"http", "https"} or (origin(url)[0] == "https" and scheme == "http"):
                raise SourceError(
                    f"{ask.label}: expected a redirect to an https address, found one to {printable(scheme)!r}"
                )
            if stop(target):
                return hops
            url = target
        raise SourceError(
            f"{ask.label}: expected the file after at most {_MAX_HOPS} redirects, found another one: a redirect loop",
            hint="the server or a proxy in between is set up wrongly",
        )

    def get(self, url: str, ask: Ask) -> Answer:
        """One answer, after at most three attempts and one wait for a 429. Raises `SourceError` when none came."""
        pauses, waited = iter(_BACKOFF), False
        while True:
            try:
                answer = self._send(url, ask)
            except faults.transport_errors() as error:
                pause = next(pauses, None) if faults.is_passing(error) else None
                if pause is None:
                    raise faults.no_answer(ask.label, url, error) from error
            else:
                if answer.status == 429 and not waited:
                    pause, waited = _wait_told(answer), True
                else:
                    pause = next(pauses, None) if answer.status in _RETRIED else None
                if pause is None:
                    return answer
            time.sleep(pause)

    def _send(self, url: str, ask: Ask) -> Answer:
        headers = {**self.headers_for(url), "accept-encoding": "identity"}  # CDNs ignore Range when gzip is accepted
        if ask.range is not None:
            headers["range"] = f"bytes={ask.range.begin}-{ask.range.end - 1}"
        session = faults.session(ask.label)
        timeout = (CONNECT_SECONDS, READ_SECONDS, READ_SECONDS, CONNECT_SECONDS)
        self.requests += 1
        try:
            with session.stream("GET", url, headers=headers, timeout=timeout, follow_redirects=False) as response:
                body, whole = self._body(response, ask)
                return Answer(url, response.status_code, response.headers, body, whole)
        except faults.unsent_errors():
            self.requests -= 1  # nothing reached the wire
            raise

    def _body(self, response: Any, ask: Ask) -> tuple[bytes, bool]:
        """The raw body up to the limit of its kind; more is left unread and the connection dropped."""
        limit = _limit(response.status_code, ask)
        declared = response.headers.get("content-length", "")
        if response.status_code == 200 and declared.isdecimal() and int(declared) > limit:
            return b"", False
        expected = min(limit, int(declared)) if declared.isdecimal() and len(declared) < 20 else limit
        parts, size, deadline = [], 0, time.monotonic() + min(READ_SECONDS + expected / _SLOWEST, _LONGEST_BODY)
        for part in response.iter_raw():
            size += len(part)
            self.received[ask.file] = self.received.get(ask.file, 0) + len(part)
            parts.append(part)
            if size > limit:
                return b"".join(parts), False
            if time.monotonic() > deadline:
                raise SourceError(f"{ask.label}: expected {limit} bytes by now, found {size}: the server is too slow")
        return b"".join(parts), True


def told(hops: Sequence[Answer], header: str) -> str | None:
    """The header's value from the last answer on the way that has it."""
    return next((hop.headers[header] for hop in reversed(hops) if header in hop.headers), None)


def _limit(status: int, ask: Ask) -> int:
    if status == 206 and ask.range is not None:
        return ask.range.end - ask.range.begin
    return ask.cap if status == 200 else _OTHER_CAP


def _wait_told(answer: Answer) -> float | None:
    """Seconds to wait for a 429 to end, or None when that is too long."""
    from huggingface_hub.utils import parse_ratelimit_headers

    seconds = answer.headers.get("retry-after", "").strip()
    window = parse_ratelimit_headers(answer.headers)
    if seconds.isdecimal():
        wait = float(seconds)
    elif window is not None and window.remaining == 0:  # the header stands on every answer; only then is it the reason
        wait = float(window.reset_in_seconds)
    else:
        wait = _WAIT_UNTOLD
    return wait if wait <= _LONGEST_WAIT else None
