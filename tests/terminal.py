"""A real shell on a terminal of its own: keys go in, and what a person would see comes out."""

from __future__ import annotations

import contextlib
import os
import pty
import re
import select
import subprocess
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

_ESCAPES = re.compile(r"\x1b(\[[0-?]*[ -/]*[@-~]|\][^\x07]*\x07|[ -/]*[0-~])|[\x07\r]")


class Terminal:
    """A shell; `seen` is all it has shown so far, without colours and cursor movements."""

    def __init__(self, command: list[str], home: Path, path: str) -> None:
        self.seen = ""
        here = {"HOME": str(home), "PATH": path, "TERM": "dumb", "PS1": "ready> ", "LANG": "C.UTF-8"}
        self._file, end = pty.openpty()
        self._shell = subprocess.Popen(
            command, cwd=home, env=here, stdin=end, stdout=end, stderr=end, start_new_session=True
        )
        os.close(end)

    def send(self, keys: str) -> None:
        """Press keys."""
        os.write(self._file, keys.encode())

    def expect(self, pattern: str, seconds: float = 20) -> str:
        """Wait until what was shown since the last call matches; returns the match. Raises `AssertionError` if it never does."""
        end = time.monotonic() + seconds
        while (found := re.search(pattern, self.seen)) is None:
            ready, _, _ = select.select([self._file], [], [], max(0.0, end - time.monotonic()))
            if not ready:
                raise AssertionError(f"expected {pattern!r} within {seconds} s, found {self.seen!r}")
            with contextlib.suppress(OSError):
                self.seen += _ESCAPES.sub("", os.read(self._file, 65536).decode(errors="replace"))
        self.seen = self.seen[found.end() :]
        return found[0]

    def close(self) -> None:
        """End the shell."""
        self._shell.kill()
        self._shell.wait(timeout=20)
        os.close(self._file)
