"""Runs a page: one folder, its blocks one after the other, as a reader would."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from typing import TYPE_CHECKING, Any

from tests.docs.runner.blocks import commands, fits
from tests.shared import ROOT

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from tests.docs.runner.blocks import Block, Command

EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
OTHERS = {"onnxruntime"}  # what a page may ask pip for besides ours
NOWHERE = "http://127.0.0.1:9"  # the Hub of a page that says none: nothing reaches the network


class Session:
    """A page's folder, its Python names, and the exit code of the command before.

    `elsewhere`: commands and first lines of code that another test runs, by that test. `env` is added to a clean environment.
    """

    def __init__(
        self,
        folder: Path,
        names: Mapping[str, Any] | None = None,
        env: Mapping[str, str] | None = None,
        elsewhere: Mapping[str, str] | None = None,
    ) -> None:
        self.folder = folder
        self.names = {"__name__": "page", **(names or {})}
        self.elsewhere = elsewhere or {}
        self.code = 0
        clean = {name: value for name, value in os.environ.items() if not name.startswith(("LN_AUDIT_", "HF_"))}
        path = f"{os.path.dirname(sys.executable)}{os.pathsep}{clean['PATH']}"  # noqa: PTH120 - not through the link
        self.env = clean | {
            "PATH": path,
            "HF_ENDPOINT": NOWHERE,
            "HF_HUB_DISABLE_XET": "1",
            "NO_COLOR": "1",
            **(env or {}),
        }

    def run(self, block: Block) -> None:
        """One block; an AssertionError says what was expected there."""
        if block.title and block.language == "diff":
            self._change(block)
        elif block.title:
            file = self.folder / block.title
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(block.text, encoding="utf-8")
        elif block.language == "python":
            if block.text.partition("\n")[0] in self.elsewhere:
                return
            exec(compile(block.text, block.place, "exec"), self.names)
        elif block.language in ("console", "sh", ""):
            for command in commands(block):
                self._command(block, command)
            assert self.code == 0, f"{block.place}: ends with exit code {self.code}, and does not show it"

    def _command(self, block: Block, command: Command) -> None:
        words = command.words.partition(" #")[0].strip()
        if words.startswith("pip install "):
            refuse_unknown(words)
            return
        if words == "echo $?":
            assert command.shown == (str(self.code),), f"{block.place}: exit code {self.code}, shown {command.shown}"
            self.code = 0
            return
        assert self.code == 0, f"{block.place}: before {words!r}: exit code {self.code}, and `echo $?` does not show it"
        if words in self.elsewhere:
            return
        made = subprocess.run(
            ["bash", "-c", words],
            cwd=self.folder,
            env=self.env,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        self.code = made.returncode
        if command.shown is None:
            assert (words, made.returncode, made.stderr) == (words, 0, ""), block.place
        else:
            printed = made.stdout + made.stderr
            shown = "\n".join(command.shown)
            assert fits(command.shown, printed), f"{block.place}: {words}\n--- shown\n{shown}\n--- printed\n{printed}"

    def _change(self, block: Block) -> None:
        """Each part of the diff (`@@` between them) must be found once, by its context and what it takes away."""
        file = self.folder / block.title
        text = file.read_text(encoding="utf-8")
        for part in re.split(r"^@@.*\n", block.text, flags=re.MULTILINE):
            lines = part.splitlines()
            before = "".join(f"{line[1:]}\n" for line in lines if line[:1] in (" ", "-", ""))
            after = "".join(f"{line[1:]}\n" for line in lines if line[:1] in (" ", "+", ""))
            assert before != after, f"{block.place}: expected a change"
            assert text.count(before) == 1, (
                f"{block.place}: expected once in {block.title}, found {text.count(before)}:\n{before}"
            )
            text = text.replace(before, after)
        file.write_text(text, encoding="utf-8")


def refuse_unknown(words: str) -> None:
    """What a page asks pip for has to be ours, with extras that there are, or known by name."""
    for asked in words.partition(" #")[0].split()[2:]:
        ours = re.fullmatch(r'"?ln-audit(?:\[([\w,-]+)\])?"?', asked)
        if ours is None:
            assert asked in OTHERS, f"{words}: expected ln-audit or one of {sorted(OTHERS)}, found {asked}"
        else:
            extras = ours[1].split(",") if ours[1] else []
            assert set(extras) <= set(EXTRAS), f"{words}: expected extras of pyproject.toml, found {extras}"
