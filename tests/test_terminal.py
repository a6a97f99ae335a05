"""On a terminal: its width, colours that are legible everywhere, and none where it cannot or nobody wants."""

import fcntl
import io
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from pathlib import Path

import pytest

from ln_audit import terminal
from tests.shared import FIXTURES

SCRIPT = str(Path(sys.executable).with_name("ln-audit"))
UNKNOWN = str(FIXTURES / "bad" / "LN001-unknown-family")
BAD = str(FIXTURES / "bad" / "LN101-not-finite")


def seen(*words: str, columns: int = 80, **env: str) -> str:
    """What a person sees who calls ln-audit in a terminal of so many columns."""
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("LN_AUDIT_", "HF_", "COLUMNS", "NO_COLOR"))}
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    with subprocess.Popen(
        [SCRIPT, *words], stdin=theirs, stdout=theirs, stderr=theirs, env=clean | {"TERM": "xterm"} | env
    ) as process:
        os.close(theirs)
        shown = b""
        while True:
            try:
                piece = os.read(ours, 65_536)
            except OSError:  # the other end is closed
                break
            shown += piece
        process.wait(timeout=60)
    os.close(ours)
    return shown.decode().replace("\r\n", "\n")


@pytest.mark.parametrize("columns", [60, 80, 132])
def test_lines_are_as_wide_as_the_terminal_and_hang(columns):
    lines = re.sub(r"\x1b\[\d*m", "", seen("verify", "sample", BAD, "--verbose", columns=columns)).splitlines()
    copied = [line for line in lines if len(line) > columns]
    assert [line for line in copied if " " in line.strip()] == []  # a long path is never broken
    assert "".join(lines).count("would have seen a gain off by") == 1
    hanging = next(at for at, line in enumerate(lines) if "would have seen" in line) + 1
    assert columns == 132 or lines[hanging].startswith(" " * 15)


def test_narrower_than_sixty_columns_nothing_is_broken_further():
    assert seen("verify", "sample", columns=20, NO_COLOR="1") == seen("verify", "sample", columns=60, NO_COLOR="1")


def test_a_table_to_be_copied_is_not_broken():
    shown = seen("verify", UNKNOWN, columns=60)
    assert (
        'norm = [{name = "core.closing_scale", leaf = "", role = "final", kind = "rms_norm", shape = ["hidden_size"]}]\n'
        in shown
    )


def test_colours_are_legible_on_light_and_dark_ground():
    codes = set(re.findall(r"\x1b\[([\d;]*)m", seen("verify", "sample", BAD, UNKNOWN)))
    assert codes == {"32", "31", "35", "0"}  # green, red, magenta: no yellow, white, black, blue, faint or bright


@pytest.mark.parametrize(("words", "env"), [((), {"TERM": "dumb"}), ((), {"NO_COLOR": "1"}), (("--no-color",), {})])
def test_no_escape_where_it_is_not_understood_or_not_wanted(words, env):
    shown = seen("verify", "sample", BAD, *words, **env)
    assert "\x1b" not in shown
    assert "FAIL" in shown


def test_progress_is_drawn_where_a_terminal_can(monkeypatch):
    class Stream(io.StringIO):
        def __init__(self, tty):
            super().__init__()
            self.tty = tty

        def isatty(self):
            return self.tty

    told = []
    for tty, term, no_color in ((True, "xterm", ""), (True, "dumb", ""), (True, "xterm", "1"), (False, "xterm", "")):
        monkeypatch.setenv("TERM", term)
        monkeypatch.setenv("NO_COLOR", no_color)
        told.append(
            (
                terminal.obeys_escapes(Stream(tty)),
                terminal.shows_colour(Stream(tty)),
                terminal.width(Stream(tty)) is None,
            )
        )
    assert told == [(True, True, False), (False, False, False), (True, False, False), (False, False, True)]
    assert (terminal.on_terminal(None), terminal.width(None)) == (False, None)


def test_colour_is_added_to_the_word_and_takes_nothing_away():
    text = "PASS  x\n    ✗ LN001: y\n  plain\n"
    assert terminal.coloured(text) == "\x1b[32mPASS\x1b[0m  x\n    \x1b[31m✗\x1b[0m LN001: y\n  plain\n"


@pytest.mark.parametrize(
    ("encoding", "told"),
    [
        ("utf-8", "✓ ✗ – (7×) ▁▄█│ → … ± é".encode()),
        ("ascii", b"+ x - (7x) .=#| -> ... +- \\xe9"),
        ("latin-1", "+ x - (7×) .=#| -> ... ± é".encode("latin-1")),
        ("cp1252", "+ x – (7×) .=#| -> … ± é".encode("cp1252")),
        (None, "✓ ✗ – (7×) ▁▄█│ → … ± é".encode()),
    ],
)
def test_what_an_encoding_lacks_is_readable(encoding, told):
    assert terminal.encoded("✓ ✗ – (7×) ▁▄█│ → … ± é", encoding) == told


def test_no_line_of_ours_needs_a_question_mark():
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("LN_AUDIT_", "HF_"))}
    for words in (["verify", "sample"], ["report", "sample"], ["explain"]):
        made = subprocess.run(
            [SCRIPT, *words], env=clean | {"PYTHONIOENCODING": "ascii"}, capture_output=True, timeout=60, check=True
        )
        assert b"\\u" not in made.stdout, words
        assert b" ? " not in made.stdout, words
