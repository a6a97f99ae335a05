"""A picture as a page takes it: the drawing, and the same in words and numbers for who does not see it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Picture:
    """`svg` is inline SVG whose accessible name is `text`; `caption` says what it shows, `legend` how it is
    read, `rows` are the numbers behind it.

    Captions, legends, texts and cells are plain text that may hold names from a checkpoint: whoever writes them escapes them.
    """

    svg: str
    caption: str
    text: str
    legend: str = ""
    columns: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()


def figure(value: float | None) -> str:
    """A number of a measured thing, to four digits; a dash where there is none."""
    return "–" if value is None else f"{value:.4g}"
