"""What a drawing holds, for the tests of every kind of picture."""

from typing import Any
from xml.etree import ElementTree as ET


def shapes(svg: str, kind: str, **attributes: str) -> list[Any]:
    """The elements of a kind with these attributes (`_` for `-`), in the order of drawing."""
    wanted = {key.replace("_", "-"): value for key, value in attributes.items()}
    return [each for each in ET.fromstring(svg).iter(kind) if wanted.items() <= each.attrib.items()]


def texts(svg: str) -> list[str]:
    return [each.text or "" for each in ET.fromstring(svg).iter("text")]


def extents(svg: str) -> list[tuple[float, float, float, float]]:
    """Of every text that is not turned: its line, where it begins and ends at half the type's size a character, its size."""
    found = []
    for each in ET.fromstring(svg).iter("text"):
        if "transform" in each.attrib:
            continue
        size = float(each.attrib["font-size"])
        long, x, y = 0.5 * size * len(each.text or ""), float(each.attrib["x"]), float(each.attrib["y"])
        left = x - {"middle": long / 2, "end": long}.get(each.attrib.get("text-anchor", ""), 0.0)
        found.append((y, left, left + long, size))
    return found


def within(svg: str) -> bool:
    """Whether every text lies inside the picture."""
    wide, high = (float(each) for each in ET.fromstring(svg).attrib["viewBox"].split()[2:])
    return all(left >= 0 and right <= wide and 0 <= y <= high for y, left, right, _ in extents(svg))


def apart(svg: str) -> bool:
    """Whether no two texts on one line run into each other."""
    spans = extents(svg)
    return not any(
        abs(y - other) < 0.7 * size and left < end and begin < right
        for at, (y, left, right, size) in enumerate(spans)
        for other, begin, end, _ in spans[:at]
    )
