"""The command: measure what is not measured yet, say what went wrong, and write the page.

Exit code 1 when there is a false alarm, a miss or another cause than the planted one.
"""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from scripts.family_faults import page, results, runner, tiny_models
from scripts.family_faults.expected import BAD

if TYPE_CHECKING:
    from collections.abc import Sequence

    from scripts.family_faults.results import Record


def main(arguments: Sequence[str]) -> int:
    """Run the command and give its exit code."""
    parser = argparse.ArgumentParser(prog="family_faults", description=__doc__)
    parser.add_argument("model_types", nargs="*", help="some model types; without any, all that are built")
    parser.add_argument("--shard", default="1/1", help="K/N: every N-th model type, from the K-th on")
    parser.add_argument("--again", action="store_true", help="only model types that went wrong when last measured")
    parser.add_argument("--page", action="store_true", help="only write docs/family-faults.md from what was measured")
    parser.add_argument("-v", "--verbose", action="store_true", help="every trial, not only what went wrong")
    asked = parser.parse_args(arguments)
    if asked.page:
        done = results.current(results.load(), results.code())
        (results.ROOT / "docs" / "family-faults.md").write_text(page.text(done), encoding="utf-8")
        return 0
    wanted = asked.model_types or tiny_models.model_types()
    if asked.again:
        wrong = {record.model_type for record in results.load().values() if _bad(record)}
        wanted = [model_type for model_type in wanted if model_type in wrong]
    return 1 if _measure(runner.shard(wanted, asked.shard), asked.shard, verbose=asked.verbose) else 0


def _measure(model_types: Sequence[str], part: str, *, verbose: bool) -> int:
    """Measure these, print what went wrong, and count it."""
    done, code = results.load(), results.code()
    file = results.CACHE / f"results-{part.replace('/', '-of-')}.jsonl"
    wrong = 0
    for number, model_type in enumerate(model_types, 1):
        _progress(f"{number}/{len(model_types)} {model_type}")
        keyed = runner.keys(model_type, code)
        faults = runner.lacking(model_type, done, keyed)
        for record in runner.measured(model_type, faults, keyed) if faults else ():
            done[record.model_type, record.fault] = record
            results.append([record], file)
        for record in (each for each in done.values() if each.model_type == model_type):
            wrong += len(_bad(record))
            _print(record, verbose=verbose)
    _progress("")
    print(f"{len(model_types)} model types, {wrong} trials went wrong")
    return wrong


def _bad(record: Record) -> list[str]:
    return [trial.norm for trial in record.trials if trial.word in BAD]


def _print(record: Record, *, verbose: bool) -> None:
    for note in record.notes:
        print(f"{record.model_type}: {note}")
    for trial in record.trials:
        if verbose or trial.word in BAD:
            where = f"{record.model_type}: {record.fault}: {trial.norm} ({trial.recording or 'not planted'})"
            print(f"{where}: {trial.word}: {trial.message}", flush=True)


def _progress(text: str) -> None:
    """One line that is written over, on a terminal only."""
    if sys.stderr.isatty():
        print(f"\r\x1b[K{text}", end="", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
