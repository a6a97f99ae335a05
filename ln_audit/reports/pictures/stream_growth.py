"""How the residual stream grows from layer to layer, and what the norm makes of it."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from ln_audit.reports.pictures.canvas import BLUE, GREEN, plain_ticks, svg
from ln_audit.reports.pictures.picture import Picture, figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from ln_audit.trace.stream import Magnitude, Trace

_WIDE = 30.0  # times from the smallest to the largest, from which powers of ten show more
_DRAWABLE = 1e100


def stream_growth(trace: Trace) -> Picture | None:
    """Mean L2 norm per position of every state of the stream, and of what the norm gave; None where none is finite."""
    stream = trace.stream or (trace.before,)
    known = [state.mean_norm for state in (*stream, trace.after) if state.mean_norm is not None]
    if not known or max(known) > _DRAWABLE:
        return None

    def draw(page: Figure) -> None:
        axes = page.add_axes((0.115, 0.175, 0.865, 0.77))
        at = [place for place, state in enumerate(stream) if state.mean_norm is not None]
        values = [state.mean_norm for state in stream if state.mean_norm is not None]
        axes.plot(at, values, color=BLUE, linewidth=1.8, marker="o", markersize=3.5)
        if trace.after.mean_norm is not None:
            axes.plot([_beside(stream)], [trace.after.mean_norm], color=GREEN, marker="s", markersize=6)
        _axes(axes, stream, known)

    text = words(trace)
    legend = "Line: the residual stream, state by state. Square: what the norm gave."
    columns = ("state", "mean L2 norm", "growth", "ratio", "outlier channels")
    return Picture(
        svg(draw, (4.6, 2.7), text), "mean L2 norm per position", text, legend, columns, _rows(trace, stream)
    )


def _axes(axes: Axes, stream: tuple[Magnitude, ...], known: list[float]) -> None:
    """From zero up, or in powers of ten where the stream grows a lot; states along, then the norm's output."""
    least = min(known)
    plain_ticks(axes, x=None)
    if least > 0 and max(known) > _WIDE * least:
        from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

        axes.set_yscale("log")
        axes.yaxis.set_major_locator(LogLocator(10, subs=(1.0, 3.0), numticks=12))
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axes.yaxis.set_minor_formatter(NullFormatter())
        axes.set_ylim(least / 1.3, max(known) * 1.3)
    else:
        axes.set_ylim(0, 1.12 * max(known) or 1.0)
    last, step = len(stream) - 1, max(1, -(-len(stream) // 9))
    named = [place for place in range(0, last, step) if last - place >= step or place == 0] if last else []
    labels = [stream[place].name.removeprefix("hidden_states.") for place in (*named, last)]
    axes.set_xticks([*named, last, _beside(stream)], [*labels, "after"])
    room = max(0.6, 0.05 * _beside(stream))
    axes.set_xlim(-room, _beside(stream) + room)
    axes.set_xlabel("hidden state; after: what the norm gave")


def _beside(stream: tuple[Magnitude, ...]) -> float:
    """Where the norm's output stands: far enough from the last state for the names of both."""
    return len(stream) - 1 + max(1.0, len(stream) / 7)


def _rows(trace: Trace, stream: tuple[Magnitude, ...]) -> tuple[tuple[str, ...], ...]:
    """Each state with its growth over the one before it, then what the norm gave."""
    states = stream if stream[-1] is trace.before else (*stream, trace.before)
    growth = [("", ""), *(_growth(earlier, later) for earlier, later in pairwise(states))]
    told = [(state, *grown) for state, grown in zip(states, growth, strict=True)]
    told.append((trace.after, *_growth(trace.before, trace.after)))
    return tuple((state.name, figure(state.mean_norm), grown, ratio, outliers(state)) for state, grown, ratio in told)


def _growth(earlier: Magnitude, later: Magnitude) -> tuple[str, str]:
    if not earlier.mean_norm or later.mean_norm is None:
        return "", ""
    grown, ratio = later.mean_norm - earlier.mean_norm, later.mean_norm / earlier.mean_norm
    return (
        f"{grown:+.2f}" if abs(grown) < 1e6 else f"{grown:+.3g}"
    ), f"×{ratio:.3f}" if ratio < 1e6 else f"×{ratio:.3g}"


def outliers(state: Magnitude) -> str:
    """`138 (12 ×), 378 (7 ×)`: channels and how many times the median channel they are."""
    named = ", ".join(f"{each.channel} ({each.ratio:.1f} ×)" for each in state.outliers[:5])
    more = len(state.outliers) - 5
    return f"{named} and {more} more" if more > 0 else named


def words(trace: Trace) -> str:
    """The growth in a sentence."""
    stream = trace.stream or (trace.before,)
    first, last = stream[0], stream[-1]
    return (
        f"Mean L2 norm per position: {figure(first.mean_norm)} in {first.name}, {figure(last.mean_norm)} in {last.name} after"
        f" {len(stream) - 1} steps; the norm reads {figure(trace.before.mean_norm)} and gives {figure(trace.after.mean_norm)}."
    )
