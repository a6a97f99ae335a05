"""A commit may not let go of a lock by the policy: what the one before held must still be held, or be gone."""

import shutil

import pytest

from ln_audit.errors import UsageError
from ln_audit.hooks.__main__ import main
from ln_audit.hooks.before import pairs_before, refuse_letting_go
from ln_audit.hooks.locked import Held
from tests.hooks.test_pre_commit import run as git
from tests.shared import FIXTURES

HELD = '[[target]]\ntarget = "m"\nlock = "locks/m.lock"\n'
GATE = '[[target]]\ntarget = "../m"\nlock = "../locks/m.lock"\n'
LET_GO = (
    "ln-audit: locks/m.lock: expected a policy that holds m to it, as that of the commit before did, found none\n"
    "  → name it in the policy again; or, where that model shall be held to nothing, commit with SKIP=ln-audit-lock\n"
)


@pytest.fixture(autouse=True)
def repo(tmp_path, monkeypatch):
    for name in ("GIT_DIR", "GIT_INDEX_FILE", "PRE_COMMIT_FROM_REF", "PRE_COMMIT_TO_REF"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    shutil.copytree(FIXTURES / "good" / "gpt2-locked", tmp_path / "m")
    (tmp_path / "locks").mkdir()
    (tmp_path / "m" / "ln-audit.lock").rename(tmp_path / "locks" / "m.lock")
    (tmp_path / "ln-audit.toml").write_text(HELD)
    git(tmp_path, "git", "init", "--quiet")
    return tmp_path


def commit(repo):
    stage(repo)
    assert git(repo, "git", "commit", "--quiet", "--no-verify", "--message", "x").returncode == 0


def stage(repo):
    assert git(repo, "git", "add", "--all").returncode == 0


def test_before_the_first_commit_nothing_was_held_and_what_the_policy_names_now_is(capsys):
    assert pairs_before(None) == ()
    assert main(["lock", "--quiet"]) == 0
    assert capsys.readouterr().out.startswith("PASS  m")


def test_the_policy_of_the_last_commit_is_read_from_wherever_it_lay(repo, monkeypatch):
    (repo / "ci").mkdir()
    (repo / "ci" / "gate.toml").write_text(GATE)
    commit(repo)
    (repo / "ln-audit.toml").unlink()
    assert pairs_before(None) == (Held("m", "locks/m.lock"),)
    assert pairs_before("ci/gate.toml") == (Held("./ci/../m", "ci/../locks/m.lock"),)
    (repo / "pyproject.toml").write_text('[tool.ln-audit]\n[[tool.ln-audit.target]]\ntarget = "m"\nlock = "p.lock"\n')
    commit(repo)
    assert pairs_before(None) == (Held("m", "p.lock"),)
    monkeypatch.setenv("PRE_COMMIT_FROM_REF", "HEAD~1")
    monkeypatch.setenv("PRE_COMMIT_TO_REF", "HEAD")
    assert pairs_before(None) == (Held("m", "locks/m.lock"),)


@pytest.mark.parametrize("text", [None, "", 'targets = ["m"]\n', "strict = true\n"])
def test_a_commit_that_takes_the_lock_from_the_policy_is_none(repo, text, capsys):
    commit(repo)
    (repo / "ln-audit.toml").rename(repo / "old.toml")
    if text is not None:
        (repo / "ln-audit.toml").write_text(text)
    shutil.copy(FIXTURES / "good" / "gpt2-negative-gain" / "model.safetensors", repo / "m" / "model.safetensors")
    stage(repo)
    assert main(["lock", "--quiet", "m/model.safetensors"]) == 2
    assert capsys.readouterr().err == LET_GO
    (repo / "locks" / "m.lock").unlink()
    stage(repo)
    assert main(["lock", "--quiet"]) == 2


def test_one_that_takes_the_model_too_or_moves_the_lock_is_one(repo, capsys):
    commit(repo)
    (repo / "ln-audit.toml").write_text('[[target]]\ntarget = "m/model.safetensors"\nlock = "moved.lock"\n')
    (repo / "locks" / "m.lock").rename(repo / "moved.lock")
    stage(repo)
    assert main(["lock", "--quiet"]) == 0
    assert capsys.readouterr().out.startswith("PASS  m/model.safetensors")
    (repo / "ln-audit.toml").unlink()
    (repo / "moved.lock").rename(repo / "m" / "ln-audit.lock")
    stage(repo)
    assert main(["lock", "--quiet"]) == 0
    assert capsys.readouterr().out.startswith("PASS  ./m")
    shutil.rmtree(repo / "m")
    stage(repo)
    assert main(["lock", "--quiet"]) == 0


def test_a_policy_that_could_not_be_read_may_be_mended(repo):
    (repo / "ln-audit.toml").write_text("strict = maybe")
    commit(repo)
    assert pairs_before(None) == ()


def test_a_lockfile_that_stays_is_held_to_something(repo):
    old = Held("gone", "locks/m.lock")
    refuse_letting_go([old], [Held("other", "./locks/m.lock")])
    with pytest.raises(UsageError, match=r"locks/m\.lock: expected a policy that holds gone to it"):
        refuse_letting_go([old], [])
    (repo / "locks" / "m.lock").unlink()
    refuse_letting_go([old], [])
