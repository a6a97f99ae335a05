"""How many elements of a recording use how much of their tolerance."""

from __future__ import annotations

from math import log2, log10
from typing import TYPE_CHECKING

from ln_audit.reports.pictures.canvas import BLUE, INK, VERMILION, svg
from ln_audit.reports.pictures.picture import Picture, figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from ln_audit.comparison import Comparison
    from ln_audit.pictures import Shares

_HALF = 0.5  # an octave: the width of a bar


def share_distribution(comparison: Comparison) -> Picture | None:
    """The distribution of a comparison that was made for pictures; None of another."""
    shares = comparison.shares
    if shares is None:
        return None

    def draw(page: Figure) -> None:
        axes = page.add_axes((0.13, 0.16, 0.84, 0.76))
        for at, (low, count) in enumerate(zip(_lower(shares), shares.counts, strict=True)):
            if count:
                beyond = low >= 0
                axes.bar(
                    low + _HALF / 2, 1 + log10(count), width=_HALF * 0.9,
                    color=VERMILION if beyond else BLUE, label=f"{at}",
                )  # fmt: skip
        _axes(axes, shares)

    text = words(shares)
    columns = ("share above", "up to", "elements")
    legend = "Left of the line at 1: within the tolerance. Right of it: beyond."
    return Picture(svg(draw, (4.3, 3.0), text), "distribution of the shares", text, legend, columns, _rows(shares))


def _lower(shares: Shares) -> list[float]:
    """Where each bar begins, in octaves of the tolerance."""
    return [log2(shares.edges[0]) - _HALF, *(log2(edge) for edge in shares.edges)]


def _axes(axes: Axes, shares: Shares) -> None:
    """Octaves along, powers of ten up, and a line at the tolerance."""
    used = [low for low, count in zip(_lower(shares), shares.counts, strict=True) if count]
    first, last = min([*used, -_HALF]) - _HALF, max([*used, 0.0]) + 2 * _HALF
    axes.set_xlim(first, last)
    step = max(1, round((last - first) / 7))
    ticks = [at for at in range(-40, 41) if at % step == 0 and first <= at <= last]
    axes.set_xticks(ticks, [_octave(at) for at in ticks])
    highest = int(log10(max(shares.counts))) + 2
    axes.set_ylim(0, highest)
    every = 1 if highest < 6 else 2
    powers = range(0, highest, every)
    axes.set_yticks(
        [1 + power for power in powers], [f"{10**power:,}" if power < 4 else f"1e{power}" for power in powers]
    )
    axes.axvline(0.0, color=INK, linewidth=1.2)
    axes.set_xlabel("share of the tolerance")
    axes.set_title("elements", loc="left", fontsize=9, pad=7)


def _octave(at: int) -> str:
    """A power of two as people read it."""
    return (
        f"1/{2**-at}" if at < 0 else f"{2**at}" if at < 14 else f"{2.0**at:.0e}".replace("e+0", "e").replace("e+", "e")
    )


def _rows(shares: Shares) -> tuple[tuple[str, ...], ...]:
    ends = [0.0, *shares.edges, None]
    return tuple(
        (figure(low), "more" if high is None else figure(high), f"{count:,}")
        for low, high, count in zip(ends, ends[1:], shares.counts, strict=False)
        if count
    )


def words(shares: Shares) -> str:
    """How many lie where, in a sentence."""
    judged = sum(shares.counts)
    within = judged - shares.over
    small = sum(shares.counts[: shares.edges.index(0.25) + 1])
    return (
        f"Of {judged:,} judged elements {small:,} use up to a quarter of their tolerance, {within - small:,} more stay within"
        f" it, {shares.over:,} are beyond."
    )
