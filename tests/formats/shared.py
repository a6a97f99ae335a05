"""Material that lies beside the checkout and is never part of it."""

from __future__ import annotations

from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3] / "shared"


def shared(name: str) -> Path:
    """A path below it; skips the test where it is absent."""
    if not (ROOT / name).exists():
        pytest.skip(f"needs ../shared/{name}, which lies outside the project")
    return ROOT / name
