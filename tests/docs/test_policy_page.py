"""docs/policy.md is true: its example is a policy under which a gate passes, its commands run, its tables are the reader's."""

import re
import shutil
import tomllib

import pytest

from ln_audit import cli, policy
from ln_audit.policy.keys import DIGESTS, POLICY, TARGET, WAIVER
from tests.hub_simulator import HubSimulator
from tests.shared import FIXTURES, ROOT
from tests.test_cli import SCRIPT, run
from tests.test_seven_containers import gguf

TEXT = (ROOT / "docs" / "policy.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w*)\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)
(EXAMPLE,) = (block for language, block in BLOCKS if language == "toml")
COMMANDS, MESSAGE, SCHEMA = (block for language, block in BLOCKS if language in ("sh", "text"))
COMMIT = "0123456789abcdef0123456789abcdef01234567"


@pytest.fixture
def here(tmp_path):
    """The folders and files that the example names, and a Hub that has its model."""
    (tmp_path / "path" / "to").mkdir(parents=True)
    shutil.copytree(FIXTURES / "good" / "gpt2-recorded", tmp_path / "path" / "to" / "folder")
    shutil.copy(FIXTURES / "good" / "gpt2-recorded" / "run.safetensors", tmp_path)
    shutil.copy(FIXTURES / "good" / "gpt2-locked" / "ln-audit.lock", tmp_path)
    gguf(tmp_path / "path" / "to")
    (tmp_path / "ln-audit.toml").write_text(EXAMPLE)
    with HubSimulator(FIXTURES / "good" / "gpt2-safetensors", repo="org/name", commit=COMMIT) as hub:
        yield tmp_path, {"HF_ENDPOINT": hub.endpoint, "HF_HOME": str(tmp_path / "hf"), "HF_HUB_DISABLE_XET": "1"}


def test_its_commands_run_and_the_gate_of_the_example_passes(here):
    folder, env = here
    commands = [line.partition(" #")[0].split() for line in (COMMANDS + SCHEMA).splitlines()]
    made = [run(SCRIPT[0], *words[1:], cwd=folder, **env) for words in commands]
    assert [(each.returncode, each.stderr) for each in made] == [(0, "")] * 3
    check, verify, schema = (each.stdout for each in made)
    assert "warnings:" not in check
    assert verify.endswith("3 targets: 3 pass\n")
    assert schema == (ROOT / "ln_audit" / "policy" / "policy.schema.json").read_text()


@pytest.mark.parametrize(
    ("there", "instead", "code"),
    [
        ('families = ["gpt2", "mine"]', 'families = ["mine"]', 1),
        (f'revision = "{COMMIT}"', 'revision = "main"', 1),
        ('"ln_f.gain" = "078c', '"ln_f.gain" = "178c', 1),
        ('"model.safetensors" = "c4', '"model.safetensors" = "d4', 1),
        ('"ln_f.gain"', '"ln_x.gain"', 3),
        ('"run.safetensors"', '"none.safetensors"', 3),
        ('lock = "ln-audit.lock"', 'lock = "none.lock"', 2),
        ("strict = true", "strikt = true", 2),
        ("until = 2999-01-31", "until = 2020-01-31", 1),
    ],
)
def test_each_thing_that_it_asks_for_closes_the_gate(here, there, instead, code):
    folder, env = here
    assert there in EXAMPLE
    (folder / "ln-audit.toml").write_text(EXAMPLE.replace(there, instead))
    assert run(SCRIPT[0], "verify", cwd=folder, **env).returncode == code


def test_the_example_shows_every_kind_of_key(tmp_path):
    (tmp_path / "ln-audit.toml").write_text(EXAMPLE)
    found = policy.read(str(tmp_path))
    assert found is not None
    assert [each.target for each in found.targets] == ["path/to/model.gguf", "path/to/folder", "org/name"]
    assert set(POLICY) - set(tomllib.loads(EXAMPLE)) == {
        "output_dtype",
        "before_rounded",
        "digests",
    }  # shown in a target, or alike


def test_the_message_it_shows_is_the_real_one(tmp_path, monkeypatch, capsys):
    (tmp_path / "ln-audit.toml").write_text("\n" * 6 + "strikt = true\n")
    monkeypatch.chdir(tmp_path)
    assert cli.main(["policy", "check"]) == 2
    assert capsys.readouterr().err == MESSAGE


@pytest.mark.parametrize(
    ("name", "keys"), [("policy", POLICY), ("target", TARGET), ("waiver", WAIVER), ("digests", DIGESTS)]
)
def test_its_tables_have_every_key(name, keys):
    block = TEXT.partition(f"<!-- keys of {name} -->")[2].partition("<!-- end of")[0]
    assert re.findall(r"^\| `(\w+)` \|", block, re.MULTILINE) == list(keys)


def test_its_links_lead_somewhere():
    links = [link.partition("#")[0] for link in re.findall(r"\]\((\S+?)\)", TEXT)]
    assert [link for link in links if not (ROOT / "docs" / link).exists()] == []
