"""A trace as a page: the residual stream's growth as a picture, its numbers and outlier channels, and what can be told."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ln_audit.reports.page import page
from ln_audit.reports.wording import count
from ln_audit.trace.stream import OUTLIER_RATIO
from ln_audit.trace.text import facts

if TYPE_CHECKING:
    from ln_audit.trace.stream import Trace


def render(trace: Trace) -> str:
    """The whole page. Needs what the extra `html` installs."""
    from ln_audit.reports.pictures.stream_growth import stream_growth

    return page(
        "trace.html",
        trace=trace,
        picture=stream_growth(trace),
        named=[state for state in (*trace.states, trace.before, trace.after) if state.outliers],
        facts=facts(trace),
        count=count,
        outlier_ratio=f"{OUTLIER_RATIO:g}",
    )
