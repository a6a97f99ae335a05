"""A library that is missing is named, with the words that install it."""

import pytest

from ln_audit import cli
from ln_audit.errors import RecordingError
from ln_audit.record import needed


@pytest.mark.parametrize(
    ("package", "hint"),
    [
        ("torch", 'pip install "ln-audit[record]"'),
        ("onnxruntime", 'pip install "ln-audit[record,onnx]" onnxruntime'),
    ],
)
def test_what_is_missing(monkeypatch, package, hint):
    monkeypatch.setattr(needed, "find_spec", lambda _: None)
    with pytest.raises(
        RecordingError, match=f"recording: expected the {package} package, found it not installed"
    ) as caught:
        needed.need(package)
    assert caught.value.hint == hint


def test_what_is_there():
    needed.need("json")


def test_without_torch_the_commands_are_incomplete_and_say_what_to_install(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(needed, "find_spec", lambda _: None)
    assert cli.main(["record", "sample", "--random", "5", "-o", str(tmp_path / "run.safetensors")]) == 3
    assert capsys.readouterr().err == (
        'ln-audit: recording: expected the torch package, found it not installed\n  → pip install "ln-audit[record]"\n'
    )
    assert cli.main(["verify", "sample", "--record"]) == 3
    assert "recording: expected the torch package, found it not installed" in capsys.readouterr().out
    assert list(tmp_path.iterdir()) == []
