"""What the faults are planted in: a recorded model, what ln-audit takes it for, and the norms that a fault strikes."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING

from ln_audit.families.recognise import DATA
from ln_audit.numerics.reference import NORMS
from scripts.family_faults.recorded import RecordedNorm

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ln_audit.core import Norm
    from ln_audit.result import Report
    from scripts.family_faults.recorded import RecordedModel

_NUMBER = re.compile(r"(?<=\.)\d+(?=\.|$)")


class NotHereError(Exception):
    """A fault that this model cannot have; its text is the reason."""


@dataclass(frozen=True)
class Case:
    """One healthy model with its audit. `final` and `block` are the norms that are recorded; None where there is none."""

    model: RecordedModel
    family: str | None
    promised: tuple[Norm, ...]
    final: RecordedNorm | None
    block: RecordedNorm | None

    def promise(self, norm: RecordedNorm) -> Norm | None:
        """What ln-audit promises of this norm, None for a norm that it knows nothing of."""
        return next((each for each in self.promised if each.name == norm.name), None)

    def vague(self, norm: RecordedNorm) -> bool:
        """Whether a table has the norm for some layers only, and cannot say for which: it stands beside itself."""
        promise = self.promise(norm)
        return promise is not None and promise.pattern in _beside_themselves()

    def every(self) -> tuple[RecordedNorm, ...]:
        """All norms with tensors, those of the model and those that only ln-audit speaks of."""
        return (*(norm for norm in self.model.norms if norm.gain is not None), *_unrecorded(self.model, self.promised))

    def one_of_each(self) -> tuple[RecordedNorm, ...]:
        """One norm of every name pattern but the final norm's: the last layer's, where a wrong layer count shows first."""
        last = {pattern(norm.name): norm for norm in self.every() if self.final is None or norm.name != self.final.name}
        return tuple(last.values())

    def beside(self, norm: RecordedNorm) -> RecordedNorm:
        """Another norm of the same layer and width. Raises `NotHereError`."""
        for other in self.model.norms:
            same = _NUMBER.findall(other.name) == _NUMBER.findall(norm.name)
            if same and other.name != norm.name and self._alike(norm, other):
                return other
        raise NotHereError("one norm of this width in a layer")

    def next_layer(self, norm: RecordedNorm) -> RecordedNorm:
        """The same norm of another layer. Raises `NotHereError`."""
        for other in self.model.norms:
            if pattern(other.name) == pattern(norm.name) and other.name != norm.name and self._alike(norm, other):
                return other
        raise NotHereError("one layer with this norm")

    def another(self, norm: RecordedNorm) -> RecordedNorm:
        """Any other judged norm of the width, the nearest one that ran before. Raises `NotHereError`."""
        others = [each for each in self.model.norms if each.name != norm.name and self._alike(norm, each)]
        before = [each for each in others if (each.order or 0) < (norm.order or 0)]
        if not others:
            raise NotHereError("no other norm of this width")
        return max(before, key=lambda each: each.order or 0) if before else others[0]

    def _alike(self, one: RecordedNorm, other: RecordedNorm) -> bool:
        tensors = self.model.tensors
        if not other.judged or one.gain is None or other.gain is None or (one.bias is None) != (other.bias is None):
            return False
        return tensors[one.gain].shape == tensors[other.gain].shape and one.gain != other.gain


def case(model: RecordedModel, report: Report) -> Case:
    """The norms to strike: the final norm, and a block norm of the first layer that was recorded."""
    promised = tuple(each.norm for each in report.norms)
    finals = [norm for norm in promised if norm.role == "final"]
    main = [norm for norm in finals if norm.main]
    known = [*(_as_promised(norm, promised) for norm in model.norms), *_unrecorded(model, promised)]
    among = {norm.name for norm in main or finals}
    ran = sorted((norm for norm in known if norm.name in among), key=lambda norm: (norm.judged, norm.order or -1))
    blocks = {norm.name for norm in promised if norm.role == "block" and norm.kind in NORMS}
    judged = [norm for norm in model.norms if norm.name in blocks and norm.judged and norm.gain is not None]
    usual = [norm for norm in judged if _repeated(norm, model)] or judged
    name = report.family.name if report.family is not None else None
    final = ran[-1] if ran else None
    return Case(model, name, promised, final, usual[0] if usual else None)


@cache
def _beside_themselves() -> frozenset[str]:
    found = set()
    for path in DATA.glob("*.toml"):
        for row in tomllib.loads(path.read_text(encoding="utf-8")).get("norm", ()):
            if row.get("beside") == f"{row['name']}.":
                found.add(row["name"])
    return frozenset(found)


def pattern(name: str) -> str:
    """The name with its indexes left open."""
    return _NUMBER.sub("{}", name)


def _repeated(norm: RecordedNorm, model: RecordedModel) -> bool:
    return sum(pattern(each.name) == pattern(norm.name) for each in model.norms) > 1


def _as_promised(norm: RecordedNorm, promised: tuple[Norm, ...]) -> RecordedNorm:
    """A norm that its run shows nothing of adds to its gain what its table says."""
    offset = next((each.weight_offset for each in promised if each.name == norm.name), norm.offset)
    return norm if norm.kind is not None else replace(norm, offset=offset)


def _unrecorded(model: RecordedModel, promised: tuple[Norm, ...]) -> Iterator[RecordedNorm]:
    """Promised norms that no module of the model was found for, though their tensors are in the file."""
    names = {norm.name for norm in model.norms}
    for norm in promised:
        if norm.name not in names and norm.gain in model.tensors:
            bias = norm.bias if norm.bias in model.tensors else None
            yield RecordedNorm(norm.name, "", norm.gain, bias, offset=norm.weight_offset)
