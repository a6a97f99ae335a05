"""How numbers, and what is known of a norm, are written in outputs for people."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ln_audit.formats.shown import number

if TYPE_CHECKING:
    from ln_audit.core import Norm


def facts(norm: Norm) -> str:
    """layer_norm, 768 wide, epsilon 1e-05 (config.json: layer_norm_epsilon)."""
    epsilon = "epsilon unknown" if norm.eps is None else f"epsilon {number(norm.eps)} ({norm.eps_source})"
    return f"{norm.kind}, {norm.width or '?'} wide, {epsilon}"


def size(count: int) -> str:
    """Bytes in decimal units, as the Hub shows them: 548.1 MB."""
    amount = float(count)
    for unit in ("B", "kB", "MB", "GB"):
        if amount < 1000:
            return f"{amount:.0f} B" if unit == "B" else f"{amount:.1f} {unit}"
        amount /= 1000
    return f"{amount:.1f} TB"


def count(items: int, noun: str) -> str:
    """1 request, 2 requests."""
    return f"{items:,} {noun}" if items == 1 else f"{items:,} {noun}s"
