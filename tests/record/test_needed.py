"""A library that is missing is named, with the words that install it."""

import pytest

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
