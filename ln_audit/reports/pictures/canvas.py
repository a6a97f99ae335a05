"""The one door to matplotlib: a figure is drawn, and comes out as a small inline SVG in the page's own colours.

matplotlib is asked for its object-oriented interface only; nothing here knows of a display, a global figure or a date.
"""

from __future__ import annotations

from io import StringIO
from typing import TYPE_CHECKING

from ln_audit.reports.pictures.svg import slim

if TYPE_CHECKING:
    from collections.abc import Callable

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Stand-ins: `svg.slim` puts the page's variables in their place, so that one drawing serves light, dark and print.
INK, FAINT, BLUE, ORANGE, VERMILION, GREEN, GREY = (f"#0102{each:02x}" for each in range(7))
COLOURS = {
    INK: "currentColor",
    FAINT: "var(--faint)",
    BLUE: "var(--blue)",
    ORANGE: "var(--orange)",
    VERMILION: "var(--vermilion)",
    GREEN: "var(--green)",
    GREY: "var(--grey)",
}
POINTS = 9  # of type: the width of a picture on the page is about that of its drawing

_STYLE = {
    "svg.fonttype": "none",  # text stays text: it can be searched, read aloud and made larger
    "svg.hashsalt": "ln-audit",  # the same names each time
    "svg.image_inline": True,
    "font.size": POINTS,
    "text.color": INK,
    "text.usetex": False,
    "text.parse_math": False,  # a $ is a $
    "axes.labelcolor": INK,
    "axes.edgecolor": GREY,
    "axes.linewidth": 0.6,
    "axes.axisbelow": True,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.unicode_minus": True,
    "grid.color": FAINT,
    "grid.linewidth": 0.6,
    "xtick.color": INK,
    "ytick.color": INK,
    "xtick.major.size": 0,
    "ytick.major.size": 0,
    "xtick.minor.size": 0,
    "ytick.minor.size": 0,
    "path.simplify": False,
}


def svg(draw: Callable[[Figure], None], size: tuple[float, float], text: str) -> str:
    """What `draw` puts on a figure of `size` (inches, wide and high) as inline SVG; `text` becomes its accessible name."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    with mpl.rc_context():
        mpl.rcdefaults()  # a user's own matplotlibrc has no say in a report
        mpl.rcParams.update(_STYLE)
        figure = Figure(figsize=size)
        draw(figure)
        written = StringIO()
        figure.savefig(written, format="svg", transparent=True, metadata={"Date": None})
    return slim(written.getvalue(), COLOURS, text)


def plain_ticks(axes: Axes, *, x: int | None = 5, y: int | None = 4, whole: str = "") -> None:
    """At most `x` and `y` round ticks, written without mathematics; `whole`: of which axes (x, y, xy) the ticks number things."""
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    written = FuncFormatter(lambda value, _: f"{value:g}".replace("-", "−"))
    if x is not None:
        axes.xaxis.set_major_locator(MaxNLocator(x, integer="x" in whole))
        axes.xaxis.set_major_formatter(written)
    if y is not None:
        axes.yaxis.set_major_locator(MaxNLocator(y, integer="y" in whole))
        axes.yaxis.set_major_formatter(written)
