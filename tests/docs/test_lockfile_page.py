"""docs/lockfile.md is true beyond its commands (test_pages.py runs those): its tables name every key, its examples are read."""

import re
import shutil
import tomllib
from dataclasses import fields

import pytest

from ln_audit import cli, policy
from ln_audit.demand import Waiver
from ln_audit.lock.reading import read
from ln_audit.lock.schema import DIGESTS, LockedNorm
from tests.docs.runner.blocks import blocks
from tests.shared import FIXTURES, ROOT

PAGE = ROOT / "docs" / "lockfile.md"
TEXT = PAGE.read_text(encoding="utf-8")
LOCK, WAIVER = (block.text for block in blocks(PAGE, "docs/lockfile.md") if block.language == "toml")


@pytest.fixture
def here(tmp_path, monkeypatch):
    shutil.copytree(FIXTURES / "good" / "gpt2-recorded", tmp_path / "path" / "to" / "folder")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_lock_it_shows_is_the_one_that_is_written(here):
    assert cli.main(["lock", "path/to/folder", "--quiet"]) == 0
    written = (here / "ln-audit.lock").read_text()
    shown = LOCK.strip()
    begins = re.sub(r'(sha256|family_data) = ".*"', r'\1 = "…"', written[written.index("format") :])
    assert begins.startswith(re.sub(r'family_data = ".*"', 'family_data = "…"', shown))


def test_a_lock_of_whole_files_names_them(here):
    assert cli.main(["lock", "path/to/folder", "--full", "-o", "ln-audit.lock"]) == 0
    assert [file.name for file in read("ln-audit.lock").files] == ["model.safetensors"]


def test_every_key_is_explained():
    rows = "\n".join(line for line in TEXT.splitlines() if line.startswith("| "))
    norm = {field.name for field in fields(LockedNorm)} - {"gain", "bias"}
    keys = {*DIGESTS, *norm, *tomllib.loads(LOCK)["model"]}
    assert sorted(key for key in keys | {"format", "elements", "parameters"} if f"`{key}`" not in rows) == []


def test_the_waiver_it_shows_is_one(here, capsys):
    (row,) = tomllib.loads(WAIVER)["waiver"]
    (here / "ln-audit.toml").write_text(WAIVER)
    found = policy.read(".")
    assert found is not None
    assert ([each.rule for each in found.waivers], list(row)) == (["LN102"], [field.name for field in fields(Waiver)])
    assert cli.main(["verify", "path/to/folder"]) == 0
    assert "waiver of LN102 for h.{layer}.ln_1: nothing here to waive" in capsys.readouterr().out
