"""The hooks run by the real pre-commit on scratch repositories."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from ln_audit.formats import FORMATS
from ln_audit.hooks.data import UNREAD
from tests.shared import FIXTURES, ROOT

yaml = pytest.importorskip("yaml", reason="pre-commit is not installed")
pytest.importorskip("pre_commit", reason="pre-commit is not installed")

HOOKS = {hook["id"]: hook for hook in yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())}
POINTER = "version https://git-lfs.github.com/spec/v1\noid sha256:" + "a" * 64 + "\nsize 548105171\n"


def run(repo: Path, *command: str) -> subprocess.CompletedProcess[str]:
    names = {name: value for name, value in os.environ.items() if not name.startswith(("GIT_", "LN_AUDIT_", "HF_"))}
    who = {f"GIT_{role}_{what}": "x@example.org" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    own = {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", "PRE_COMMIT_HOME": str(repo.parent / "cache")}
    clean = names | who | own | {"GIT_CONFIG_GLOBAL": os.devnull, "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    return subprocess.run(command, cwd=repo, env=clean, capture_output=True, text=True, timeout=600, check=False)


def commit(repo: Path) -> subprocess.CompletedProcess[str]:
    assert run(repo, "git", "add", "--all").returncode == 0
    return run(repo, "git", "commit", "--message", "change")


def passed(made: subprocess.CompletedProcess[str], hook: str) -> str:
    """What pre-commit says of a hook: Passed, Failed, Skipped."""
    (line,) = [
        line for line in made.stderr.splitlines() + made.stdout.splitlines() if line.startswith(HOOKS[hook]["name"])
    ]
    return line.rpartition(".")[2].partition(")")[2] or line.rpartition(".")[2]


@pytest.fixture
def repo(tmp_path):
    """A repository whose hooks are those of .pre-commit-hooks.yaml, run by this environment instead of one made for them."""
    repo = tmp_path / "repo"
    shutil.copytree(FIXTURES / "good" / "gpt2-sharded", repo / "model")
    shutil.copytree(FIXTURES / "good" / "gpt2-locked", repo / "locked")
    hooks = [hook | {"language": "system"} for hook in HOOKS.values()]
    (repo / ".pre-commit-config.yaml").write_text(yaml.safe_dump({"repos": [{"repo": "local", "hooks": hooks}]}))
    assert run(repo, "git", "init", "--quiet").returncode == 0
    assert run(repo, "pre-commit", "install").returncode == 0
    return repo


def test_a_good_model_is_committed_and_what_is_no_model_is_skipped(repo):
    made = commit(repo)
    assert (made.returncode, passed(made, "ln-audit-verify"), passed(made, "ln-audit-lock")) == (0, "Passed", "Passed")
    (repo / "readme.txt").write_text("words")
    made = commit(repo)
    assert (made.returncode, passed(made, "ln-audit-verify")) == (0, "Skipped")


@pytest.mark.parametrize(
    ("model", "epsilon", "verify", "lock"),
    [("model", "null", "Failed", "Passed"), ("locked", "1e-06", "Passed", "Failed")],
)
def test_a_changed_epsilon_is_not_committed_though_no_weight_changed(repo, model, epsilon, verify, lock):
    assert commit(repo).returncode == 0
    config = repo / model / "config.json"
    config.write_text(config.read_text().replace("1e-05", epsilon))
    made = commit(repo)
    assert (made.returncode, passed(made, "ln-audit-verify"), passed(made, "ln-audit-lock")) == (1, verify, lock)
    assert ("LN008 wrong-epsilon" if verify == "Failed" else "LN302 lock-mismatch") in made.stderr + made.stdout


def test_a_shard_that_lost_its_norms_is_not_committed(repo):
    assert commit(repo).returncode == 0
    first, second = sorted((repo / "model").glob("*.safetensors"))
    shutil.copy(first, second)
    made = commit(repo)
    assert (made.returncode, passed(made, "ln-audit-verify")) == (1, "Failed")
    assert "FAIL  ./model" in made.stderr + made.stdout


def test_a_pointer_in_place_of_a_shard_cannot_be_told_and_is_no_pass(repo):
    next((repo / "model").glob("*-00001-*")).write_text(POINTER)
    made = commit(repo)
    assert (made.returncode, passed(made, "ln-audit-verify")) == (1, "Failed")
    assert "INCOMPLETE  ./model" in made.stderr + made.stdout
    assert "found a Git LFS pointer" in made.stderr + made.stdout


def test_weights_that_are_not_the_locked_ones_are_not_committed(repo):
    assert commit(repo).returncode == 0
    shutil.copy(FIXTURES / "good" / "gpt2-negative-gain" / "model.safetensors", repo / "locked" / "model.safetensors")
    made = commit(repo)
    assert (made.returncode, passed(made, "ln-audit-verify"), passed(made, "ln-audit-lock")) == (1, "Passed", "Failed")
    assert "LN302 lock-mismatch" in made.stderr + made.stdout


def test_every_suffix_of_a_checkpoint_is_looked_at_in_either_case():
    suffixes = [*(suffix for each in FORMATS for suffix in each.SUFFIXES), *UNREAD]
    names = [
        *(f"model{suffix}" for suffix in suffixes),
        "model.onnx.data",
        "model.safetensors.index.json",
        "m.data-00000-of-00001",
        "config.json",
    ]
    for hook in HOOKS.values():
        pattern = re.compile(hook["files"])
        missed = [name for name in (*names, *map(str.upper, names)) if not pattern.search(f"a/{name}")]
        assert missed == []
        assert [name for name in ("readme.md", "a.h5.txt", "bin/x") if pattern.search(name)] == []


def test_a_checkpoint_in_capitals_is_verified(repo):
    assert commit(repo).returncode == 0
    shutil.copy(FIXTURES / "bad" / "LN101-not-finite" / "model.safetensors", repo / "MODEL.SAFETENSORS")
    made = commit(repo)
    assert (made.returncode, passed(made, "ln-audit-verify")) == (1, "Failed")


@pytest.mark.parametrize(
    ("gone", "told"),
    [
        ("ln-audit.lock", "locked/ln-audit.lock: expected the lockfile of locked, found it removed"),
        ("model.safetensors", "locked/ln-audit.lock: expected the model that it locks beside it, found none"),
    ],
)
def test_a_commit_that_only_removes_a_lockfile_or_what_it_locks_is_none(repo, gone, told):
    assert commit(repo).returncode == 0
    (repo / "locked" / gone).unlink()
    made = commit(repo)
    assert (made.returncode, passed(made, "ln-audit-lock")) == (1, "Failed")
    assert told in made.stdout + made.stderr
    assert run(repo, "git", "commit", "--quiet", "--no-verify", "--message", "past the hook").returncode == 0
    made = run(repo, "pre-commit", "run", "--from-ref", "HEAD~1", "--to-ref", "HEAD")  # as CI asks
    assert (made.returncode, told in made.stdout) == (1, True)


def test_a_lockfile_of_the_policy_that_is_gone_is_missed_in_every_commit(repo):
    (repo / "locked" / "ln-audit.lock").rename(repo / "a.lock")
    (repo / "ln-audit.toml").write_text('[[target]]\ntarget = "locked"\nlock = "a.lock"\n')
    assert commit(repo).returncode == 0
    (repo / "a.lock").unlink()
    assert run(repo, "git", "commit", "--all", "--no-verify", "--message", "past the hook").returncode == 0
    (repo / "readme.txt").write_text("words")
    made = commit(repo)
    assert (made.returncode, passed(made, "ln-audit-lock")) == (1, "Failed")
    assert "a.lock: expected a lockfile that can be read" in made.stdout + made.stderr
    made = run(repo, "pre-commit", "run", "ln-audit-lock", "--all-files")
    assert made.returncode == 1


def test_a_model_and_its_lockfile_may_go_and_move_together(repo):
    assert commit(repo).returncode == 0
    (repo / "locked").rename(repo / "moved")
    made = commit(repo)
    assert (made.returncode, passed(made, "ln-audit-lock")) == (0, "Passed")
    shutil.rmtree(repo / "moved")
    made = commit(repo)
    assert (made.returncode, passed(made, "ln-audit-lock")) == (0, "Passed")


@pytest.mark.peers
def test_pre_commit_installs_the_hooks_from_this_repository_and_runs_them(repo):
    hooks = repo.parent / "hooks"  # the tree as it is, committed or not
    tracked = run(ROOT, "git", "ls-files", "--cached", "--others", "--exclude-standard", "ln_audit").stdout.splitlines()
    for name in (".pre-commit-hooks.yaml", "pyproject.toml", "README.md", "LICENSE", *tracked):
        (hooks / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, hooks / name)
    assert run(hooks, "git", "init", "--quiet").returncode == 0
    assert commit(hooks).returncode == 0
    assert run(repo, "git", "add", "--all").returncode == 0
    made = run(repo, "pre-commit", "try-repo", str(hooks), "ln-audit-verify", "--all-files", "--verbose")
    assert (made.returncode, made.stderr) == (0, "")
    assert "2 targets: 2 pass" in made.stdout
    next((repo / "model").glob("*-00001-*")).write_text(POINTER)
    made = run(repo, "pre-commit", "try-repo", str(hooks), "ln-audit-verify", "--all-files", "--verbose")
    assert (made.returncode, "- exit code: 3" in made.stdout) == (1, True)
