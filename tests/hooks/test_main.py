"""The entries of the pre-commit hooks: their words, their exit codes, and what a file's name cannot do."""

import shutil
from pathlib import Path

import pytest

from ln_audit.hooks.__main__ import main
from tests.hooks.test_pre_commit import run as git
from tests.shared import FIXTURES


@pytest.fixture(autouse=True)
def repo(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    shutil.copytree(FIXTURES / "good" / "gpt2-locked", tmp_path / "good")
    shutil.copytree(FIXTURES / "bad" / "LN101-not-finite", tmp_path / "bad")
    shutil.copytree(FIXTURES / "bad" / "LN104-lone-outlier", tmp_path / "warned")
    (tmp_path / "web").mkdir()
    (tmp_path / "web" / "config.json").write_text("{}")
    return tmp_path


@pytest.mark.parametrize(
    ("words", "code", "out"),
    [
        (["verify", "good/config.json"], 0, "PASS  ./good"),
        (["verify", "--quiet", "good/config.json", "bad/model.safetensors"], 1, "2 targets: 1 pass, 1 fail"),
        (["verify", "warned/config.json"], 0, "PASS, 1 warning  ./warned"),
        (["verify", "--strict", "warned/config.json"], 1, "FAIL  ./warned"),
        (["lock", "good/ln-audit.lock"], 0, "PASS  ./good"),
        (["lock", "--target=bad", "--lock=good/ln-audit.lock", "x"], 1, "LN302 lock-mismatch"),
        (["lock", "--target=./none", "--lock=good/ln-audit.lock"], 3, "INCOMPLETE  ./none"),
    ],
)
def test_the_exit_code_is_that_of_the_worst_target(words, code, out, capsys):
    assert main(words) == code
    assert out in capsys.readouterr().out


def test_several_lockfiles_are_several_calls_and_the_worst_counts(repo, capsys):
    shutil.copy(repo / "good" / "ln-audit.lock", repo / "bad" / "ln-audit.lock")
    assert main(["lock", "--quiet", "good/ln-audit.lock", "bad/ln-audit.lock"]) == 1
    (repo / "bad" / "ln-audit.lock").write_text("format = 1")
    assert main(["lock", "--quiet", "good/ln-audit.lock", "bad/ln-audit.lock"]) == 2
    assert "bad/ln-audit.lock: format: expected" in capsys.readouterr().err


def test_files_of_no_checkpoint_are_said_to_be_that(capsys):
    assert main(["verify", "web/config.json"]) == 0
    told = capsys.readouterr()
    assert (told.out, told.err) == (
        "",
        "ln-audit: the changed files belong to no checkpoint that is held to anything\n",
    )


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "expected verify or lock, found ''"),
        (["explain", "x"], "expected verify or lock, found 'explain'"),
        (["verify"], "expected changed files, found none"),
        (["lock", "--strict"], "expected changed files, found none"),
        (["verify", "--help", "good/config.json"], "found one that only shows help"),
        (["lock", "--target=good", "-h"], "found one that only shows help"),
        (["verify", "--no-such", "good/config.json"], "No such option: --no-such"),
    ],
)
def test_a_wrong_call_is_exit_2(words, message, capsys):
    assert main(words) == 2
    assert message in capsys.readouterr().err


def test_a_file_called_like_an_option_is_none(capsys):
    Path("--output=x.safetensors").write_bytes(b"")
    assert main(["verify", "--output=x.safetensors", "good/config.json"]) == 2
    told = "ln-audit: --output=x.safetensors: expected an option, found a file of that name\n"
    assert capsys.readouterr().err == told
    assert not Path("x.safetensors").exists()


@pytest.fixture
def tracked(repo, monkeypatch):
    """The same as a commit; what a test changes is staged by `stage`."""
    for name in ("GIT_DIR", "GIT_INDEX_FILE", "PRE_COMMIT_FROM_REF", "PRE_COMMIT_TO_REF"):
        monkeypatch.delenv(name, raising=False)
    git(repo, "git", "init", "--quiet")
    stage(repo)
    git(repo, "git", "commit", "--quiet", "--no-verify", "--message", "x")
    return repo


