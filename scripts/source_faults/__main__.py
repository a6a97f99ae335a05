"""The command: run all trials, say what went wrong, write the page. Exit code 1 for a false alarm, a miss or another cause."""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from typing import TYPE_CHECKING

from scripts.source_faults.models import SPECS
from scripts.source_faults.trial import BAD, trials

if TYPE_CHECKING:
    from collections.abc import Sequence


def main(arguments: Sequence[str]) -> int:
    """Run the command and give its exit code."""
    parser = argparse.ArgumentParser(prog="source_faults", description=__doc__)
    parser.add_argument(
        "families", nargs="*", choices=[*SPECS, []], help="some families; without any, all, and the page"
    )
    parser.add_argument("-v", "--verbose", action="store_true", help="every trial, not only what went wrong")
    asked = parser.parse_args(arguments)
    done = [trial for family in asked.families or SPECS for trial in trials(SPECS[family])]
    for trial in done:
        if trial.word in BAD or (asked.verbose and trial.word != "not here"):
            print(f"{trial.family}: {trial.way.name}: {trial.fault}: {trial.word}: {trial.told}")
    counted = Counter(trial.word for trial in done)
    print(", ".join(f"{count:,} {word}" for word, count in counted.items()))
    if not asked.families:
        from scripts.source_faults import page

        page.write(done)
    return 1 if any(counted[word] for word in BAD) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
