"""Which model is held to which lockfile when files change."""

import shutil

import pytest

from ln_audit.errors import UsageError
from ln_audit.hooks.locked import Held, held
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
