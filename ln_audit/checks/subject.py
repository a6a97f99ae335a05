"""What a check looks at: one checkpoint with everything the earlier steps found out about it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ln_audit.errors import AuditError
from ln_audit.formats.dtypes import array, readable

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import numpy as np

    from ln_audit.against.compared import Compared
    from ln_audit.comparison import Comparison
    from ln_audit.core import Checkpoint, Norm, Place, Recognised, SourceKind, Stored
    from ln_audit.demand import Demand
    from ln_audit.families.known import Known
    from ln_audit.families.reading import Reading
    from ln_audit.families.schema import Family
    from ln_audit.formats.config import Config
    from ln_audit.result import Rule, SourceReport

_LARGEST = 16_000_000  # bytes of a bias that is looked at


@dataclass(frozen=True, slots=True)
class Twin:
    """What the artifact is held to with --against: whose norms they are, and what the comparison showed.

    `failure` says why there is none; the report tells the source's own cost in `report`.
    """

    label: str  # what the user typed
    identity: str
    compared: Compared | None = None
    failure: str = ""
    report: SourceReport | None = None
    family: str | None = None


@dataclass(frozen=True, slots=True)
class Subject:
    """One checkpoint under audit. `values` holds what was read, `arrays` the same as float64 of the stored shape."""

    identity: str
    revision: str | None
    checkpoint: Checkpoint
    config: Config | None
    family: Family | None
    recognised: Recognised | None
    norms: tuple[Norm, ...]
    demand: Demand
    values: Mapping[str, Stored] = field(default_factory=dict)
    arrays: Mapping[str, np.ndarray[Any, Any]] = field(default_factory=dict)
    comparisons: tuple[Comparison, ...] = ()
    recorded: tuple[tuple[str, Place], ...] = ()  # (norm, epsilon) that recordings say they were made with
    claims: tuple[tuple[str, str, str], ...] = ()  # (where, expected, found): what recordings say of their norm
    readings: tuple[Reading, ...] = ()  # the family, and those of models inside the model, held against this checkpoint
    known: Known | None = None
    own_config: Config | None = None  # the artifact's own, where the caller gave another
    twin: Twin | None = None  # with --against
    hashes: Mapping[str, str] = field(
        default_factory=dict
    )  # SHA-256 of whole files, with --lock and of a policy's digests, where known
    kind: SourceKind = "local"
    asked: str | None = None  # the revision by which a model on the Hub was named; None where none was
    candidates: tuple[str, ...] = ()  # what could be a norm, where the family is unknown

    def requires(self, rule: Rule) -> bool:
        """Whether a rule is required by its id or name: then it says so where nothing was given that it could hold to.

        `all` is every rule that applies, and one that has nothing to hold to does not.
        """
        return any(word.lower() in (rule.id.lower(), rule.name) for word in self.demand.require)

    def present(self) -> Iterator[tuple[Norm, str]]:
        """Every promised tensor that the checkpoint holds, with its norm."""
        for norm in self.norms:
            for name in norm.tensors:
                if name in self.checkpoint.tensors:
                    yield norm, name

    def called(self, name: str) -> tuple[tuple[Norm, str], ...]:
        """The parameters of norms that a policy calls so, each with its norm: by the tensor's name in this checkpoint, or by
        the norm's, this checkpoint's or the family's own, with .gain or .bias behind it.
        """
        bare, _, role = name.rpartition(".")
        return tuple(
            (norm, tensor)
            for norm in self.norms
            for part, tensor in (("gain", norm.gain), ("bias", norm.bias))
            if tensor is not None and (tensor == name or (part == role and bare in (norm.name, norm.promised)))
        )

    def renamed(self, norm: Norm) -> tuple[str, ...]:
        """What a norm's missing parameters may be called, where a graph computes norms with parameters that no family
        names: exporters rename what they fold. Empty where nothing is missing.
        """
        tensors = self.checkpoint.tensors
        if not self.checkpoint.computes or all(name in tensors for name in norm.tensors):
            return ()
        promised = {name for known in self.norms for name in known.tensors}
        lost = norm.gain not in tensors
        read = [
            site.gain if lost else site.bias
            for site in self.checkpoint.norm_sites
            if lost or (site.gain == norm.gain and (site.bias is not None or not site.bias_certain))
        ]
        if read.count(None) <= sum(not known.tensors for known in self.norms):
            read = [name for name in read if name is not None]  # those that the family has without parameters
        unnamed = [name or "one that is computed" for name in read if name not in promised]
        return tuple(dict.fromkeys(unnamed))

    def unread(self) -> tuple[Norm, ...]:
        """Norms of which tensors are there but were not read."""
        return tuple(
            norm
            for norm in self.norms
            if any(name in self.checkpoint.tensors and name not in self.values for name in norm.tensors)
        )

    def all_zero(self, name: str) -> bool:
        """Whether a tensor that no norm has is known to hold nothing but zeros: not where it is large or cannot be read."""
        info = self.checkpoint.tensors.get(name)
        if info is None or not readable(info.dtype) or info.nbytes > _LARGEST:
            return False
        try:
            return not array(self.checkpoint.read([name])[name]).any()
        except AuditError:
            return False

    def final(self) -> tuple[Norm, ...]:
        """The final norms; where the family declares none, its block norms are what it is held to."""
        final = tuple(norm for norm in self.norms if norm.role == "final")
        return final if any(norm.main for norm in final) else self.norms
