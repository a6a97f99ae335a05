"""A page of HTML that is one file: templates whose every insertion is made inert, and a policy that lets nothing else load.

Text from a checkpoint passes `_inert` (one line, no control or direction characters, bounded) and then Jinja's escaping,
whatever a template does. Only what `Markup` wraps here is HTML: our own style sheet, and drawings out of `pictures.svg`,
which hold no foreign text but their escaped label.
"""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from ln_audit import __version__
from ln_audit.printable import one_line

if TYPE_CHECKING:
    from jinja2 import Environment

_LONGEST = 1200  # characters of one text; an honest message has some hundred


def page(template: str, **values: object) -> str:
    """The template filled with `values`: a whole document, ending with a newline."""
    style = _file("style.css")
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    # Nothing is loaded and nothing runs; the one style sheet is ours, and pictures hold their pixels themselves.
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; img-src data:; base-uri 'none'; form-action 'none'"
    from markupsafe import Markup

    made = _environment().get_template(template)
    return made.render(style=Markup(style), policy=policy, version=__version__, **values)  # noqa: S704 - our own file


@cache
def _environment() -> Environment:
    from jinja2 import Environment, FunctionLoader, StrictUndefined
    from markupsafe import Markup

    made = Environment(
        loader=FunctionLoader(_file),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_inert,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    made.filters["drawing"] = lambda picture: Markup(picture.svg)  # noqa: S704 - see the module's first lines
    return made


def _inert(value: Any) -> Any:
    """Foreign text on one line and bounded; HTML that templates made is left alone."""
    if hasattr(value, "__html__"):
        return value
    text = one_line(str(value))
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]} …"


def _file(name: str) -> str:
    return (files("ln_audit.reports") / "templates" / name).read_text(encoding="utf-8")