def stage(repo):
    assert git(repo, "git", "add", "--all").returncode == 0


def test_lock_without_files_holds_what_git_says_that_is_staged(tracked, capsys):
    assert main(["lock"]) == 0
    assert capsys.readouterr().err == "ln-audit: the changed files belong to no checkpoint that is held to anything\n"
    shutil.copy(FIXTURES / "good" / "gpt2-negative-gain" / "model.safetensors", tracked / "good" / "model.safetensors")
    stage(tracked)
    assert main(["lock", "--quiet"]) == 1
    assert "LN302 lock-mismatch" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("gone", "code", "told"),
    [
        (["ln-audit.lock"], 2, "good/ln-audit.lock: expected the lockfile of good, found it removed"),
        (["model.safetensors"], 2, "good/ln-audit.lock: expected the model that it locks beside it, found none"),
        (["config.json"], 3, ""),
        (["ln-audit.lock", "model.safetensors", "config.json"], 0, "belong to no checkpoint that is held to anything"),
    ],
)
def test_what_is_removed_is_missed(tracked, capsys, gone, code, told):
    for name in gone:
        (tracked / "good" / name).unlink()
    stage(tracked)
    assert main(["lock", "--quiet"]) == code
    assert told in capsys.readouterr().err


def test_a_lockfile_of_the_policy_must_be_there_whatever_changed(tracked, capsys):
    (tracked / "good" / "ln-audit.lock").rename(tracked / "of-good.lock")
    for name in ("ln-audit.toml", "gate.toml"):
        (tracked / name).write_text('[[target]]\ntarget = "good"\nlock = "of-good.lock"\n')
    assert main(["lock", "readme.txt"]) == 0
    assert main(["lock", "good/config.json"]) == 0
    assert capsys.readouterr().out.startswith("PASS  good")
    shutil.copy(FIXTURES / "good" / "gpt2-negative-gain" / "model.safetensors", tracked / "good" / "model.safetensors")
    assert main(["lock", "--quiet", "of-good.lock"]) == 1
    (tracked / "of-good.lock").unlink()
    capsys.readouterr()
    assert main(["lock", "readme.txt"]) == 2
    assert "of-good.lock: expected a lockfile that can be read" in capsys.readouterr().err
    (tracked / "ln-audit.toml").unlink()
    assert main(["lock", "readme.txt"]) == 0
    assert main(["lock", "--policy=gate.toml", "readme.txt"]) == 2


def test_a_lockfile_that_lies_beside_and_is_the_policys_is_held_once(tracked, capsys):
    (tracked / "ln-audit.toml").write_text('[[target]]\ntarget = "good"\nlock = "good/ln-audit.lock"\n')
    assert main(["lock", "--quiet", "good/config.json"]) == 0
    assert capsys.readouterr().out.count("PASS") == 1


@pytest.mark.parametrize("policy", ["", '[[target]]\ntarget = "."\nlock = "ln-audit.lock"\n'])
def test_a_commit_that_touches_no_checkpoint_holds_none_at_the_root_of_the_repository(tracked, policy, capsys):
    for name in ("model.safetensors", "config.json", "ln-audit.lock"):
        (tracked / "good" / name).rename(tracked / name)
    if policy:
        (tracked / "ln-audit.toml").write_text(policy)
    stage(tracked)
    git(tracked, "git", "commit", "--quiet", "--no-verify", "--message", "y")
    for name in ("README.md", ".gitattributes", "train.py", "tokenizer.json"):
        (tracked / name).write_text("x")
    (tracked / "web" / "config.json").unlink()
    stage(tracked)
    told = "ln-audit: the changed files belong to no checkpoint that is held to anything\n"
    for words in (["lock"], ["lock", "README.md", "train.py"]):
        assert (main(words), *capsys.readouterr()) == (0, "", told)
    shutil.copy(FIXTURES / "good" / "gpt2-negative-gain" / "model.safetensors", tracked / "model.safetensors")
    stage(tracked)
    assert main(["lock", "--quiet"]) == 1
    (tracked / "model.safetensors").unlink()
    stage(tracked)
    assert main(["lock", "--quiet"]) == 2
