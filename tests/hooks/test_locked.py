"""Which model is held to which lockfile when files change."""

import shutil

import pytest

from ln_audit.demand import Policy, PolicyTarget, Rules
from ln_audit.errors import UsageError
from ln_audit.hooks.locked import Held, by_policy, held, is_lock
from tests.shared import FIXTURES


@pytest.fixture(autouse=True)
def repo(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    shutil.copytree(FIXTURES / "good" / "gpt2-locked", tmp_path / "m")
    for name in ("a.gguf", "b.gguf"):
        (tmp_path / "m" / name).write_bytes(b"GGUF")
    (tmp_path / "m" / "a.gguf.lock").write_text("")
    return tmp_path


FOLDER = Held("./m", "./m/ln-audit.lock")


def test_a_model_and_its_lockfile_belong_together_whichever_of_them_changed():
    assert held(["m/ln-audit.lock"]) == (FOLDER,)
    assert held(["m/model.safetensors", "m/config.json", "m/ln-audit.lock"]) == (FOLDER,)


def test_a_file_is_held_to_its_own_lockfile_before_its_folders():
    assert held(["m/a.gguf"]) == held(["m/a.gguf.lock"]) == (Held("./m/a.gguf", "./m/a.gguf.lock"),)
    assert held(["m/b.gguf"]) == (Held("./m/b.gguf", "./m/ln-audit.lock"),)


def test_a_target_that_is_given_is_held_whatever_changed():
    assert held(["x"], "m") == (Held("m", "ln-audit.lock"),)
    assert held([], "org/name", "other.lock") == (Held("org/name", "other.lock"),)


def test_a_model_without_a_lockfile_is_held_to_none(repo):
    (repo / "m" / "ln-audit.lock").unlink()
    assert held(["m/model.safetensors"]) == ()


@pytest.mark.parametrize("lock", ["m/ln-audit.lock", "m/a.gguf.lock"])
def test_a_lockfile_that_is_removed_from_beside_its_model_is_missed(repo, lock):
    (repo / lock).unlink()
    with pytest.raises(UsageError, match=f"{lock}: expected the lockfile of m(/a.gguf)?, found it removed") as caught:
        held(["m/b.gguf"], removed=[lock])
    assert caught.value.hint.endswith("commit with SKIP=ln-audit-lock")


def test_one_that_is_removed_with_its_model_is_not(repo):
    shutil.rmtree(repo / "m")
    assert held([], removed=["m/ln-audit.lock", "m/model.safetensors", "m/a.gguf", "m/a.gguf.lock", "Cargo.lock"]) == ()


def test_what_is_left_of_a_model_is_held_and_a_lockfile_without_one_is_missed(repo):
    (repo / "m" / "config.json").unlink()
    assert held([], removed=["m/config.json", "m/notes.txt"]) == (FOLDER,)
    assert held([], removed=["m/notes.txt"]) == ()
    (repo / "m" / "a.gguf").unlink()
    with pytest.raises(UsageError, match="m/a.gguf.lock: expected the model that it locks beside it, found none"):
        held([], removed=["m/a.gguf"])


def test_lockfiles_of_other_programs_are_theirs():
    assert [is_lock(name) for name in ("poetry.lock", "m/Cargo.lock", "x.GGUF.lock", "a/ln-audit.lock")] == [
        False,
        False,
        True,
        True,
    ]
    assert held(["poetry.lock"]) == ()


def test_the_policys_lockfiles_lie_where_it_says_and_must_all_be_there(repo):
    (repo / "locks").mkdir()
    shutil.copy(repo / "m" / "ln-audit.lock", repo / "locks" / "m.lock")
    targets = (PolicyTarget("m", Rules(lock="locks/m.lock")), PolicyTarget("other"))
    found = Policy("p.toml", "0" * 64, targets=targets)
    asked = (Held("m", "locks/m.lock"),)
    for files, removed in (
        (["m/config.json"], []), (["./m/a.gguf"], []), (["locks/m.lock"], []), ([], ["m/gone.safetensors"]),
    ):  # fmt: skip
        assert by_policy(found, files, removed) == asked
    assert by_policy(found, ["x/config.json", "x.gguf"], ["m/notes.txt"]) == ()
    assert asked[0].same(Held("./m", "./locks/m.lock"))
    assert not asked[0].same(FOLDER)
    shutil.rmtree(repo / "m")
    assert by_policy(found, [], ["m/model.safetensors"]) == asked  # of which nobody can tell: no pass
    (repo / "locks" / "m.lock").unlink()
    with pytest.raises(UsageError, match="locks/m.lock: expected a lockfile that can be read"):
        by_policy(found, [])


@pytest.mark.parametrize(
    ("files", "lock", "message"),
    [
        (["ln-audit.lock"], None, "ln-audit.lock: expected the model that it locks beside it, found none"),
        (["m/gone.gguf.lock"], None, "m/gone.gguf.lock: expected the model that it locks"),
        (["m/a.gguf"], "x.lock", "--lock=x.lock: expected --target=TARGET, which is held to it, found none"),
    ],
)
def test_a_lockfile_that_nothing_is_held_to_is_no_pass(files, lock, message):
    with pytest.raises(UsageError, match=message):
        held(files, None, lock)
