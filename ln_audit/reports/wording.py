"""How numbers and foreign text are written in outputs for people."""

from __future__ import annotations


def printable(text: str) -> str:
    """Text from a checkpoint made harmless for a terminal: control characters and escapes are shown, not obeyed."""
    return "".join(char if char.isprintable() else ascii(char)[1:-1] for char in text)


def size(count: int) -> str:
    """Bytes in decimal units, as the Hub shows them: 548.1 MB."""
    amount = float(count)
    for unit in ("B", "kB", "MB", "GB"):
        if amount < 1000:
            return f"{amount:.0f} B" if unit == "B" else f"{amount:.1f} {unit}"
        amount /= 1000
    return f"{amount:.1f} TB"


def count(number: int, noun: str) -> str:
    """1 request, 2 requests."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"
