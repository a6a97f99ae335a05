"""A page is one inert file: its policy lets nothing load, and no text that is put into it is more than text."""

import base64
import hashlib

import pytest
from jinja2 import UndefinedError
from markupsafe import Markup

from ln_audit.reports import page as pages
from ln_audit.reports.page import page
from tests.reports.page_reader import attributes, elements, faults, parsed, text

EVIL = (
    "<script>alert(1)</script>\"'><img src=http://e.example/x>&amp;\x1b[31m\u202e\n::error::\x00\ud800[a](javascript:b)"
)
SHOWN = "<script>alert(1)</script>\"'><img src=http://e.example/x>&amp;\\x1b[31m\\u202e\\n::error::\\x00\\ud800[a](javascript:b)"


def put(value: object, template: str = "<p>{{ value }}</p><p title=\"{{ value }}\">{{ value | join('; ') if value is iterable and value is not string }}</p>") -> str:  # fmt: skip
    return str(pages._environment().from_string(template).render(value=value))


def test_foreign_text_is_shown_and_does_nothing():
    made = parsed(f"<!DOCTYPE html><html><head><title>t</title></head><body>{put(EVIL)}</body></html>")
    plain, titled = elements(made, "p")
    assert (text(plain), dict(attributes(titled))) == (SHOWN, {"title": SHOWN})
    assert elements(made, "script") == elements(made, "img") == []


def test_so_is_a_list_of_it():
    assert put([EVIL, EVIL]).count("<script>") == 0
    assert put((EVIL, "b"), "{{ value | join('; ') }}").startswith("&lt;script&gt;")


def test_a_text_is_bounded():
    assert len(put("x" * 100_000)) < 3000
    assert put("x" * 1200, "{{ value }}") == "x" * 1200


def test_html_of_templates_stays_html_and_numbers_are_text():
    assert put(Markup("<b>b</b>"), "{{ value }}") == "<b>b</b>"
    assert put(3, "{{ value }}") == "3"


def test_a_name_that_a_template_has_wrong_is_an_error_and_no_gap():
    with pytest.raises(UndefinedError):
        put(1, "{{ valeu }}")


def test_the_policy_allows_the_one_style_sheet_and_the_pictures_own_pixels():
    made = page("trace.html", **blank())
    read = parsed(made)
    (policy,) = [dict(attributes(each))["content"] for each in elements(read, "meta") if "http-equiv" in each.attrib]
    (style,) = [each.text for each in elements(read, "style")]
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    assert (
        policy == f"default-src 'none'; style-src 'sha256-{digest}'; img-src data:; base-uri 'none'; form-action 'none'"
    )
    assert faults(made) == []


def blank() -> dict[str, object]:
    from ln_audit.reports.wording import count
    from ln_audit.trace.stream import Magnitude, Trace

    state = Magnitude("before", 1, 1.0, ())
    trace = Trace("r", "", 4, (), state, state, (), (), None)
    return {"trace": trace, "picture": None, "named": [], "facts": [], "count": count, "outlier_ratio": "6"}


def test_the_reader_of_these_tests_sees_what_it_is_there_to_see():
    ours = page("trace.html", **blank())
    for planted, told in (
        ('<script src="https://e.example/x.js"></script>', ["<script>", "script src=https://e.example/x.js"]),
        ('<p style="color:red">x</p>', ["p style=color:red"]),
        ("<svg></svg>", ["an svg without a name"]),
        ('<p id="title">x</p>', ["id title twice"]),
        ('<a href="#nowhere">x</a>', ["no target nowhere"]),
        ("<h5>x</h5>", ["headings [1, 2, 3, 3, 3, 5]"]),
    ):
        assert faults(ours.replace("</main>", f"{planted}</main>")) == told
