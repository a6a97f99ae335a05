"""HTTP/1.1 servers on loopback for tests and benchmarks: answers are values, and the line can be slow.

The slow line is a model: each request waits one round trip, a new connection two more (TCP and TLS 1.3), bodies come at
the line's rate. There is no slow start.
"""

from __future__ import annotations

import os
import threading
import time
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

_CHUNK = 64 * 1024


@dataclass(frozen=True)
class Seen:
    """One request as it arrived. `host`: "hub" or "cdn"; header names in lower case."""

    host: str
    method: str
    path: str
    headers: Mapping[str, str]


@dataclass
class Line:
    """The simulated line: seconds per round trip, and bytes per second (0: as fast as it goes)."""

    latency: float = 0.0
    bytes_per_second: float = 0.0


@dataclass
class Reply:
    """What is sent back. `body` is bytes, or a stretch of a file that is streamed."""

    status: int
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes | tuple[Path, int, int] = b""
    length: int | None = None  # what Content-Length claims, when that is a lie; -1: it is left out

    @property
    def size(self) -> int:
        """Bytes of the body."""
        return len(self.body) if isinstance(self.body, bytes) else self.body[2] - self.body[1]


class Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False

    def __init__(self, name: str, answer: Callable[[Seen], Reply], line: Line, port: int = 0) -> None:
        self.name, self.answer, self.line = name, answer, line
        super().__init__(("127.0.0.1", port), _Handler)

    @property
    def address(self) -> str:
        """Scheme, host and port."""
        return f"http://127.0.0.1:{self.server_address[1]}"

    def start(self) -> None:
        """Serve from a thread until `stop`."""
        threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()

    def stop(self) -> None:
        """Take no more connections."""
        self.shutdown()
        self.server_close()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that hangs up early is no news."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: Server

    def setup(self) -> None:
        super().setup()
        time.sleep(2 * self.server.line.latency)

    def do_GET(self) -> None:
        headers = {name.lower(): value for name, value in self.headers.items()}
        time.sleep(self.server.line.latency)
        self._send(self.server.answer(Seen(self.server.name, self.command, self.path, headers)))

    do_HEAD = do_GET  # noqa: N815

    def _send(self, reply: Reply) -> None:
        self.send_response(reply.status)
        for name, value in reply.headers.items():
            self.send_header(name, value)
        length = reply.size if reply.length is None else reply.length
        if length >= 0:
            self.send_header("Content-Length", str(length))
        if length != reply.size:
            self.send_header("Connection", "close")
        self.end_headers()
        if self.command != "HEAD":
            self._send_body(reply)
        self.close_connection = self.close_connection or length != reply.size

    def _send_body(self, reply: Reply) -> None:
        """At the pace of the simulated line."""
        if isinstance(reply.body, bytes):
            self.wfile.write(reply.body)
            return
        path, begin, end = reply.body
        started, sent, pace = time.monotonic(), 0, self.server.line.bytes_per_second
        with path.open("rb", buffering=0) as file:
            while begin + sent < end:
                part = os.pread(file.fileno(), min(_CHUNK, end - begin - sent), begin + sent)
                sent += len(part)
                if pace:
                    time.sleep(max(0.0, started + sent / pace - time.monotonic()))
                self.wfile.write(part)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name of the method overridden
        """Nothing on standard error."""
