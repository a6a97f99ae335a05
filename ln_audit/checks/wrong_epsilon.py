"""Epsilon is unknown, is no positive number, or is not the same in every place it is written.

What it does: takes epsilon from the config (or the loader's default where the key is absent), checks that it is a positive
finite number, and compares, as float32, every place that states one: config, container, recording and the caller.

Why it matters: converters hard-code 1e-5 for 1e-6, formats drop the key, modules never receive the config's value. On rows
of ordinary size no output shows it; on small ones everything changes.

Example: `config.json: layer_norm_epsilon: expected 1e-05 (--eps), found 1e-06`

How to mend: write the value that the model was trained with into the config, and hand it on in conversions.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from ln_audit.core import Norm, Place
from ln_audit.families.containers import missing_epsilon
from ln_audit.formats.shown import float32, number
from ln_audit.result import Finding, Rule

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ln_audit.checks.subject import Subject

RULE = Rule("LN008", "wrong-epsilon")


def check(subject: Subject) -> Iterator[Finding]:
    """One finding per distinct epsilon among the norms; unknown epsilon is a skip that the verdict depends on."""
    lacking = missing_epsilon(subject.checkpoint)
    if lacking is not None and not subject.norms:
        file = subject.checkpoint.files[0]
        yield RULE.failed(file, f"{file}: {lacking}: expected a number, found no such key", "loaders refuse the file")
    groups: dict[tuple[object, ...], list[Norm]] = {}
    for norm in subject.norms:
        groups.setdefault((norm.eps, norm.eps_source, norm.eps_places), []).append(norm)
    for norms in groups.values():
        label = norms[0].name if len(norms) == 1 else f"all {len(norms)} norms"
        yield _judge(subject, norms, label)


def _judge(subject: Subject, norms: Sequence[Norm], label: str) -> Finding:
    norm = norms[0]
    places = (*_published(subject, norms), *_stated(norm), *_declared(subject), *_recorded(subject, norms))
    if norm.eps is None:
        if norm.eps_origin == "wrong":
            return RULE.failed(label, norm.eps_source, "loaders refuse it or fall back to a default")
        told = f"{norm.eps_source}: " if norm.eps_origin == "machine" else ""
        return RULE.skipped(label, f"{told}epsilon is unknown: give it with --eps or --config", required=True)
    if not math.isfinite(float32(norm.eps)) or norm.eps < 0:
        beyond = ", infinite as float32" * math.isfinite(norm.eps) * (norm.eps > 0)
        return RULE.failed(label, f"{norm.eps_source}: expected a positive finite epsilon, found {norm.eps}{beyond}")
    odd = _different(places)
    if odd is not None:
        first, other = odd
        return RULE.failed(
            label,
            f"{other.where}: expected epsilon {number(first.value)} ({first.where}), found {number(other.value)}",
            "one of the two is not what the model was trained with",
            expected=first.value,
            found=other.value,
        )
    if norm.eps_origin == "assumed":
        return RULE.skipped(
            label, f"epsilon {number(norm.eps)} is only assumed: give the config with --config, or --eps", required=True
        )
    if float32(norm.eps) == 0:
        found = "0" if norm.eps == 0 else f"{norm.eps}, which is 0 as float32"
        return RULE.warned(
            label, f"{norm.eps_source}: expected a positive epsilon, found {found}", "constant rows divide by zero"
        )
    if norm.eps_origin == "default":
        told = f"{norm.eps_source}: expected it to be written, found that a loader takes {number(norm.eps)}"
        return RULE.warned(
            label, told, "saving a model writes the key: was it lost, or is it there under another name?"
        )
    if norm.eps >= 1:
        told = f"{norm.eps_source}: expected epsilon far below the variance of a row, found {number(norm.eps)}"
        return RULE.warned(
            label, told, "a row of unit variance would be halved: is this the value it was trained with?"
        )
    return RULE.passed(label, f"epsilon {number(norm.eps)} ({norm.eps_source})", epsilon=norm.eps)


def _stated(norm: Norm) -> Iterator[Place]:
    """Where the config or the caller writes it; a loader's default counts as a place, an assumption does not."""
    if norm.eps_places:
        yield from norm.eps_places
    elif norm.eps is not None and norm.eps_origin != "assumed":
        yield Place(norm.eps_source, norm.eps)


def _declared(subject: Subject) -> Iterator[Place]:
    """Epsilons that the container itself states besides the config (GGUF keys, ONNX attributes)."""
    for fact in subject.checkpoint.declared:
        if fact.key == "epsilon" and isinstance(fact.value, (int, float)):
            yield Place(fact.where, float(fact.value))


def _published(subject: Subject, norms: Sequence[Norm]) -> Iterator[Place]:
    """The epsilon published with these very weights: it stands first, so that what differs from it is the accused."""
    if subject.known is not None:
        label = f"the packaged recording of {subject.known.repo}"
        yield from (place for place in _recorded(subject, norms) if place.where.startswith(label))


def _recorded(subject: Subject, norms: Sequence[Norm]) -> Iterator[Place]:
    """Epsilons that recordings of these norms say they were made with."""
    names = {norm.name for norm in norms}
    for name, place in subject.recorded:
        if name in names:
            yield place


def _different(places: Sequence[Place]) -> tuple[Place, Place] | None:
    """The first place and the first that differs from it after rounding to float32, the precision containers keep."""
    for place in places[1:]:
        if float32(place.value) != float32(places[0].value):
            return places[0], place
    return None
