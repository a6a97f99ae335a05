"""The one door to matplotlib: the same drawing each time, in the page's colours, whatever the user's own settings are."""

import ast

import matplotlib as mpl

from ln_audit.reports.pictures.canvas import BLUE, COLOURS, INK, plain_ticks, svg
from tests.reports.pictures.drawn import shapes, texts
from tests.shared import ROOT


def line(page):
    axes = page.add_axes((0.2, 0.2, 0.7, 0.7))
    axes.plot([0, 1], [-1, 1], color=BLUE)
    axes.annotate("$x^2$ <b>", (0, 0))
    plain_ticks(axes)


def test_a_drawing_has_the_pages_colours_and_its_name():
    made = svg(line, (3, 2), "a line")
    assert made.startswith('<svg viewBox="0 0 216 144" role="img" aria-label="a line">')
    assert len(shapes(made, "path", stroke="var(--blue)")) == 1
    assert {each.get("fill") for each in shapes(made, "text")} == {"currentColor"}


def test_a_dollar_is_a_dollar_and_a_minus_a_minus():
    assert "$x^2$ <b>" in texts(svg(line, (3, 2), "a line"))
    assert "−0.6" in texts(svg(line, (3, 2), "a line"))


def test_it_is_the_same_each_time_whatever_the_users_settings_and_leaves_those_alone():
    first = svg(line, (3, 2), "a line")
    with mpl.rc_context({"axes.facecolor": "red", "font.size": 30, "svg.fonttype": "path", "grid.linewidth": 9}):
        before = dict(mpl.rcParams)
        assert svg(line, (3, 2), "a line") == first
        assert dict(mpl.rcParams) == before


def test_every_stand_in_is_a_colour_of_its_own():
    assert len(set(COLOURS)) == len(set(COLOURS.values())) == 7
    assert COLOURS[INK] == "currentColor"


def test_the_style_sheet_has_every_colour_in_light_dark_and_print():
    css = (ROOT / "ln_audit" / "reports" / "templates" / "style.css").read_text()
    for name in COLOURS.values():
        if name.startswith("var("):
            assert css.count(f"{name[4:-1]}: #") == 3, name


def test_no_picture_asks_for_pyplot_and_matplotlib_is_imported_only_inside_functions():
    for path in (ROOT / "ln_audit" / "reports").rglob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        assert "pyplot" not in path.read_text(encoding="utf-8")
        for node in tree.body:
            names = [a.name for a in node.names] if isinstance(node, ast.Import) else [getattr(node, "module", "")]
            assert not any(str(name).startswith(("matplotlib", "jinja2", "markupsafe")) for name in names), path.name
