"""An independent reader of HTML pages: html5lib, strict, and what a page of ours must never have."""

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import html5lib

LOADING = {
    "script",
    "link",
    "iframe",
    "frame",
    "object",
    "embed",
    "form",
    "base",
    "audio",
    "video",
    "source",
    "img",
    "use",
}


def parsed(page: str) -> Any:
    """The document, without namespaces in its tags. Raises for anything that is not valid HTML."""
    return html5lib.HTMLParser(strict=True, namespaceHTMLElements=False).parse(page)


def tag(element: Any) -> str:
    return str(element.tag).rpartition("}")[2]


def attributes(element: Any) -> Iterator[tuple[str, str]]:
    for key, value in element.attrib.items():
        yield (key[-1] if isinstance(key, tuple) else str(key)).rpartition("}")[2], value


def elements(page: Any, name: str) -> list[Any]:
    return [element for element in page.iter() if isinstance(element.tag, str) and tag(element) == name]


def text(element: Any) -> str:
    return " ".join(" ".join(element.itertext()).split())


def alternatives(page: Any) -> list[str]:
    """The accessible name of every picture, in order."""
    return [dict(attributes(each))["aria-label"] for each in elements(page, "svg")]


def faults(source: str) -> list[str]:
    """What is wrong with a page that must be one inert file; empty where nothing is."""
    page = parsed(source)
    found, ids = [], []
    for element in page.iter():
        if not isinstance(element.tag, str):
            continue
        name = tag(element)
        if name in LOADING:
            found.append(f"<{name}>")
        for key, value in attributes(element):
            inside = value.startswith(("#", "data:image/png;base64,"))
            if key in ("src", "href", "srcset", "data", "action", "poster", "background") and not inside:
                found.append(f"{name} {key}={value}")
            if key.startswith("on") or key == "style" or (key not in ("aria-label", "content") and "url(" in value):
                found.append(f"{name} {key}={value}")
            if key == "id":
                ids.append(value)
        if name == "svg":
            given = dict(attributes(element))
            if given.get("role") != "img" or len(given.get("aria-label", "")) < 20:
                found.append("an svg without a name")
    found += [f"id {each} twice" for each in set(ids) if ids.count(each) > 1]
    named = {value for element in page.iter() for key, value in attributes(element) if key == "aria-labelledby"}
    found += [f"no id {each}" for each in named - set(ids)]
    found += [f"no target {each}" for each in re.findall(r'href="#([^"]*)"', source) if each not in ids]
    css = "".join(text(each) for each in elements(page, "style"))
    found += [f"style: {word}" for word in ("url(", "@import", "expression(", "http") if word in css]
    levels = [
        int(tag(each)[1]) for each in page.iter() if isinstance(each.tag, str) and re.fullmatch("h[1-6]", tag(each))
    ]
    if levels[:1] != [1] or levels.count(1) != 1 or any(later > earlier + 1 for earlier, later in pairwise(levels)):
        found.append(f"headings {levels}")
    if dict(attributes(elements(page, "html")[0])).get("lang") != "en":
        found.append("no language")
    return found
