"""What a recording would have shown: by fault, how far the nearest would have been from what was recorded."""

from __future__ import annotations

from math import inf, log10
from typing import TYPE_CHECKING, NamedTuple

from ln_audit.reports.pictures.canvas import BLUE, GREY, INK, ORANGE, svg
from ln_audit.reports.pictures.picture import Picture, figure
from ln_audit.reports.wording import count
from ln_audit.resolving_power.summary import by_hypothesis

if TYPE_CHECKING:
    from collections.abc import Iterator

    from matplotlib.figure import Figure

    from ln_audit.comparison import Comparison

_LEAST, _MOST = -3.0, 9.0  # powers of ten of the tolerance that are drawn
_SEEN, _HIDDEN, _NOT_MET = "would have been seen", "hidden by these rows", "only other rows would show it"
_COLOURS = {_SEEN: BLUE, _HIDDEN: ORANGE, _NOT_MET: GREY}
_HIGH = 0.17  # inches of a bar with what is around it


class Bar(NamedTuple):
    """The nearest of `faults` faults of one kind that share a fate; `distance` in tolerances, at least that for what is seen."""

    kind: str
    fate: str
    nearest: str
    distance: float
    faults: int


def resolving_bars(comparison: Comparison) -> Picture | None:
    """The bars of a comparison whose resolving power was worked out; None of another."""
    bars = tuple(_bars(comparison))
    if not bars:
        return None
    height = _HIGH * len(bars) + 0.62

    def draw(page: Figure) -> None:
        axes = page.add_axes((0.36, 0.4 / height, 0.61, (_HIGH * len(bars) + 0.05) / height))
        ends = [_end(bar.distance) for bar in bars]
        top = max(1.0, *ends) + 0.4
        for at, (bar, end) in enumerate(zip(bars, ends, strict=True)):
            axes.barh(at, end - _LEAST, left=_LEAST, height=0.72, color=_COLOURS[bar.fate])
        axes.set_yticks(range(len(bars)), [f"{bar.kind}{_mark(bar.fate)}" for bar in bars])
        axes.set_ylim(len(bars) - 0.4, -0.6)
        axes.set_xlim(_LEAST, top)
        ticks = [at for at in (-3, 0, 3, 6, 9) if at <= top]
        axes.set_xticks(ticks, ["≤ 0.001", *(f"{10**at:,}" if at < 4 else f"1e{at}" for at in ticks[1:])])
        axes.axvline(0.0, color=INK, linewidth=1.2)
        axes.grid(visible=False, axis="y")
        axes.set_xlabel("distance in tolerances")

    text = words(bars)
    columns = ("kind of fault", "fate", "faults", "nearest", "its distance in tolerances")
    rows = tuple((bar.kind, bar.fate, f"{bar.faults:,}", bar.nearest, figure(bar.distance)) for bar in bars)
    legend = "The nearest fault of each kind. Past the line at 1 these rows would have shown it."
    if any(map(_unseen, bars)):
        legend += " *: not seen; orange where these rows hide it, grey where only other rows would show it."
    return Picture(svg(draw, (4.3, height), text), "resolving power", text, legend, columns, rows)


def _bars(comparison: Comparison) -> Iterator[Bar]:
    """By kind of fault, in the order of the registry: the nearest that is seen, and the furthest that is not."""
    groups = (
        (_SEEN, comparison.can_tell),
        (_HIDDEN, _unseen_by(comparison, True)),
        (_NOT_MET, _unseen_by(comparison, False)),
    )
    told = {fate: by_hypothesis(entries) for fate, entries in groups}
    for kind in dict.fromkeys(name for by_name in told.values() for name in by_name):
        for fate, by_name in told.items():
            entries = by_name.get(kind, [])
            if entries:
                of = min if fate == _SEEN else max
                chosen = of(entries, key=lambda each: each["distance"])
                yield Bar(kind, fate, str(chosen["name"]), float(chosen["distance"]), len(entries))


def _unseen_by(comparison: Comparison, these_rows: bool) -> list[dict[str, object]]:
    return [dict(each) for each in comparison.cannot_tell if (each["hidden_by"] == "these rows") == these_rows]


def _end(distance: float) -> float:
    if distance == inf:
        return _MOST
    return min(_MOST, max(_LEAST + 0.06, log10(distance))) if distance > 0 else _LEAST + 0.06


def _unseen(bar: Bar) -> bool:
    return bar.fate != _SEEN


def _mark(fate: str) -> str:
    return "" if fate == _SEEN else " *"


def words(bars: tuple[Bar, ...]) -> str:
    """The bars in sentences: how many faults of which fate, the nearest of those that are seen, and all that are not."""
    told = []
    for fate in _COLOURS:
        of_fate = [bar for bar in bars if bar.fate == fate]
        if of_fate:
            total = sum(bar.faults for bar in of_fate)
            named = ", ".join(f"{bar.kind} {figure(bar.distance)}" for bar in of_fate)
            told.append(f"{count(total, 'fault')}: {fate} (distance in tolerances: {named}).")
    return " ".join(told)
