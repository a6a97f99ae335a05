"""What git says that a commit changes and removes."""

import pytest

from ln_audit.errors import UsageError
from ln_audit.hooks import changes
from tests.hooks.test_pre_commit import run


@pytest.fixture
def repo(tmp_path, monkeypatch):
    for name in ("GIT_DIR", "GIT_INDEX_FILE", "PRE_COMMIT_FROM_REF", "PRE_COMMIT_TO_REF"):
        monkeypatch.delenv(name, raising=False)
    repo = tmp_path / "repo"
    (repo / "sub").mkdir(parents=True)
    monkeypatch.chdir(repo)
    for name in ("a", "b", "sub/c\n\u00e9"):
        (repo / name).write_text(f"{name} and enough to be found again after a renaming\n")
    assert run(repo, "git", "init", "--quiet").returncode == 0
    return repo


def commit(repo):
    run(repo, "git", "add", "--all")
    assert run(repo, "git", "commit", "--quiet", "--no-verify", "--message", "x").returncode == 0


def test_before_the_first_commit_everything_is_new(repo):
    assert changes.in_repository()
    run(repo, "git", "add", "a")
    assert (changes.changed(), changes.removed()) == (("a",), ())


def test_what_is_renamed_is_removed_and_added(repo):
    commit(repo)
    (repo / "a").rename(repo / "z")
    (repo / "b").write_text("changed")
    (repo / "sub" / "c\n\u00e9").unlink()
    assert (changes.changed(), changes.removed()) == ((), ())  # nothing of it is in the commit yet
    run(repo, "git", "add", "--all")
    assert (changes.changed(), changes.removed()) == (("b", "z"), ("a", "sub/c\n\u00e9"))


def test_names_are_those_below_the_working_directory(repo, monkeypatch):
    commit(repo)
    (repo / "sub" / "c\n\u00e9").unlink()
    (repo / "a").unlink()
    run(repo, "git", "add", "--all")
    monkeypatch.chdir(repo / "sub")
    assert changes.removed() == ("c\n\u00e9",)


def test_between_two_commits_where_pre_commit_looks_there(repo, monkeypatch):
    commit(repo)
    (repo / "a").unlink()
    commit(repo)
    assert changes.removed() == ()
    monkeypatch.setenv("PRE_COMMIT_FROM_REF", "HEAD~1")
    assert changes.removed() == ()
    monkeypatch.setenv("PRE_COMMIT_TO_REF", "HEAD")
    assert changes.removed() == ("a",)
    monkeypatch.setenv("PRE_COMMIT_FROM_REF", "no-such-commit")
    with pytest.raises(UsageError, match="git: expected it to tell what changes, found: fatal: .*no-such-commit"):
        changes.removed()


def test_where_git_is_not_or_there_is_no_repository(tmp_path, repo, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert not changes.in_repository()
    with pytest.raises(UsageError, match="git: expected it to tell what changes, found: "):
        changes.changed()
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UsageError, match="git: expected it to tell what changes, found: .*git"):
        changes.in_repository()


def test_what_a_file_held_before_the_commit(repo, monkeypatch):
    assert changes.before("a") is None
    commit(repo)
    held = (repo / "a").read_bytes()
    (repo / "a").unlink()
    (repo / "new").write_text("x")
    run(repo, "git", "add", "--all")
    assert (changes.before("a"), changes.before(str(repo / "a")), changes.before("new")) == (held, held, None)
    assert changes.before("../outside") is None
    monkeypatch.chdir(repo / "sub")
    assert (changes.before("../a"), changes.before("a")) == (held, None)
