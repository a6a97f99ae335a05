"""An artifact against its source, norm by norm: what is equal and how, what differs and why."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

import numpy as np

from ln_audit.against.consumers import unchanged
from ln_audit.against.difference import Difference, Twins
from ln_audit.against.equality import equality
from ln_audit.against.explanation import Explanation
from ln_audit.against.pairing import Pair, Pairing, pairing
from ln_audit.against.registry import explained
from ln_audit.against.side import held
from ln_audit.formats.shown import number, unlike

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ln_audit.against.side import Floats, Parameter, Part, Side
    from ln_audit.core import Norm

Expect = Literal["same", "derived"]
_DEEPEST = 4  # levels of nested configs
_NEAR = (
    0.1  # of a whole number, the middle channel's change: training moves a gain that far, and no convention does less
)


@dataclass(frozen=True, slots=True)
class Judged:
    """One parameter of one pair. `how` says in which way it is equal; else `explanation` and `told`, what was seen.

    `unread` says why nothing was compared.
    """

    pair: Pair
    part: Part
    how: str = ""
    told: str = ""
    explanation: Explanation | None = None
    unread: str = ""
    apart: float = 0.0  # the largest difference of two elements; infinite where one is no number
    lost: bool = False  # the artifact has no such tensor, which is said where its own norms are looked for


@dataclass(frozen=True, slots=True)
class Compared:
    """All of it. `stored_without`: of a file that does not say, whether its gains lack the family's offset.

    `written`: (key, the artifact's value, the source's) of every epsilon that the configs of an unknown family hold, and of
    its type.
    """

    pairing: Pairing
    judged: tuple[Judged, ...]
    stored_without: bool | None = None
    written: tuple[tuple[str, object, object], ...] = ()


def compare(artifact: Side, source: Side, expect: Expect, besides: Sequence[Norm] = ()) -> Compared:
    """Pair the norms of both sides, and those that the source has besides, and judge every parameter of every pair."""
    artifact, without = _read_as_it_fits(artifact, source)
    source, _ = _read_as_it_fits(source, artifact)
    paired = pairing(artifact, source, besides)
    both = Twins(artifact, source, paired)
    judged = [_judged(pair, part, both, expect) for pair in paired.pairs for part in _parts(pair)]
    written: tuple[tuple[str, object, object], ...] = ()
    if paired.by_name and paired.pairs:
        ours, theirs = facts(artifact.config), facts(source.config)
        written = tuple((key, ours.get(key), theirs.get(key)) for key in dict.fromkeys((*ours, *theirs)))
    return Compared(paired, tuple(judged), without, written)


def facts(config: Mapping[str, object], path: str = "") -> dict[str, object]:
    """What two configs of an unknown family must say alike: the model's type and every epsilon, nested ones dotted."""
    found: dict[str, object] = {}
    for key, value in config.items():
        if isinstance(value, Mapping):
            found |= facts(value, f"{path}{key}.") if path.count(".") < _DEEPEST else {}
        elif key == "model_type" or "eps" in key.lower():
            found[f"{path}{key}"] = value
    return found


def _parts(pair: Pair) -> Iterator[Part]:
    if pair.artifact.gain is not None or pair.source.gain is not None:
        yield "gain"
    if pair.artifact.bias is not None or pair.source.bias is not None:
        yield "bias"


def _judged(pair: Pair, part: Part, both: Twins, expect: Expect) -> Judged:
    ours, theirs = held(both.artifact, pair.artifact, part), held(both.source, pair.source, part)
    if ours is None or theirs is None:
        return _unread(pair, part, both, ours)
    if (how := equality(ours, theirs)) is not None:
        return Judged(pair, part, how=how)
    difference = Difference(pair, part, ours, theirs, both)
    explanation = explained(difference)
    if explanation is not None and explanation.name == "initial values" and explanation.status == "skip":
        explanation = _reset_or_folded(explanation, pair, both)
    if explanation is not None and explanation.name == "folded scale" and unchanged(pair, both.artifact, both.source):
        told = f"{explanation.text}; but the matrices that read it are the source's: nothing was folded"
        explanation = Explanation(explanation.name, "fail", told, "scales were multiplied into the norms alone")
    if expect == "derived" and explanation is None and difference.whole:
        explanation = _moved_convention(difference)
    if expect == "derived" and difference.whole and (explanation is None or explanation.name not in _NEVER_TRAINED):
        return Judged(pair, part, how=f"trained further: {seen(difference)}")
    return Judged(pair, part, told=seen(difference), explanation=explanation, apart=apart(difference))


_NEVER_TRAINED = ("offset", "initial values", "swapped", "permuted", "truncated", "one bit", "factor")


def _unread(pair: Pair, part: Part, both: Twins, ours: Parameter | None) -> Judged:
    norm, side = (pair.artifact, both.artifact) if ours is None else (pair.source, both.source)
    tensor = getattr(norm, part)
    other = getattr(pair.source if ours is None else pair.artifact, part)
    if tensor is None:
        return Judged(pair, part, told=f"{other} has no counterpart: {norm.name} of {side.file} has no {part}")
    lost = tensor not in side.checkpoint.tensors
    why = "is not there" if lost else "is quantized or could not be read"
    return Judged(pair, part, unread=f"{side.file}: {tensor} {why}", lost=lost and ours is None)


