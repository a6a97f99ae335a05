"""ln-audit: proves that the normalization layers of a model checkpoint are what they should be."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ln_audit.record.capture import capture

__version__ = "0.1.0"
__all__ = ["capture"]


def __getattr__(name: str) -> Any:
    """`ln_audit.capture` is imported when it is asked for: --version and --help need none of it."""
    if name in __all__:
        return getattr(import_module(f"ln_audit.record.{name}"), name)
    raise AttributeError(f"module 'ln_audit' has no attribute {name!r}")
