"""How the caller wants bytes to be fetched; the same for every target of one call."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Settings:
    """`revision`: branch, tag or commit of a Hub model (None: what the target says, else `main`); `offline`: no request
    at all; `full`: download whole files and check the SHA-256 that the Hub publishes; `progress`: draw a bar meanwhile.
    """

    revision: str | None = None
    offline: bool = False
    full: bool = False
    progress: bool = False
