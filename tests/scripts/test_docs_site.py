"""The site says what the program says: rule pages, the schema's table, and links and assets that lead somewhere."""

import json
import os
import subprocess
import sys
from html.parser import HTMLParser
from types import SimpleNamespace

import pytest

from ln_audit import checks, cli
from ln_audit.explain import rule_document
from scripts import docs_site
from tests.shared import ROOT


@pytest.mark.parametrize("rule", [check.RULE for check in checks.CHECKS], ids=lambda rule: rule.name)
def test_a_rules_page_is_what_explain_prints(rule, capsys):
    page = docs_site.rule_pages()[f"rules/{rule.name}.md"]
    assert cli.main(["explain", rule.id]) == 0
    printed = capsys.readouterr().out
    assert page.removeprefix("# ").replace("**", "") == printed == rule_document(rule.name)
    assert page.count("**") == 8


def test_the_index_leads_to_every_rule_with_its_first_sentence():
    index = docs_site.rule_pages()["rules/index.md"]
    rows = [line for line in index.splitlines() if line.startswith("| [")]
    assert [row.split("]")[0][3:] for row in rows] == sorted(f"{c.RULE.id} {c.RULE.name}" for c in checks.CHECKS)
    assert "| [LN101 not-finite](not-finite.md) | A norm's gain or bias holds NaN or infinity. |" in rows


def keys(value, path=""):
    """Every key of a document, as the table writes it."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield f"{path}{key}"
            yield from keys(inner, f"{path}{key}.")
    elif isinstance(value, list):
        for inner in value:
            yield from keys(inner, f"{path.removesuffix('.')}[].")


def test_the_table_of_the_schema_names_every_key_of_a_real_report(capsys):
    assert cli.main(["verify", "sample", "--format", "json"]) == 0
    found = set(keys(json.loads(capsys.readouterr().out)))
    rows = {line.split("`")[1] for line in docs_site.schema_table().splitlines() if line.startswith("| `")}
    free = ("reports[].checkpoint.dtypes.", "reports[].findings[].evidence.")  # their keys are data
    assert {key for key in found if not key.startswith(free)} - rows == set()
    assert '| `verdict` | `"pass"`, `"fail"`, `"incomplete"`, `"error"` |  |' in docs_site.schema_table()
    assert "| `policy.sha256` | string |  |" in docs_site.schema_table()


def test_the_navigation_has_every_rule_and_every_page(tmp_path):
    for name in ("a.md", "ci.md", "new.md"):
        (tmp_path / name).write_text("# x\n")
    written = ["a.md", {"Tools": [{"CI": "ci.md"}]}, {"Look": [{"Rules": "rules/index.md"}]}]
    first, tools, look, more = docs_site.on_config(SimpleNamespace(docs_dir=str(tmp_path), nav=written)).nav
    assert (first, tools, more) == ("a.md", {"Tools": [{"CI": "ci.md"}]}, {"More": ["new.md"]})
    assert look["Look"][0]["Rules"][:2] == ["rules/index.md", {"LN001 missing-norm": "rules/missing-norm.md"}]
    assert len(look["Look"][0]["Rules"]) == 1 + len(checks.CHECKS)


def test_links_to_a_rule_lead_to_its_page():
    def written(text, here):
        page = SimpleNamespace(file=SimpleNamespace(src_uri=here))
        return docs_site.on_page_markdown(text, page, None, None)

    text = "[LN302](../../ln_audit/checks/lock_mismatch.py) and [x](../x.md#y)"
    assert written(text, "jobs/a.md") == "[LN302](../rules/lock-mismatch.md) and [x](../x.md#y)"
    assert written("[LN302](../ln_audit/checks/lock_mismatch.py)", "a.md") == "[LN302](rules/lock-mismatch.md)"
    assert written(docs_site.HERE, "a.md") == docs_site.schema_table()


class Page(HTMLParser):
    """The addresses that a page loads by itself, and the text of its article."""

    def __init__(self):
        super().__init__()
        self.loaded, self.text, self.inside = [], "", False

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        if tag in ("script", "img", "iframe", "source"):
            self.loaded.append(given.get("src"))
        if tag == "link" and given.get("rel") not in ("next", "prev", "canonical"):
            self.loaded.append(given["href"])
        self.inside = self.inside or tag == "article"

    def handle_endtag(self, tag):
        self.inside = self.inside and tag != "article"

    def handle_data(self, data):
        self.text += data if self.inside else ""


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The site, built as `make site` builds it."""
    pytest.importorskip("material", reason='the site\'s generator is not installed: pip install "ln-audit[docs]"')
    target = tmp_path_factory.mktemp("site")
    made = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(target)],
        cwd=ROOT, env=os.environ | {"NO_MKDOCS_2_WARNING": "1"}, capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert (made.returncode, made.stdout, made.stderr) == (0, "", "")
    return target


def parsed(file):
    page = Page()
    page.feed(file.read_text(encoding="utf-8"))
    return page


def test_a_page_loads_nothing_from_anywhere_else(site):
    for file in site.rglob("*.html"):
        loaded = [address for address in parsed(file).loaded if address is not None]
        assert [address for address in loaded if "//" in address] == []
        assert [
            address
            for address in loaded
            if file.name != "404.html" and not (file.parent / address.partition("?")[0]).exists()
        ] == []


def test_what_a_reader_sees_of_a_rule_is_what_explain_prints(site):
    for check in checks.CHECKS:
        seen = " ".join(parsed(site / "rules" / f"{check.RULE.name}.html").text.replace("¶", "").split())
        assert seen == " ".join(rule_document(check.RULE.id).replace("`", "").split())


def test_every_page_is_in_the_navigation(site):
    home = (site / "index.html").read_text(encoding="utf-8")
    pages = {file.relative_to(site).as_posix() for file in site.rglob("*.html")} - {"404.html", "index.html"}
    assert sorted(page for page in pages if f'href="{page}"' not in home) == []
