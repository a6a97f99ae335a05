"""What a drawing holds, for the tests of every kind of picture."""

from typing import Any
from xml.etree import ElementTree as ET


def shapes(svg: str, kind: str, **attributes: str) -> list[Any]:
    """The elements of a kind with these attributes (`_` for `-`), in the order of drawing."""
    wanted = {key.replace("_", "-"): value for key, value in attributes.items()}
    return [each for each in ET.fromstring(svg).iter(kind) if wanted.items() <= each.attrib.items()]


def texts(svg: str) -> list[str]:
    return [each.text or "" for each in ET.fromstring(svg).iter("text")]


def within(svg: str) -> bool:
    """Whether every text begins inside the picture."""
    root = ET.fromstring(svg)
    wide, high = (float(each) for each in root.attrib["viewBox"].split()[2:])
    return all(0 <= float(t.attrib["x"]) <= wide and 0 <= float(t.attrib["y"]) <= high for t in root.iter("text"))


def apart(svg: str) -> bool:
    """Whether no two texts on one line run into each other, at half the type's size for each character."""
    spans: list[tuple[float, float, float]] = []
    for each in ET.fromstring(svg).iter("text"):
        if "transform" in each.attrib:
            continue
        size = float(each.attrib["font-size"])
        long, x, y = 0.5 * size * len(each.text or ""), float(each.attrib["x"]), float(each.attrib["y"])
        left = x - {"middle": long / 2, "end": long}.get(each.attrib.get("text-anchor", ""), 0.0)
        if any(abs(y - other) < 0.7 * size and left < right and begin < left + long for other, begin, right in spans):
            return False
        spans.append((y, left, left + long))
    return True