def _moved_convention(difference: Difference) -> Explanation | None:
    """Values that moved, and all of them by about a whole number: trained further, and in the other convention."""
    with np.errstate(invalid="ignore", over="ignore"):
        moved = difference.artifact.exact - difference.source.exact
    middle = float(np.median(moved)) if moved.size else 0.0
    if not np.isfinite(middle):
        return None
    whole = round(middle)
    if difference.part == "bias" or whole == 0 or abs(middle - whole) > _NEAR:
        return None
    if float(np.median(np.abs(moved - middle))) > _NEAR:
        return None
    told = f"offset {whole:+d} in the middle channel beside what training moved: another convention than the source's"
    return Explanation("offset", "fail", told, "was the family's 1 added once too often, or never?")


def _reset_or_folded(undecided: Explanation, pair: Pair, both: Twins) -> Explanation:
    """A gain of ones: reset where the matrices that read it are the source's; else nobody can tell from the files."""
    same = unchanged(pair, both.artifact, both.source)
    if same:
        told = "every gain is 1, where the source's were trained, and the matrices that read it are unchanged: it was reset"
        return Explanation(undecided.name, "fail", told, "a loader did not find it: convert again")
    known = (
        "the matrices that read it differ too" if same is False else "the matrices that read it could not be compared"
    )
    return replace(undecided, text=f"{undecided.text} ({known})")


def _read_as_it_fits(side: Side, other: Side) -> tuple[Side, bool | None]:
    """A side whose files do not say whether gains lack the offset, read as most of its norms are equal to the other's."""
    if not side.offset_unknown:
        return side, None
    full = replace(side, norms=tuple(replace(norm, weight_offset=0.0) for norm in side.norms))
    nearer = [_nearness(read, other) for read in (side, full)]
    return (full, False) if nearer[1] > nearer[0] else (side, True)


def _nearness(side: Side, other: Side) -> tuple[int, float]:
    """How many gains are equal, then minus the sum of what their medians are apart."""
    equal, apart = 0, 0.0
    for pair in pairing(side, other).pairs:
        ours, theirs = held(side, pair.artifact, "gain"), held(other, pair.source, "gain")
        if ours is None or theirs is None or not ours.stored.size or not theirs.stored.size:
            continue
        equal += equality(ours, theirs) is not None
        with np.errstate(invalid="ignore", over="ignore"):
            distance = abs(float(np.median(ours.exact)) - float(np.median(theirs.exact)))
        apart += distance if np.isfinite(distance) else 0.0
    return equal, -apart


def seen(difference: Difference) -> str:
    """What differs, in numbers: how many elements, the worst of them, units in the last place, the ratio's range."""
    ours, theirs = difference.artifact.exact, difference.source.exact
    if not difference.whole:
        return f"{ours.size:,} elements, expected {theirs.size:,}"
    each = _apart(difference)
    worst, count = int(np.argmax(each)), int((each != 0).sum())
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        ratio = ours[(theirs != 0) & np.isfinite(ours)] / theirs[(theirs != 0) & np.isfinite(ours)]
    span = f", ratio {_ends(ratio)}" if ratio.size else ""
    at = f"[{worst}] is {number(float(ours[worst]))}, expected {number(float(theirs[worst]))}{_ulps(difference, worst)}"
    return f"{count:,} of {ours.size:,} elements differ, worst {at}{span}"


def _ends(ratio: Floats) -> str:
    """`0.99 to 1.01`, in as many digits as keep the ends from being told as the 1 that they are not."""
    least, most = float(ratio.min()), float(ratio.max())
    return f"{unlike(least, 1.0, 3)} to {unlike(most, 1.0, 3)}"


def apart(difference: Difference) -> float:
    """How far the worst element is off; infinite where it is no number, or where the numbers of elements differ."""
    return float(_apart(difference).max(initial=0.0)) if difference.whole else float("inf")


def _apart(difference: Difference) -> Floats:
    """The distance of each element from the source's [d]; that of two NaN is 0, of one infinite."""
    ours, theirs = difference.artifact.exact, difference.source.exact
    with np.errstate(invalid="ignore", over="ignore"):
        found = np.where(np.isnan(ours) & np.isnan(theirs), 0, np.abs(ours - theirs))
    return np.where(np.isnan(found), np.inf, found)


def _ulps(difference: Difference, at: int) -> str:
    ours, theirs = difference.artifact, difference.source
    if ours.dtype != theirs.dtype or ours.offset != theirs.offset:
        return ""
    width = ours.stored.dtype.itemsize
    left, right = (int(each.stored[at : at + 1].view(f"i{width}")[0]) for each in (ours, theirs))
    sign = 1 << (8 * width - 1)
    left, right = (-(each + sign) if each < 0 else each for each in (left, right))
    return f" ({abs(left - right):,} units in the last place)"
