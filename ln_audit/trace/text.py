"""A trace as text for the terminal: every state's magnitude as a bar, outlier channels, and what can be told."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from ln_audit.printable import one_line
from ln_audit.reports.wording import count
from ln_audit.trace.stream import OUTLIER_RATIO

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ln_audit.trace.stream import Magnitude, Trace

_BAR_WIDTH = 24  # characters of the longest bar
_EIGHTHS = " ▏▎▍▌▋▊▉"
_NAMED = 5  # outlier channels named per state


def render(trace: Trace) -> str:
    """The magnitudes with a bar each, the outlier channels, and what else the recording shows."""
    longest = max(m.mean_norm or 0.0 for m in (*trace.stream, trace.before, trace.after))
    extent = f"{count(trace.before.positions, 'position')}, {count(trace.width, 'channel')}"
    return "\n".join(
        [
            f"{one_line(trace.recording)}: {extent}",
            *_drawn("residual stream, mean L2 norm per position", trace.stream, longest),
            *_drawn(f"the norm {one_line(trace.norm)}".rstrip(), (trace.before, trace.after), longest),
            *_outlier_lines(trace),
            *facts(trace),
        ]
    )


def _drawn(heading: str, states: Sequence[Magnitude], longest: float) -> list[str]:
    """One line per state, each with its growth over the one above; nothing at all for no states."""
    growth = ["", *(_growth(earlier, later) for earlier, later in pairwise(states))]
    lines = [f"{_line(state, longest)}{grown}".rstrip() for state, grown in zip(states, growth, strict=False)]
    return [heading, *lines] if lines else []


def _line(magnitude: Magnitude, longest: float) -> str:
    if magnitude.mean_norm is None:
        return f"  {magnitude.name:<18}{'not finite':>10}"
    return (
        f"  {magnitude.name:<18}{_number(magnitude.mean_norm):>10}  {_bar(magnitude.mean_norm, longest):<{_BAR_WIDTH}}"
    )


def _bar(value: float, longest: float) -> str:
    """A bar of block characters, `_BAR_WIDTH` long for the longest, to an eighth of a character."""
    eighths = round(8 * _BAR_WIDTH * value / longest) if longest else 0
    return "█" * (eighths // 8) + _EIGHTHS[eighths % 8].strip()


def _growth(earlier: Magnitude, later: Magnitude) -> str:
    """Difference and ratio, empty where either cannot be formed."""
    if not earlier.mean_norm or later.mean_norm is None:
        return ""
    return f"  {later.mean_norm - earlier.mean_norm:+.2f}  ×{later.mean_norm / earlier.mean_norm:.3f}"


def _number(value: float) -> str:
    return f"{value:.2f}" if 0.01 <= value < 1e6 else f"{value:.3g}"


def _outlier_lines(trace: Trace) -> list[str]:
    """One line for each state that has outlier channels; one line in all when none has."""
    heading = f"outlier channels (mean |x| above {OUTLIER_RATIO:g} × the median channel's)"
    lines = []
    for magnitude in (*trace.states, trace.before, trace.after):
        named = [f"{o.channel} ({_number(o.mean_abs)}, {o.ratio:.1f} ×)" for o in magnitude.outliers[:_NAMED]]
        more = len(magnitude.outliers) - len(named)
        if named:
            lines.append(f"  {magnitude.name:<18}{', '.join(named)}{f' and {more} more' if more else ''}")
    return [heading, *lines] if lines else [f"{heading}: none"]


def facts(trace: Trace) -> list[str]:
    """What the recording shows of which state stands before the norm and which after it."""
    if not trace.states:
        return ["no hidden states recorded: only the two sides of the norm"]
    equal = [
        f"{name} equals after in every number: the norm is already applied (usual for the last state that transformers returns)"
        for name in trace.equal_to_after
    ]
    equal += [f"{name} equals before in every number: it is what the norm was given" for name in trace.equal_to_before]
    through = [
        f"{name}, put through the norm, gives after within its tolerance" for name in trace.reproduces_after or ()
    ]
    if trace.reproduces_after == ():
        through = ["none of the hidden states, put through the norm, gives after"]
    return [*(equal or ["none of the hidden states equals before or after"]), *through]
