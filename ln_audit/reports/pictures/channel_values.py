"""One tensor over its channels, outliers by number, and the distribution of its values beside it on the same axis."""

from __future__ import annotations

from math import log2, nan
from typing import TYPE_CHECKING

from ln_audit.reports.pictures.canvas import BLUE, GREEN, GREY, VERMILION, plain_ticks, svg
from ln_audit.reports.pictures.picture import Picture, figure

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from ln_audit.pictures import Channels
    from ln_audit.result import TensorReport

_COLUMNS = 256  # that are drawn: one is little more than a pixel wide
_LABELLED = 5
_DRAWABLE = 1e100  # beyond, the axes themselves would overflow


def channel_values(tensor: TensorReport) -> Picture | None:
    """The picture of a tensor whose values were read and kept for pictures; None of another, or where nothing is finite."""
    channels = tensor.channels
    if channels is None:
        return None
    ends = [value for value in (*channels.lows, *channels.highs) if value is not None]
    if not ends or max(map(abs, ends)) > _DRAWABLE:
        return None
    low, high = min(ends), max(ends)
    room = 0.08 * (high - low) or 0.1 * abs(high) or 1.0

    def draw(page: Figure) -> None:
        over, beside = page.add_axes((0.115, 0.22, 0.66, 0.72)), page.add_axes((0.79, 0.22, 0.19, 0.72))
        for axes in (over, beside):
            axes.set_ylim(low - room, high + room)
            plain_ticks(axes, x=None)
        _envelope(over, channels)
        _named(over, channels)
        _distribution(beside, tensor)

    text = words(tensor)
    drawing = svg(draw, (4.3, 1.9), text)
    return Picture(drawing, f"{tensor.role}, {tensor.name}", text, apart(channels), *_counts(tensor))


def _envelope(axes: Axes, channels: Channels) -> None:
    """A line where every channel has a point of its own, else a band from the least to the largest of neighbours."""
    lows, highs, per_column = _columns(channels)
    at = [(column + 0.5) * per_column - 0.5 for column in range(len(lows))]
    axes.fill_between(at, lows, highs, color=BLUE, linewidth=0.8)
    axes.set_xlim(-0.5 - 0.01 * channels.count, channels.count * 1.01 - 0.5)
    axes.set_xlabel("channel")
    plain_ticks(axes, y=None, whole="x")
    bottom, top = axes.get_ylim()
    if bottom < 0 < top:
        axes.axhline(0.0, color=GREY, linewidth=0.8, linestyle=(0, (3, 2)))


def _columns(channels: Channels) -> tuple[list[float], list[float], int]:
    """The envelope in at most `_COLUMNS` columns, NaN where one has no finite value, and the channels in each."""
    joined = -(-len(channels.lows) // _COLUMNS)
    starts = range(0, len(channels.lows), joined)
    lows = [_extreme(channels.lows[at : at + joined], min) for at in starts]
    highs = [_extreme(channels.highs[at : at + joined], max) for at in starts]
    return lows, highs, joined * channels.per_bin


def _extreme(values: Sequence[float | None], of: Callable[[Sequence[float]], float]) -> float:
    known = [value for value in values if value is not None]
    return of(known) if known else nan


def _named(axes: Axes, channels: Channels) -> None:
    """Circles round the outliers, the first of them with their numbers as far as there is room; a cross where it is no number."""
    bottom, top = axes.get_ylim()
    taken: list[tuple[float, float]] = []
    for channel, value in channels.outliers:
        axes.plot([channel], [value], "o", color=VERMILION, markersize=4, markerfacecolor="none", markeredgewidth=1.1)
        x, y = channel / max(1, channels.count), (value - bottom) / (top - bottom)
        if len(taken) < _LABELLED and all(abs(x - u) > 0.11 or abs(y - v) > 0.12 for u, v in taken):
            side, gap = ("left", 4) if x < 0.8 else ("right", -4)
            axes.annotate(
                f"{channel}", (channel, value), xytext=(gap, 0), textcoords="offset points", ha=side, va="center",
                fontsize=8, color=VERMILION, parse_math=False,
            )  # fmt: skip
            taken.append((x, y))
    for channel in channels.broken:
        axes.plot([channel], [top], "x", color=VERMILION, markersize=5, markeredgewidth=1.3, clip_on=False)


def _distribution(axes: Axes, tensor: TensorReport) -> None:
    """Bars to the right, as long as the logarithm of how many channels: single ones stay visible."""
    axes.tick_params(labelleft=False)
    axes.set_xlabel("channels")
    counts = tensor.histogram
    if not counts or tensor.min is None or tensor.max is None:
        axes.set_xticks([])
        return
    step = (tensor.max - tensor.min) / len(counts)
    edges = [tensor.min + step * at for at in range(len(counts) + 1)]
    axes.stairs([log2(1 + n) for n in counts], edges, orientation="horizontal", fill=True, color=GREEN)
    ticks = [n for n in (1, 10, 100, 1000, 10000) if n <= max(counts)]
    axes.set_xticks([log2(1 + n) for n in ticks], [_thousands(n) for n in ticks])
    axes.set_xlim(0, log2(1 + max(counts)) * 1.05)


def _thousands(count: int) -> str:
    return f"{count // 1000}k" if count >= 1000 else f"{count}"


def _counts(tensor: TensorReport) -> tuple[tuple[str, ...], tuple[tuple[str, ...], ...]]:
    """The numbers behind the distribution: the occupied bins, from which value to which, and how many channels."""
    if not tensor.histogram or tensor.min is None or tensor.max is None:
        return (), ()
    step, least = (tensor.max - tensor.min) / len(tensor.histogram), tensor.min
    rows = [
        (figure(least + step * at), figure(least + step * (at + 1)), f"{n:,}")
        for at, n in enumerate(tensor.histogram)
        if n
    ]
    return ("from", "to", "channels"), tuple(rows)


def words(tensor: TensorReport) -> str:
    """The same in one sentence or two: statistics, then who stands apart."""
    channels = tensor.channels
    if channels is None:
        return f"{tensor.role} {tensor.name}: values not read"
    told = f"{tensor.role} {tensor.name} over {channels.count:,} channels"
    if tensor.mean is not None:
        told += (
            f": mean {figure(tensor.mean)}, standard deviation {figure(tensor.std)}, minimum {figure(tensor.min)}"
            f" (channel {tensor.argmin}), maximum {figure(tensor.max)} (channel {tensor.argmax})"
        )
    return f"{told}. {apart(channels)}"


def apart(channels: Channels) -> str:
    """`Outliers: channel 138 (1.9), 378 (−0.4) and 3 more.`, and which channels hold no number at all."""
    named = ", ".join(f"{channel} ({figure(value)})" for channel, value in channels.outliers)
    more = channels.apart - len(channels.outliers)
    told = f"Outliers: channel {named}{f' and {more:,} more' if more else ''}." if named else "No outliers."
    if channels.nonfinite:
        further = channels.nonfinite - len(channels.broken)
        listed = ", ".join(map(str, channels.broken))
        told += f" Not finite: channel {listed}{f' and {further:,} more' if further else ''}."
    return told
