"""What a word of a policy is taken for, without opening it."""

import pytest

from ln_audit.policy.taken_for import doubt, taken_for

COMMIT = "0123456789abcdef0123456789abcdef01234567"


@pytest.fixture(autouse=True)
def _here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "gemma").mkdir()
    (tmp_path / "sub" / "model").mkdir(parents=True)
    (tmp_path / "model.gguf").write_bytes(b"")
    (tmp_path / "dangling").symlink_to("nowhere")


@pytest.mark.parametrize(
    ("target", "revision", "said"),
    [
        ("gemma", None, "a folder on this machine"),
        ("model.gguf", None, "a file on this machine"),
        ("dangling", None, "a file on this machine"),
        ("./gema", None, "a path on this machine"),
        ("sample", None, "the model that ships with ln-audit"),
        ("https://host/model.gguf", None, "a file on a web server"),
        ("gema", None, "a model on the Hub, not pinned to a commit"),
        ("gpt2", None, "openai-community/gpt2 on the Hub, not pinned to a commit"),
        ("org/name@main", None, "a model on the Hub at main, not pinned to a commit"),
        ("org/name", "v1", "a model on the Hub at v1, not pinned to a commit"),
        ("org/name", COMMIT, "a model on the Hub, pinned to commit 0123456789ab"),
        (f"hf://org/name@{COMMIT}", None, "a model on the Hub, pinned to commit 0123456789ab"),
        ("org/name@main", COMMIT, "a model on the Hub"),
        ("a/b/c", None, "nothing that is known, and no path on this machine"),
    ],
)
def test_a_target_is_a_place_here_or_a_model_elsewhere(target, revision, said):
    assert taken_for(target, revision) == said


@pytest.mark.parametrize(
    ("target", "said"),
    [
        ("gemma", ""),
        ("dangling", ""),
        ("sample", ""),
        ("https://host/x", ""),
        ("org/name", ""),
        ("gema", "no such path on this machine: did you mean gemma?"),
        ("GEMMA", "no such path on this machine: did you mean gemma?"),
        ("sub/Model", "no such path on this machine: did you mean sub/model?"),
        ("none/Model", ""),
        ("./gema", "nothing is there now: did you mean ./gemma?"),
        ("a/b/c", "nothing is there now: there is no folder a/b either"),
    ],
)
def test_what_may_be_mistyped_is_said(target, said):
    assert doubt(target) == said
