"""A trace as a page: valid, inert, and in numbers what the text says."""

from dataclasses import replace

from ln_audit import cli
from ln_audit.trace.html import render
from ln_audit.trace.stream import Outlier
from tests.reports.page_reader import alternatives, elements, faults, parsed, text
from tests.shared import FIXTURES
from tests.trace.test_text import a_trace, magnitude

STACK = str(FIXTURES / "recordings" / "prenorm-stack.safetensors")


def test_the_page_has_the_growth_the_outliers_and_what_is_shown():
    outliers = tuple(Outlier(channel, 9.0, 7.5) for channel in range(138, 144))
    page = render(a_trace(before=magnitude("before", 12.0, outliers)))
    assert faults(page) == []
    read = parsed(page)
    assert alternatives(read)[0].startswith("Mean L2 norm per position: 4 in hidden_states.0, 12 in before")
    assert "before 138 9 7.5" in text(read)
    assert "before and 1 more" in text(read)
    assert "hidden_states.2 equals after in every number" in text(read)


def test_nothing_finite_is_said_and_not_drawn():
    none = magnitude("before", None)
    page = render(a_trace(states=(), before=none, after=none))
    assert faults(page) == []
    assert "Nothing to draw" in page


def test_names_are_inert():
    page = render(replace(a_trace(), recording="<script>\x1b[31m", norm='"><img src=x>'))
    assert faults(page) == []
    assert text(elements(parsed(page), "h2")[0]) == "<script>\\x1b[31m"


def test_the_command_line_writes_it_beside_the_text_and_alone(tmp_path, capsys):
    page = tmp_path / "trace.html"
    assert cli.main(["trace", STACK, "--output", str(page)]) == 0
    told = capsys.readouterr().out
    assert told.startswith(f"{STACK}: 4 positions, 64 channels")
    assert cli.main(["trace", STACK, "--format", "html"]) == 0
    assert capsys.readouterr().out == page.read_text(encoding="utf-8")
    assert cli.main(["trace", STACK]) == 0
    assert capsys.readouterr().out == told


def test_another_format_is_refused_before_anything_is_read(capsys):
    assert cli.main(["trace", "nowhere.safetensors", "--output", "x.json"]) == 2
    assert capsys.readouterr().err == "ln-audit: --format: expected one of text, html, found 'json'\n"


def test_the_environments_format_is_for_reports(monkeypatch, capsys):
    monkeypatch.setenv("LN_AUDIT_FORMAT", "json")
    assert cli.main(["trace", STACK]) == 0
    assert capsys.readouterr().out.startswith(STACK)
