"""Print one version's section of CHANGELOG.md: the notes of its release.

python scripts/release_notes.py 0.1.0
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

CHANGELOG = Path(__file__).resolve().parent.parent / "CHANGELOG.md"
_SECTION = re.compile(r"^## (?P<version>\S+)[^\n]*\n(?P<notes>.*?)(?=^## |\Z)", re.MULTILINE | re.DOTALL)


def notes(version: str, changelog: str) -> str:
    """The section of a version, without its heading. Raises `LookupError` where there is none, or nothing in it."""
    sections = {found["version"].lower(): found["notes"].strip() for found in _SECTION.finditer(changelog)}
    wanted = version.removeprefix("v").lower()
    if not sections.get(wanted):
        raise LookupError(f"CHANGELOG.md: expected a section {version} with notes, found {', '.join(sections)}")
    return sections[wanted] + "\n"


def main(words: list[str]) -> int:
    """Exit 2 for a wrong call, 1 where the changelog has no such version."""
    if len(words) != 1:
        print("release_notes.py: expected one version, such as 0.1.0", file=sys.stderr)
        return 2
    try:
        sys.stdout.write(notes(words[0], CHANGELOG.read_text(encoding="utf-8")))
    except LookupError as error:
        print(error.args[0], file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
