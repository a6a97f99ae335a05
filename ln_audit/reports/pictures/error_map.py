"""Where in a recording the error is: its share of the tolerance over position and channel, the largest of each cell."""

from __future__ import annotations

from math import log2
from typing import TYPE_CHECKING, Any

from ln_audit.reports.pictures.canvas import INK, plain_ticks, svg
from ln_audit.reports.pictures.picture import Picture, figure

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from ln_audit.comparison import Comparison
    from ln_audit.pictures import Shares

_LEAST = -10  # log2 of the share that is drawn darkest: a thousandth
_MOST = 50.0  # the same beyond the tolerance: 1e15
_MARKED = (204, 121, 167)  # the purple of Okabe and Ito: wrong, whatever the share
_OVER = ((255, 120, 60), (90, 0, 0))  # from just beyond the tolerance to the largest share
_WORST = 5  # rows of the table


def error_map(comparison: Comparison) -> Picture | None:
    """The map of a comparison that was made for pictures; None of another."""
    shares = comparison.shares
    if shares is None:
        return None

    def draw(page: Figure) -> None:
        axes, scale = page.add_axes((0.125, 0.16, 0.65, 0.8)), page.add_axes((0.8, 0.16, 0.035, 0.8))
        extent = (-0.5, shares.width - 0.5, shares.positions - 0.5, -0.5)
        image = _painted(_array(shares), _top(shares), shares.marked)
        axes.imshow(image, extent=extent, aspect="auto", interpolation="none")
        axes.grid(visible=False)
        axes.set_xlabel("channel")
        axes.set_ylabel("position")
        plain_ticks(axes, whole="xy")
        _scale(scale, shares)

    text = words(comparison, shares)
    drawing = svg(draw, (4.3, 3.0), text)
    return Picture(drawing, "error as a share of the tolerance", text, _legend(shares), *_worst_cells(shares))


def _legend(shares: Shares) -> str:
    tall, wide = shares.rows_per_cell, shares.channels_per_cell
    cell = (
        "One cell for each element." if tall == wide == 1 else f"The largest of each cell of {tall} × {wide} elements."
    )
    over = ", red beyond it" if shares.largest > 1 else ""
    marked = ", purple outside its rounding cell or no number" if shares.marked else ""
    return f"{cell} Yellow is close to the tolerance{over}{marked}."


def _top(shares: Shares) -> float:
    """log2 of the share from which on all is the darkest red: the largest, as far as a scale can show it."""
    return min(_MOST, max(1.0, log2(max(1.0, shares.largest))))


def _array(shares: Shares) -> np.ndarray[Any, Any]:
    """log2 of the cells; −∞ where nothing is off at all, NaN where nothing was judged."""
    import numpy as np

    cells = np.array([[np.nan if share is None else share for share in row] for row in shares.cells], dtype=float)
    with np.errstate(divide="ignore"):
        return np.asarray(np.log2(cells))


def _painted(values: np.ndarray[Any, Any], top: float, marked: Sequence[tuple[int, int]] = ()) -> np.ndarray[Any, Any]:
    """Colours of log2 shares: cividis up to the tolerance, reds beyond, to `top`; `marked` cells that are not beyond it are
    purple, and those where nothing was judged clear.
    """
    import matplotlib as mpl
    import numpy as np

    within = np.clip(1 - values / _LEAST, 0, 1)
    colours: np.ndarray[Any, Any] = (mpl.colormaps["cividis"](np.nan_to_num(within)) * 255).astype(np.uint8)
    colours[np.isnan(values)] = 0
    for row, column in marked:
        colours[row, column] = (*_MARKED, 255)
    over = values > 0
    beyond = np.clip(values[over] / top, 0, 1)[:, None]
    colours[over, :3] = ((1 - beyond) * np.array(_OVER[0]) + beyond * np.array(_OVER[1])).astype(np.uint8)
    return colours


def _scale(axes: Axes, shares: Shares) -> None:
    """What the colours mean; 1 is the tolerance."""
    import numpy as np

    top = _top(shares) if shares.largest > 1 else 0.0  # where nothing is beyond, the scale ends at the tolerance
    steps = np.linspace(top, _LEAST, 120)[:, None]
    axes.imshow(_painted(steps, top or 1.0), extent=(0, 1, _LEAST, top), aspect="auto", interpolation="none")
    axes.grid(visible=False)
    axes.set_xticks([])
    axes.yaxis.tick_right()
    ticks = _ticks(top)
    axes.set_yticks(list(ticks), list(ticks.values()))
    axes.axhline(0.0, color=INK, linewidth=1.2)


def _ticks(top: float) -> dict[float, str]:
    """Where the scale is labelled, in octaves of the tolerance: at its ends and at 1, and between as far as there is room."""
    ends = {0.0: "1", float(_LEAST): f"≤ 1/{2**-_LEAST}"} | ({top: _end(top)} if top > 0 else {})
    below = {-float(octave): f"1/{2**octave}" for octave in range(2, -_LEAST, 2)}
    above = {
        log2(10**power): f"{10**power}" if power < 5 else f"1e{power}"
        for power in range(1, 16, max(1, round(top / 20)))
        if log2(10**power) < top
    }
    room = 0.075 * (top - _LEAST)
    kept = dict(ends)
    for at, name in (below | above).items():
        if all(abs(at - other) > room for other in kept):
            kept[at] = name
    return kept


def _end(top: float) -> str:
    largest = 2.0**top
    short = f"{largest:.3g}" if largest < 1000 else f"{largest:.1e}".replace("e+0", "e").replace("e+", "e")
    return f"≥ {short}" if top == _MOST else short


def _worst_cells(shares: Shares) -> tuple[tuple[str, ...], tuple[tuple[str, ...], ...]]:
    """The cells of the largest shares: from which position and channel, and how much."""
    found = [
        (share, row, column)
        for row, cells in enumerate(shares.cells)
        for column, share in enumerate(cells)
        if share is not None
    ]
    worst = sorted(found, key=lambda each: (-each[0], each[1:]))[:_WORST]
    rows = tuple(
        (
            _span(row * shares.rows_per_cell, shares.rows_per_cell, shares.positions),
            _span(column * shares.channels_per_cell, shares.channels_per_cell, shares.width),
            figure(share),
        )
        for share, row, column in worst
    )
    return ("position", "channel", "largest share"), rows


def _span(first: int, many: int, end: int) -> str:
    last = min(first + many, end) - 1
    return f"{first}" if last == first else f"{first} to {last}"


def words(comparison: Comparison, shares: Shares) -> str:
    """The map in a sentence: how large, where the largest, and how much lies beyond."""
    told = (
        f"Error as a share of the tolerance over {shares.positions:,} positions and {shares.width:,} channels: the largest is"
        f" {figure(comparison.max_error_ratio)}"
    )
    if comparison.worst is not None:
        told += f", at {list(comparison.worst.index)}, channel {comparison.worst.channel}"
    judged = sum(shares.counts)
    told += f"; {shares.over:,} of {judged:,} elements are beyond the tolerance."
    if shares.marked:
        told += f" {len(shares.marked):,} cells hold a value outside its rounding cell or one that is no number."
    return told
