"""What lies beside the checkout: real and hostile data made by others, never part of the project."""

from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
SHARED = ROOT.parent / "shared"
FIXTURES = ROOT / "fixtures"


def needs(*parts: str) -> Path:
    """The path below `shared`; skips the test, saying so, where it is absent."""
    path = SHARED.joinpath(*parts)
    if not path.exists():
        pytest.skip(f"{'/'.join(parts)} is not beside this checkout")
    return path
