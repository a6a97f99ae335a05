"""docs/ci.md is true: its files are the ones that are tested, its scripts run, its tables are the action's."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import ln_audit
from ln_audit import reports
from tests.shared import FIXTURES, ROOT

yaml = pytest.importorskip("yaml", reason="PyYAML is not installed")

TEXT = (ROOT / "docs" / "ci.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r'^```(\w*)(?: title="([^"]*)")?\n(.*?)^```$', TEXT, re.MULTILINE | re.DOTALL)
FILES = {title: block for _, title, block in BLOCKS if title}
ACTION = yaml.safe_load((ROOT / "action.yml").read_text())
HOOKS = {hook["id"] for hook in yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())}


@pytest.fixture
def here(tmp_path):
    shutil.copytree(FIXTURES / "good" / "gpt2-locked", tmp_path / "path" / "to" / "folder")
    shutil.copy(FIXTURES / "good" / "gpt2-locked" / "ln-audit.lock", tmp_path)
    shutil.copytree(FIXTURES / "bad" / "LN101-not-finite", tmp_path / "bad")
    return tmp_path


def run(command: list[str], cwd: Path, first: Path) -> subprocess.CompletedProcess[str]:
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("LN_AUDIT_", "HF_"))}
    path = f"{first}:{Path(sys.executable).parent}:{os.environ['PATH']}"
    return subprocess.run(
        command, cwd=cwd, env=clean | {"PATH": path}, capture_output=True, text=True, timeout=120, check=False
    )


def test_every_file_that_is_shown_is_known_here():
    assert list(FILES) == [".github/workflows/norms.yml", ".pre-commit-config.yaml", "norms.sh", ".gitlab-ci.yml"]
    assert [language for language, title, _ in BLOCKS if not title] == ["yaml", "text"]


def test_the_workflow_gives_the_action_what_it_takes():
    example = (ROOT / "docs" / "examples" / "github-workflow.yml").read_text()
    assert example.partition("\n")[2] == FILES[".github/workflows/norms.yml"]
    steps = yaml.safe_load(example)["jobs"]["norms"]["steps"]
    (own,) = (step for step in steps if "/ln-audit@" in step["uses"])
    assert own["uses"] == f"OWNER/ln-audit@v{ln_audit.__version__}"
    assert set(own["with"]) <= set(ACTION["inputs"])
    named = set(re.findall(r"steps\.norms\.outputs\.([\w-]+)", TEXT))
    assert named <= set(ACTION["outputs"])
    assert not any("run" in step for step in steps)


def test_the_tables_are_the_actions_inputs_and_outputs():
    rows = [line.split("|")[1] for line in TEXT.splitlines() if line.startswith("| `")]
    told = [name for row in rows for name in re.findall(r"`([\w-]+)`", row)]
    assert sorted(told) == sorted([*ACTION["inputs"], *ACTION["outputs"]])


def test_the_hooks_that_are_named_exist():
    (shown,) = yaml.safe_load(FILES[".pre-commit-config.yaml"])["repos"]
    assert (shown["rev"], {hook["id"] for hook in shown["hooks"]}) == (f"v{ln_audit.__version__}", HOOKS)
    (more,) = (block for language, title, block in BLOCKS if language == "yaml" and not title)
    assert {hook["id"] for hook in yaml.safe_load(more)} <= HOOKS


def test_the_lockfile_hook_runs_with_the_arguments_that_are_shown(here):
    (more,) = (block for language, title, block in BLOCKS if language == "yaml" and not title)
    (hook,) = yaml.safe_load(more)
    made = run([sys.executable, "-m", "ln_audit.hooks", "lock", *hook["args"], "x"], here, here)
    assert (made.returncode, made.stderr) == (0, "")


@pytest.fixture
def installs(tmp_path):
    """A folder whose python3 makes no environment, but one of links to this one."""
    folder = tmp_path / "programs"
    folder.mkdir()
    ready = shlex.quote(str(Path(sys.executable).parent))
    (folder / "python3").write_text(
        f"#!/bin/sh\nmkdir -p $3/bin && ln -s {ready}/ln-audit $3/bin/ln-audit && printf '#!/bin/sh\\n' > $3/bin/pip && chmod +x $3/bin/pip\n"
    )
    (folder / "pip").write_text("#!/bin/sh\n")
    for program in folder.iterdir():
        program.chmod(0o755)
    return folder


@pytest.mark.parametrize(
    ("words", "code", "last"),
    [
        (["path/to/folder"], 0, "norms: pass"),
        (["path/to/folder", "bad"], 1, "norms: fail: the model is wrong, see above"),
        (["--eps", "x", "bad"], 2, "norms: the call is wrong"),
        (["./none"], 3, "norms: nobody can tell (3)"),
    ],
)
def test_the_shell_script_hands_the_exit_code_on(here, installs, words, code, last):
    (here / "norms.sh").write_text(FILES["norms.sh"])
    made = run(["sh", "norms.sh", *words], here, installs)
    assert (made.returncode, made.stdout.splitlines()[-1]) == (code, last)
    assert (here / "norms.json").exists() or code == 2


def test_the_shell_script_does_not_pass_where_nothing_could_be_installed(here, installs):
    (here / "norms.sh").write_text(FILES["norms.sh"])
    (installs / "python3").write_text("#!/bin/sh\nexit 1\n")
    assert run(["sh", "norms.sh", "path/to/folder"], here, installs).returncode == 3


@pytest.mark.skipif("junit" not in reports.names(), reason="this version has no --output junit=FILE yet")
def test_the_gitlab_job_runs_and_leaves_its_report(here, installs):
    job = yaml.safe_load(FILES[".gitlab-ci.yml"])["norms"]
    for line in job["script"]:
        made = run(["sh", "-c", line], here, installs)
        assert (line, made.returncode) == (line, 0)
    assert (here / job["artifacts"]["reports"]["junit"]).read_text().startswith("<?xml")


def test_every_version_is_this_one_and_every_link_leads_somewhere():
    assert set(re.findall(r"ln-audit(?:==|@v)([\d.]+\d)", TEXT)) == {ln_audit.__version__}
    assert [link for link in re.findall(r"\]\((\S+?)\)", TEXT) if not (ROOT / "docs" / link).exists()] == []


def test_every_option_named_exists(capsys):
    from ln_audit import cli

    assert cli.main(["verify", "--help"]) == 0
    known = set(re.findall(r"--[a-z-]+", capsys.readouterr().out))
    assert (
        set(re.findall(r"[`\[ ](--[a-z-]+)", TEXT.partition("## A container")[0])) - known - {"--target", "--quiet"}
        == set()
    )
