"""What a caller asks for: the one value that a call becomes, whichever way it was made."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ln_audit.families.schema import Family


@dataclass(frozen=True, slots=True)
class Policy:
    """The policy file that was read: where, its SHA-256, and the families of one's own that it describes."""

    path: str
    sha256: str
    families: Mapping[str, Family] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Demand:
    """What the caller holds the artifact to, and what may be done to find out. Says nothing about how it is written."""

    revision: str | None = None
    offline: bool = False
    full: bool = False
    progress: bool = False
    values: Literal["final", "all"] | None = None  # None: final for remote targets, all for local ones
    config: str | None = None
    family: str | None = None
    norm: str | None = None
    kind: str | None = None
    eps: float | None = None
    offset: float | None = None
    recordings: tuple[str, ...] = ()
    before: str | None = None
    after: str | None = None
    record: Callable[[], tuple[str, str]] | None = (
        None  # makes a recording of the target: its file, and how it was made
    )
    output_dtype: str | None = None
    before_rounded: str | None = None
    against: str | None = None
    expect: Literal["same", "derived"] = "same"  # of the values of --against
    lock: str | None = None
    require: tuple[str, ...] = ()
    strict: bool = False
    policy: Policy | None = None
