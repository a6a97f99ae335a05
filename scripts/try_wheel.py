"""Build the wheel, install it without extras into a clean environment, and hold exit codes 0 to 3 to what they should be.

python scripts/try_wheel.py            # exit 0: every call did what it should, through both entrances
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import tomllib
import venv
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
FIXTURES = ROOT / "fixtures"


class Case(NamedTuple):
    """A call, its exit code, and how its standard output or, where that is empty, its standard error begins."""

    words: tuple[str, ...]
    code: int
    begins: str


CASES = (
    Case(("--version",), 0, "ln-audit "),
    Case(("verify", "sample"), 0, "PASS  sample\n"),
    Case(("verify", str(FIXTURES / "good" / "gpt2-sharded")), 0, "PASS  "),
    Case(("verify", str(FIXTURES / "bad" / "LN101-not-finite")), 1, "FAIL  "),
    Case(("verify", "sample", "--eps", "small"), 2, "ln-audit: --eps: expected a number, found 'small'\n"),
    Case(("verify", str(FIXTURES / "hostile" / "safetensors" / "empty")), 3, "INCOMPLETE  "),
    Case(("families", "gpt2"), 0, "gpt2  "),
    Case(("explain", "LN101"), 0, "LN101 not-finite\n"),
)


def built(folder: Path) -> Path:
    """The wheel, in a folder."""
    subprocess.run([sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)], cwd=ROOT, check=True)
    (wheel,) = folder.glob("*.whl")
    return wheel


def installed(wheel: Path, folder: Path) -> Path:
    """Where the programs of a clean environment lie, with the wheel and what it depends on."""
    venv.create(folder, with_pip=True)
    programs = folder / ("Scripts" if os.name == "nt" else "bin")
    pip = [str(programs / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", str(wheel)]
    subprocess.run(pip, check=True)
    return programs


def complaints(entrance: list[str], cases: tuple[Case, ...], cwd: Path) -> list[str]:
    """What each call did that it should not have done."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("LN_AUDIT_", "HF_", "PYTHON"))}
    found = []
    for case in cases:
        made = subprocess.run([*entrance, *case.words], cwd=cwd, env=clean, capture_output=True, text=True, check=False)
        told = made.stdout or made.stderr
        if made.returncode != case.code or not told.startswith(case.begins):
            call = " ".join((Path(entrance[0]).name, *entrance[1:], *case.words))
            begins = told[: len(case.begins)]
            found.append(
                f"{call}: expected exit {case.code} and {case.begins!r}, found {made.returncode} and {begins!r}"
            )
    return found


def extras_found(packages: str) -> list[str]:
    """Packages of an environment (as `pip list --format freeze` prints them) that only an extra asks for."""
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    names = {line.partition("=")[0].lower().replace("_", "-") for line in packages.splitlines()}
    asked = {
        each.partition(">")[0].partition("=")[0].lower()
        for name in ("onnx", "gguf", "record", "fast")
        for each in extras[name]
    }
    return sorted(names & asked)


def main() -> int:
    """Exit 1 with one line for each thing that is not as it should be."""
    with tempfile.TemporaryDirectory() as folder:
        programs = installed(built(Path(folder) / "dist"), Path(folder) / "environment")
        listed = subprocess.run(
            [str(programs / "python"), "-m", "pip", "list", "--format", "freeze", "--disable-pip-version-check"],
            capture_output=True, text=True, check=True,
        )  # fmt: skip
        found = [f"{name}: expected it only with an extra, found it installed" for name in extras_found(listed.stdout)]
        for entrance in ([str(programs / "ln-audit")], [str(programs / "python"), "-m", "ln_audit"]):
            found += complaints(entrance, CASES, Path(folder))
    for line in found:
        print(line, file=sys.stderr)
    print(f"the wheel, installed without extras: {2 * len(CASES)} calls, {len(found)} complaints")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
