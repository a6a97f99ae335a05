"""The libraries that recording needs and that may not be installed."""

from __future__ import annotations

from importlib.util import find_spec

from ln_audit.errors import RecordingError


def need(package: str) -> None:
    """Raises `RecordingError` where a package that recording needs is not installed."""
    if find_spec(package) is None:
        extra = "record,onnx" if package.startswith("onnx") else "record"
        raise RecordingError(
            f"recording: expected the {package} package, found it not installed",
            hint=f'pip install "ln-audit[{extra}]"' + (" onnxruntime" if package == "onnxruntime" else ""),
        )
