"""docs/family-faults.md: model types × faults, with everything that went wrong and everything that cannot be seen."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from scripts.family_faults.expected import BAD, OUTCOMES
from scripts.family_faults.registry import FAULTS
from scripts.family_faults.results import MODEL

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from scripts.family_faults.results import Record

SIGNS = {
    "passes": "✓", "named": "✓", "warned": "w", "cannot tell": "?", "not seen": "○", "unexplained": "u", "other cause": "≈",
    "false alarm": "✗", "missed": "✗", "not here": "–",
}  # fmt: skip
ORDER = "✓w?○u≈✗–"  # the best first; a cell shows the worst of its trials
HEAD = """\
# Which faults are seen in which family

Written by `python -m scripts.family_faults --page` from what `make test-families` measured. Each model type is built tiny by
transformers {transformers} (torch {torch}, CPU), its norms are given random values and an epsilon that is not the default, it is saved with
`save_pretrained` and run in float32 and bfloat16 with hooks on its norms. What was saved has to pass, and with one fault planted
it has to fail by that fault's own name. Value faults are audited with a float32 and a bfloat16 recording that hold nothing but
the rows, and with one that carries digests, kind and epsilon; in the final norm and in a block norm of the first layer. (Where
a bfloat16 model adds up in float32, as Mamba does, its recording carries digests too.) "Own size" is the class's default config:
names and shapes alone, structure alone.

| sign | what became of the fault |
|---|---|
| ✓ | failed by the right rule, subject and cause (healthy: passed without a warning) |
| w | warned of, as it should be: it may be meant so |
| ? | at least one recording cannot tell, and the report says so |
| ○ | cannot be seen, with the reason below |
| u | failed, and it was said that nothing explains it |
| ≈ | failed, and another cause was named that explains it as well (listed below) |
| ✗ | missed, or a false alarm |
| – | this model cannot have it (no bias, one norm in a layer, epsilon fixed in the code …) |

"""


def text(done: Mapping[tuple[str, str], Record]) -> str:
    """The page."""
    from importlib.metadata import version

    models = sorted({model_type for model_type, fault in done if fault == MODEL})
    measured = [name for name in models if done[name, MODEL].family is not None]
    parts = [
        HEAD.format(transformers=version("transformers"), torch=version("torch").partition("+")[0]),
        summary(measured, done),
        "## Faults\n\n" + "\n".join(by_fault(measured, done)) + "\n",
        "## Model types\n\n" + "\n".join(by_model(measured, done)) + "\n",
        *_lists(models, measured, done),
    ]
    return "\n".join(parts)


def summary(measured: Sequence[str], done: Mapping[tuple[str, str], Record]) -> str:
    """The numbers in a sentence."""
    words = Counter(trial.word for record in _of(measured, done) for trial in record.trials)
    words.pop("not here", None)
    families = {done[name, MODEL].family for name in measured}
    told = ", ".join(f"{words[word]:,} {word}" for word in OUTCOMES)
    return f"{len(measured)} model types of {len(families)} families, {sum(words.values()):,} audits: {told}.\n"


def by_fault(measured: Sequence[str], done: Mapping[tuple[str, str], Record]) -> Iterator[str]:
    """One row for each fault: its column in the next table, and how many cells of that have which sign."""
    yield f"| fault | column | {' | '.join(ORDER)} |"
    yield "|---" * (len(ORDER) + 2) + "|"
    for fault in FAULTS:
        signs = Counter(cell(done.get((name, fault.name))) for name in measured)
        yield f"| {fault.name} | {fault.short} | {' | '.join(str(signs[sign]) for sign in ORDER)} |"


def by_model(measured: Sequence[str], done: Mapping[tuple[str, str], Record]) -> Iterator[str]:
    """One row for each model type."""
    yield f"| model type | family | audits | {' | '.join(fault.short for fault in FAULTS)} |"
    yield "|---" * (len(FAULTS) + 3) + "|"
    for name in measured:
        yield row(name, done)


def row(name: str, done: Mapping[tuple[str, str], Record]) -> str:
    """The row of one model type."""
    audits = sum(trial.word != "not here" for record in _of([name], done) for trial in record.trials)
    cells = " | ".join(cell(done.get((name, fault.name))) for fault in FAULTS)
    return f"| {name} | {done[name, MODEL].family} | {audits} | {cells} |"


def cell(record: Record | None) -> str:
    """The sign of the worst that came of one fault in one model type; trials that could not be made count only alone."""
    signs = {SIGNS[trial.word] for trial in record.trials} if record is not None else {"–"}
    real = signs - {"–"} or signs
    return max(real, key=ORDER.index)


def _of(models: Sequence[str], done: Mapping[tuple[str, str], Record]) -> Iterator[Record]:
    for name in models:
        yield from (done[name, fault.name] for fault in FAULTS if (name, fault.name) in done)


def _lists(models: Sequence[str], measured: Sequence[str], done: Mapping[tuple[str, str], Record]) -> Iterator[str]:
    """What is behind the signs that are no ✓: each with its message."""
    yield _titled("False alarms and misses", list(_trials(measured, done, BAD)))
    yield _titled("Other causes", list(_trials(measured, done, ("other cause",))))
    reasons = {
        f"{fault.name}: {expected.reason}"
        for fault in FAULTS
        for expected in fault.expected.values()
        if expected.reason
    }
    vague = {f"{record.model_type}: {record.fault}: {trial.message}" for record in _of(measured, done)
             for trial in record.trials if trial.word == "not seen" and trial.message}  # fmt: skip
    yield _titled("What cannot be seen, and why", sorted(reasons) + sorted(vague))
    notes = [f"{name}: {note}" for name in measured for note in done[name, MODEL].notes]
    yield _titled("Not run, or not whole", notes)
    yield _titled(
        "Not measured",
        [f"{name}: {note}" for name in models if name not in measured for note in done[name, MODEL].notes],
    )


def _trials(measured: Sequence[str], done: Mapping[tuple[str, str], Record], words: Sequence[str]) -> Iterator[str]:
    for record in _of(measured, done):
        for trial in record.trials:
            if trial.word in words:
                where = f"{record.model_type}: {record.fault}: {trial.norm} ({trial.recording})"
                yield f"{where}: {trial.word}: {trial.message}"


def _titled(title: str, lines: Sequence[str]) -> str:
    return f"## {title}\n\n" + ("\n".join(f"- {line}" for line in lines) or "None.") + "\n"
