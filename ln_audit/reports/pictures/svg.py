"""matplotlib's SVG made small and fit for a page: a flat list of shapes and texts, without ids, styles or references."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ln_audit.printable import one_line

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from xml.etree.ElementTree import Element

_SVG, _HREF = "{http://www.w3.org/2000/svg}", "{http://www.w3.org/1999/xlink}href"
_NUMBER = re.compile(r"-?\d+\.?\d*(?:e-?\d+)?")
_KEPT = (  # of a style, as attributes: the page's policy allows no inline style
    "fill", "fill-opacity", "stroke", "stroke-width", "stroke-opacity", "stroke-dasharray", "opacity", "font-size",
    "font-weight", "text-anchor", "image-rendering",
)  # fmt: skip


def slim(written: str, colours: Mapping[str, str], text: str) -> str:
    """An inline SVG element that draws the same as matplotlib's document `written`.

    `colours` says what to write in place of which; `text` becomes the accessible name. Where a shape is used by reference it
    is written out, so that many pictures on a page share no names.
    """
    from xml.etree import ElementTree as ET

    document = ET.fromstring(written)  # noqa: S314 - what matplotlib has just written
    named = {each.get("id", ""): each for each in document.iter()}
    picture = ET.Element("svg", {"viewBox": document.get("viewBox", ""), "role": "img", "aria-label": one_line(text)})
    picture.extend(_shapes(document, named, colours))
    return ET.tostring(picture, encoding="unicode")


def _shapes(parent: Element, named: Mapping[str, Element], colours: Mapping[str, str]) -> Iterator[Element]:
    """Everything that is seen, in the order of drawing."""
    for each in parent:
        kind = each.tag.removeprefix(_SVG)
        if kind == "g":
            yield from _shapes(each, named, colours)
        elif kind == "use":
            target = named[each.get(_HREF, "").removeprefix("#")]
            moved = f"translate({_short(each.get('x', '0'))} {_short(each.get('y', '0'))})"
            yield from _drawn(target, "path", {"transform": moved}, _style(target) | _style(each), colours)
        elif kind in ("path", "text", "image"):
            yield from _drawn(each, kind, _place(each, kind), _style(each), colours)


def _drawn(
    each: Element, kind: str, attributes: dict[str, str], style: Mapping[str, str], colours: Mapping[str, str]
) -> Iterator[Element]:
    from xml.etree.ElementTree import Element

    if kind == "path" and style.get("fill") == "none" and "stroke" not in style:
        return  # the invisible background
    made = Element(kind, attributes)
    if kind == "path":
        made.set("d", _short(each.get("d", "")))
    made.text = each.text if kind == "text" else None
    for key in _KEPT:
        if key in style:
            made.set(key, colours.get(style[key], style[key]))
    yield made


def _place(each: Element, kind: str) -> dict[str, str]:
    """Where a text or an image stands; a path says so itself."""
    if kind == "path":
        return {}
    keys: tuple[str, ...] = ("x", "y", "width", "height")
    place = {key: _short(each.get(key, "")) for key in keys if key in each.attrib}
    turned = each.get("transform", "")
    if turned and not turned.startswith("rotate(-0 "):
        place["transform"] = _short(turned, 4 if kind == "image" else 1)  # a factor of many pixels is no place
    if kind == "image":
        place |= {"href": "".join(each.get(_HREF, "").split()), "preserveAspectRatio": "none"}
    return place


def _style(each: Element) -> dict[str, str]:
    pairs = (declaration.partition(":") for declaration in each.get("style", "").split(";"))
    style = {key.strip(): value.strip() for key, _, value in pairs}
    return {key: value.removesuffix("px") if key == "font-size" else value for key, value in style.items()}


def _short(numbers: str, digits: int = 1) -> str:
    """Numbers to a tenth of a point, and no more blanks than it takes to tell them apart."""
    rounded = _NUMBER.sub(
        lambda found: f"{round(float(found[0]), digits) + 0.0:.10g}", numbers
    )  # + 0: no minus before a zero
    return re.sub(r"\s*([A-Za-z(),])\s*", r"\1", " ".join(rounded.split()))
