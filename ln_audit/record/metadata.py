"""What a recording says of itself: versions, dtypes, epsilon, digests. With several norms, `<norm>/KEY` says it of one."""

from __future__ import annotations

import platform
from importlib import import_module
from typing import TYPE_CHECKING

from ln_audit import __version__

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

VERSION = "1"
LONGEST_TEXT = 4_000  # characters of the text that are kept; the tokens say the rest


def general(frameworks: Iterable[str], made_with: str) -> dict[str, str]:
    """What is the same for all norms of a recording."""
    versions = [f"{name} {import_module(name).__version__}" for name in frameworks]
    return {
        "ln_audit.recording": VERSION,
        "framework": ", ".join([*versions, f"{platform.system()} {platform.machine()}"]),
        "made_with": f"ln-audit {__version__}, {made_with}",
    }


def merged(norms: Mapping[str, Mapping[str, str]]) -> dict[str, str]:
    """One norm's facts under their own keys, those of several under `<norm>/KEY`; what all share once."""
    if len(norms) == 1:
        return dict(next(iter(norms.values())))
    every = list(norms.values())
    shared = {key: value for key, value in every[0].items() if all(each.get(key) == value for each in every)}
    shared.pop("gain_value_sha256", None)  # of many norms alike it would still be each one's own
    shared.pop("bias_value_sha256", None)
    own = {f"{name}/{key}": value for name, facts in norms.items() for key, value in facts.items() if key not in shared}
    return shared | own


def excerpt(text: str) -> str:
    """The text, or its beginning."""
    return text if len(text) <= LONGEST_TEXT else f"{text[:LONGEST_TEXT]}…"
