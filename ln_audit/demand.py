"""What a caller asks for: the one value that a call becomes, whichever way it was made."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from datetime import date

    from ln_audit.core import Checkpoint, Source
    from ln_audit.families.schema import Family
    from ln_audit.lock.schema import Lock


DTYPES = ("float32", "bfloat16", "float16", "float64")  # in which a run may store what a norm gives
KINDS = ("layer_norm", "rms_norm")  # that a caller may give, and that are compared with the reference


@dataclass(frozen=True, slots=True)
class Waiver:
    """A finding that people have looked at and accept until a day: the rule's id, whose norm, and why.

    `norm` is a norm's name, as the family or the container has it, over `{layer}` for any number, or a finding's subject.
    """

    rule: str
    norm: str
    reason: str
    until: date  # the last day on which it counts


@dataclass(frozen=True, slots=True)
class Rules:
    """What a policy asks of an artifact: of every one, or of one of its targets. The names are those of `Demand`."""

    require: tuple[str, ...] = ()
    strict: bool = False
    families: tuple[str, ...] | None = None  # the only ones that are allowed; None: any
    pinned: bool = False  # a model on the Hub must be given by its commit
    commits: tuple[str, ...] = ()  # the only ones that are allowed; none: any
    value_digests: Mapping[str, str] = field(default_factory=dict)  # a norm's parameter → its value_sha256
    file_digests: Mapping[str, str] = field(default_factory=dict)  # a file of the target → its SHA-256
    values: str | None = None
    output_dtype: str | None = None
    before_rounded: str | None = None
    norm: str | None = None
    family: str | None = None
    config: str | None = None
    revision: str | None = None
    against: str | None = None
    expect: Literal["same", "derived"] | None = None
    lock: str | None = None
    recordings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PolicyTarget:
    """A target that the policy names, as a call would, and what it asks of that one beside its general rules."""

    target: str
    rules: Rules = Rules()


@dataclass(frozen=True, slots=True)
class Policy:
    """The policy file that was read: where, its SHA-256, and what it says.

    `families` are those of one's own that it describes, `rules` what it asks of the artifact at hand. `read_on` is the day it
    was read on: what a waiver's last day is compared with. `instead_of`: another policy that it goes before.
    """

    path: str
    sha256: str
    families: Mapping[str, Family] = field(default_factory=dict)
    waivers: tuple[Waiver, ...] = ()
    read_on: date | None = None
    rules: Rules = Rules()
    targets: tuple[PolicyTarget, ...] = ()
    instead_of: str = ""

    def without_rules(self) -> Policy:
        """What it says of families alone: for what is read beside the artifact that is judged."""
        return replace(self, rules=Rules(), waivers=())

    def unread(self) -> tuple[str, ...]:
        """What a reader might believe that it was held to, and was not."""
        return (f"{self.instead_of}: not read: {self.path} goes before it",) if self.instead_of else ()

    def expired(self, waiver: Waiver) -> bool:
        """Whether a waiver's last day is over."""
        return self.read_on is not None and waiver.until < self.read_on


@dataclass(frozen=True, slots=True)
class NormModule:
    """A module in memory that has parameters or is called a norm: by the names that a checkpoint has for it and for them.

    `eps` is what it computes with, whatever the config says; None where it does not tell, with `eps_in_code` because its class
    has none to set. `kind` is None where nobody knows it. `called`: its class is called a norm. `tied` has other names of its
    parameters, of which a checkpoint may have one instead: its own → the others.
    """

    name: str
    tensors: tuple[str, ...]
    eps: float | None
    eps_in_code: bool = False
    kind: str | None = None
    called: bool = True
    tied: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class InMemory:
    """A model in this process that a target is held to: its config.json as a source, its tensors, its norm modules.

    `failure` says why it cannot be compared, where that is known before anything is read.
    """

    source: Source
    checkpoint: Checkpoint
    failure: str = ""
    modules: tuple[NormModule, ...] = ()


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
    live: InMemory | None = None  # what `against` then is the name of
    expect: Literal["same", "derived"] = "same"  # of the values of --against
    lock: str | None = None
    locked: Lock | None = None  # what that file holds, read once before anything is opened
    require: tuple[str, ...] = ()
    strict: bool = False
    pictures: bool = False  # keep what pictures show beyond the numbers: one more pass over each recording
    policy: Policy | None = None
