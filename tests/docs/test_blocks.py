"""No block and no claim of the documentation goes by unseen: each is run, or named here with where it is."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from ln_audit import cli
from tests.docs.runner.blocks import LANGUAGES, Block, blocks
from tests.docs.runner.pages import PAGES
from tests.shared import ROOT

FILES = {
    path.relative_to(ROOT).as_posix(): path for path in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
}
BLOCKS = {name: blocks(path, name) for name, path in FILES.items()}
OWN = {name: ROOT / "tests" / "docs" / f"test_{path.stem.replace('-', '_')}_page.py" for name, path in FILES.items()}
# What a page shows and a test of its own compares: by page, how many blocks without a title.
COMPARED = {"docs/lockfile.md": 1, "docs/families.md": 1}
OTHERS_OPTIONS = {"--tb", "--rcfile"}  # of pytest


def runs(block: Block) -> bool:
    return bool(block.title) or block.language in ("", "console", "sh", "python", "diff")


@pytest.mark.parametrize("page", BLOCKS)
def test_every_block_says_what_it_is(page):
    languages = [block.language for block in BLOCKS[page]]
    assert set(languages) <= set(LANGUAGES) - (set() if page == "README.md" else {""})
    assert not [
        block.place
        for block in BLOCKS[page]
        if block.language == "text" and re.search(r"^(\$ |ln-audit )", block.text, re.MULTILINE)
    ]
    assert not [block.place for block in BLOCKS[page] if block.language == "diff" and not block.title]


def test_every_page_with_something_to_run_is_run():
    assert [
        page for page in BLOCKS if any(map(runs, BLOCKS[page])) and page not in PAGES and not OWN[page].exists()
    ] == []
    assert [page for page in PAGES if page not in FILES] == []


def test_what_is_shown_and_not_run_is_compared_by_a_test_of_its_own():
    shown = {
        page: len([block for block in found if not runs(block) and block.language != "text"])
        for page, found in BLOCKS.items()
        if page in PAGES
    }
    assert {page: count for page, count in shown.items() if count} == COMPARED
    assert all("blocks(" in OWN[page].read_text() for page in COMPARED)


def test_a_script_that_is_shown_is_used():
    for page in PAGES:
        found = BLOCKS[page]
        for at, block in enumerate(found):
            if block.title.endswith((".py", ".sh")) and "/" not in block.title and block.language != "diff":
                name = block.title.removesuffix(".py")
                assert any(name in later.text for later in found[at + 1 :]), f"{page}: {block.title}"


def test_commands_that_another_test_runs_are_there_and_so_is_the_test():
    for page, setup in PAGES.items():
        shown = {
            line.removeprefix("$ ").partition(" #")[0].strip()
            for block in BLOCKS[page]
            for line in block.text.splitlines()
        }
        assert set(setup.elsewhere) <= shown
        assert [test for test in setup.elsewhere.values() if not exists(test)] == []


def exists(test: str) -> bool:
    file, _, name = test.partition("::")
    path = ROOT / file
    return path.is_file() and re.search(rf"^def {name}\(", path.read_text(encoding="utf-8"), re.MULTILINE) is not None


def test_every_test_that_holds_a_promise_of_the_security_page_exists():
    text = FILES["docs/security.md"].read_text(encoding="utf-8")
    named = re.findall(r"`(tests/[\w/]+\.py::\w+)`", text)
    assert len(named) == text.count("::") > 40
    assert [test for test in named if not exists(test)] == []
    rows = [line for line in text.splitlines() if line.startswith("| ") and not line.startswith("| promised ")]
    assert [row for row in rows if "::" not in row] == []


def help_of(capsys, *words: str) -> str:
    assert cli.main([*words, "--help"]) == 0
    return capsys.readouterr().out


@pytest.mark.parametrize("page", [page for page in FILES if page in PAGES])
def test_every_command_and_option_in_the_text_exists(page, capsys):
    text = re.sub(r"^```.*?^```$", "", FILES[page].read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    known = set(re.findall(r"^│ (\w+) ", help_of(capsys), re.MULTILINE))
    assert known >= {"verify", "report", "lock"}
    assert set(re.findall(r"`ln-audit (\w+)", text)) - known == set()
    options = {option for command in known for option in re.findall(r"--[a-z-]+", help_of(capsys, command))}
    named = {
        option for code in re.findall(r"`([^`\n]+)`", text) for option in re.findall(r"(?<![\w-])--[a-z][a-z-]+", code)
    }
    assert named - options - OTHERS_OPTIONS == set()


@pytest.mark.parametrize("page", ["README.md", "CONTRIBUTING.md"])
def test_every_make_target_exists(page):
    named = set(re.findall(r"(?:^|`)make ([a-z-]+)", (ROOT / page).read_text(), re.MULTILINE))
    made = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    assert named - made == set()
    assert len(named) > 2


@pytest.mark.parametrize("page", [page for page in FILES if page.startswith("docs/extend/")])
def test_the_code_of_pages_that_extend_the_package_is_written_as_the_package_is(page):
    for block in BLOCKS[page]:
        if block.title.startswith(("ln_audit/", "tests/")) and block.language == "python":
            words = [
                str(Path(sys.executable).with_name("ruff")),
                "check",
                "--quiet",
                "--config",
                str(ROOT / "pyproject.toml"),
                "--stdin-filename",
                block.title,
                "-",
            ]
            made = subprocess.run(words, input=block.text, capture_output=True, text=True, cwd=ROOT, check=False)
            assert made.stdout == ""
            assert made.returncode == 0, made.stderr


def anchors(text: str) -> set[str]:
    """What the headings of a page are called in a link."""
    headings = re.findall(r"^#+ (.*)$", re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", ["README.md", "CONTRIBUTING.md"])
def test_every_link_of_a_page_outside_the_site_leads_somewhere(page):
    links = re.findall(r"\]\(([^)\s:]+)\)", (ROOT / page).read_text(encoding="utf-8"))
    assert len(links) > 5
    for link in links:
        file, _, anchor = link.partition("#")
        assert (ROOT / file).is_file(), link
        assert not anchor or anchor in anchors((ROOT / file).read_text(encoding="utf-8")), link
