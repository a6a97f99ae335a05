"""docs/source-faults.md: for each container, families × faults, and what is behind every sign that is no ✓."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from scripts.source_faults.artifacts import CONTAINERS
from scripts.source_faults.models import SPECS
from scripts.source_faults.registry import FAULTS, HEALTHY
from scripts.source_faults.trial import BAD, WAYS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from scripts.source_faults.trial import Trial

PAGE = Path(__file__).resolve().parents[2] / "docs" / "source-faults.md"
PEERS = "## The same faults and other tools\n"
SIGNS = {
    "passes": "✓", "named": "✓", "warned": "w", "cannot tell": "?", "not seen": "○", "other cause": "≈", "false alarm": "✗",
    "missed": "✗", "not here": "–",
}  # fmt: skip
ORDER = "✓w?○≈✗–"  # the best first; a cell shows the worst of its trials
_TITLES = {"safetensors": "safetensors", "gguf": "GGUF", "bin": "PyTorch .bin", "onnx": "ONNX", "npz": "NumPy .npz"}
HEAD = """\
# Which faults `--against` names

Written by `make source-faults` (`python -m scripts.source_faults`; a minute, NumPy only). A tiny model of each family is made from the
family's own table, with random norms, and written into each container in that container's own names and convention. What a correct
converter writes has to pass without a warning; with one fault planted, `ln-audit verify ARTIFACT --against SOURCE` has to fail
exactly the norms that were struck, and by this fault's own name. Each cell covers the conversions that end in its container:

{ways}

| sign | what became of the fault |
|---|---|
| ✓ | failed, with the right explanation of the right norms and no other (healthy: passed without a warning) |
| w | warned of, as it should be: it may be meant so |
| ? | in at least one conversion nobody can tell, and the exit code is 3; the reason is below |
| ○ | cannot be seen, with the reason below |
| ≈ | failed, but not by this name |
| ✗ | missed, or a false alarm |
| – | cannot be planted there (no bias, one norm in a layer, no 1 that a convention leaves out …) |

"""


def text(done: Sequence[Trial]) -> str:
    """The page without its second part, which `make bench-peers` writes."""
    ways = "\n".join(f"- {way.name}" for way in WAYS)
    parts = [HEAD.format(ways=ways), summary(done)]
    parts += [f"\n## {_TITLES[each]}\n\n" + "\n".join(_table(done, each)) + "\n" for each in CONTAINERS]
    parts.append("\n## What went wrong\n\n" + _listed(_wrong(done)))
    parts.append("\n## What nobody can tell or see, and why\n\n" + _listed(_reasons(done)))
    return "".join(parts)


def summary(done: Sequence[Trial]) -> str:
    """The numbers in a sentence."""
    words = Counter(trial.word for trial in done if trial.word != "not here")
    told = ", ".join(f"{words[word]:,} {word}" for word in SIGNS if word != "not here")
    return f"{sum(words.values()):,} conversions: {told}.\n"


def cell(trials: Sequence[Trial]) -> str:
    """The sign of the worst of these; those that could not be made count only alone."""
    signs = {SIGNS[trial.word] for trial in trials} or {"–"}
    return max(signs - {"–"} or signs, key=ORDER.index)


def _table(done: Sequence[Trial], container: str) -> Iterator[str]:
    """Faults down, families across."""
    yield "| fault | " + " | ".join(spec.title for spec in SPECS.values()) + " |"
    yield "|---" * (len(SPECS) + 1) + "|"
    for fault in (HEALTHY, *(each.name for each in FAULTS)):
        cells = []
        for family in SPECS:
            mine = [t for t in done if (t.family, t.fault, t.way.artifact[0]) == (family, fault, container)]
            cells.append(cell(mine))
        yield f"| {fault} | {' | '.join(cells)} |"


def _wrong(done: Sequence[Trial]) -> list[str]:
    return [f"{t.family}: {t.way.name}: {t.fault}: {t.word}: {t.told}" for t in done if t.word in BAD]


def _reasons(done: Sequence[Trial]) -> list[str]:
    """Each fault that is behind a w, ? or ○, with how often and why."""
    reasons = {fault.name: {seen.status: seen.why for seen in (fault.seen, *fault.otherwise)} for fault in FAULTS}
    found: Counter[tuple[str, str, str]] = Counter()
    for trial in done:
        status = {"warned": "warn", "cannot tell": "skip"}.get(trial.word)
        if status is not None and trial.fault in reasons:
            found[trial.fault, trial.word, reasons[trial.fault].get(status, "")] += 1
        elif trial.word == "not seen":
            found[trial.fault, trial.word, trial.told] += 1
    return [f"{fault} ({count:,} {word}): {why}" for (fault, word, why), count in sorted(found.items())]


def _listed(lines: Sequence[str]) -> str:
    return ("\n".join(f"- {line}" for line in lines) or "None.") + "\n"


def write(done: Sequence[Trial], page: Path = PAGE) -> None:
    """Write the first part, and keep the second."""
    old = page.read_text(encoding="utf-8") if page.exists() else ""
    peers = f"\n{PEERS}{old.split(PEERS, 1)[1]}" if PEERS in old else ""
    page.write_text(text(done) + peers, encoding="utf-8")
