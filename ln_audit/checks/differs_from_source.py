"""The artifact's norms are not those of its source.

What it does: maps both to the same norms, whatever the container and the naming, and compares each gain, bias and epsilon in
the artifact's own convention: bit for bit, or after the rounding that its dtype implies. What differs is explained by one
named cause or it is said that nothing explains it.

Why it matters: conversions, merges and quantizers must hand the norms on. A "+1" that was never added, two layers that changed
places, a truncated bfloat16 load without an error, and cosine similarity calls a doubled "+1" 0.999 alike.

Example: `model.gguf: output_norm.weight: expected the source's gain, found offset -1 in every element`

How to mend: convert again from the source; the reason says what the converter did. Where the source is another model, name the
right one: two fine-tunes of one base are compared with `--expect derived`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ln_audit.families.epsilon import mended
from ln_audit.families.reading import unknown_parts
from ln_audit.formats.shown import float32, number, shown
from ln_audit.result import Finding, Rule

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ln_audit.against.compared import Judged
    from ln_audit.against.pairing import Pair
    from ln_audit.checks.subject import Subject, Twin
    from ln_audit.core import Norm

RULE = Rule("LN301", "differs-from-source")
_MOST_NAMED = 5
_ALL = "all that differs from the source"
_TWO_FAMILIES = (
    "two families have other norms, which explains all that differs: name the model it was made from with --against"
)


def check(subject: Subject) -> Iterator[Finding]:
    """One finding per paired norm, one per epsilon, and what has no partner; nothing without --against."""
    twin, named = subject.twin, subject.demand.against
    if named is None:
        return
    if twin is None or twin.compared is None:
        why = "it was not reached" if twin is None else twin.failure or "nothing of it could be compared"
        yield RULE.skipped(named, f"the source was not compared: {why}", required=True)
        return
    found = [*_norms(subject, twin), *_epsilons(twin), *_unpaired(subject, twin)]
    found += _written(subject.checkpoint.files[0], twin)
    if any(finding.status == "fail" for finding in found):
        found = [*_families(subject, twin), *found]
    if (
        twin.compared.pairing.by_name
        and twin.compared.pairing.pairs
        and not any("eps" in key for key, *_ in twin.compared.written)
    ):
        found.append(RULE.skipped("epsilon", "no epsilon is written on either side", required=True))
    if not twin.compared.pairing.pairs:
        untold = _untold(subject, twin)
        why = f": {untold}: give --family, or --config" if untold else ""
        told = f"no norm of it could be paired with one of {named}{why}"
        yield RULE.skipped(subject.checkpoint.files[0], told, required=True)
    yield from found


def _families(subject: Subject, twin: Twin) -> Iterator[Finding]:
    """That the two are of different families, where nothing of the one is the other's: it explains what follows.

    It is no failure by itself: a Mistral in GGUF is called a Llama, and holds the same norms.
    """
    ours = "" if subject.family is None else subject.family.name
    compared = twin.compared
    if compared is None or not ours or not twin.family or ours == twin.family:
        return
    if any(each.how for each in compared.judged):
        return
    file = subject.checkpoint.files[0]
    told = f"{file}: expected a model of family {twin.family}, as {twin.label} is, found one of family {ours}"
    yield RULE.failed(f"family of {file}", told, _TWO_FAMILIES, explains=_ALL)


def _untold(subject: Subject, twin: Twin) -> str:
    """Whose family cannot be told, which is why norms were paired by the names of their tensors; empty where both can."""
    files = [twin.label] * (not twin.family) + [subject.checkpoint.files[0]] * (subject.family is None)
    by_name = twin.compared is not None and twin.compared.pairing.by_name
    return f"the family of {' and of '.join(files)} cannot be told" if files and by_name else ""


def _norms(subject: Subject, twin: Twin) -> Iterator[Finding]:
    compared = twin.compared
    by_pair: dict[str, list[Judged]] = {}
    for judged in compared.judged if compared is not None else ():
        by_pair.setdefault(judged.pair.artifact.name, []).append(judged)
    right = sum(all(each.how for each in parts) for parts in by_pair.values())
    few = 2 * right <= len(by_pair) and subject.demand.expect != "derived"
    further = "; trained further from it? then add --expect derived" if few else ""
    for parts in by_pair.values():
        yield _judge(parts, subject, twin, f"{right} of {len(by_pair)} norms are right", further)


def _judge(parts: Sequence[Judged], subject: Subject, twin: Twin, others: str, further: str) -> Finding:
    """A failure before a doubt before a warning before a pass."""
    norm, source, file = parts[0].pair.artifact, parts[0].pair.source, subject.checkpoint.files[0]
    if norm.kind != source.kind and "unknown" not in (norm.kind, source.kind):
        return RULE.failed(
            norm.name, f"{file}: {norm.name}: expected {source.kind} as {twin.label} says, found {norm.kind}"
        )
    wrong = [each for each in parts if not each.how and not each.unread]
    for status in ("fail", "skip", "warn"):
        for each in wrong:
            explanation = each.explanation
            if (explanation.status if explanation is not None else "fail") != status:
                continue
            tensor = getattr(norm, each.part) or getattr(source, each.part)
            if explanation is None:
                told = f"{file}: {tensor}: expected {each.part} of {twin.label}, found that it differs: {each.told}"
                untold = _untold(subject, twin)
                doubt = f"{untold}, so norms were paired by their tensors' names: " if untold else ""
                reason = f"{doubt}perhaps another model: {subject.identity} and {twin.identity}; {others}{further}"
                return RULE.failed(norm.name, told, reason, apart=each.apart)
            told = f"{file}: {tensor}: expected the source's {each.part}, found {explanation.text}"
            if status == "skip":
                return RULE.skipped(norm.name, f"{explanation.text}; {explanation.remedy}", required=True)
            judge = RULE.failed if status == "fail" else RULE.warned
            return judge(
                norm.name, told, f"{explanation.remedy}; {others}", explanation=explanation.name, apart=each.apart
            )
    unread = next((each for each in parts if each.unread), None)
    if unread is not None:
        return RULE.skipped(norm.name, f"nothing was compared: {unread.unread}", required=not unread.lost)
    return RULE.passed(norm.name, " and ".join(f"{each.part} {each.how}" for each in parts))


def _written(file: str, twin: Twin) -> Iterator[Finding]:
    """The epsilons that the configs of an unknown family write, whichever of them its norms use."""
    for key, ours, theirs in twin.compared.written if twin.compared is not None else ():
        if ours == theirs:
            yield RULE.passed(f"{file}: {key}", f"{shown(ours)} on both sides")
        else:
            told = f"{file}: {key}: expected {shown(theirs)} as {twin.label} says, found {shown(ours)}"
            if "eps" not in key.lower():
                both = isinstance(ours, str) and isinstance(theirs, str)
                yield RULE.failed(f"{file}: {key}", told, _TWO_FAMILIES, explains=_ALL if both else None)
            else:
                yield RULE.failed(
                    f"{file}: {key}", told, f"the epsilon was not handed on: set {key} to {shown(theirs)} in the config"
                )


def _epsilons(twin: Twin) -> Iterator[Finding]:
    """The same epsilon on both sides, after rounding to float32, the precision that containers keep."""
    groups: dict[tuple[object, ...], list[Pair]] = {}
    for pair in twin.compared.pairing.pairs if twin.compared is not None and not twin.compared.pairing.by_name else ():
        ours, theirs = pair.artifact, pair.source
        if ours.kind == theirs.kind == "unknown":
            continue  # of a module that no family promises, whose epsilon no checkpoint says
        groups.setdefault((ours.eps, ours.eps_source, theirs.eps, theirs.eps_source), []).append(pair)
    for pairs in groups.values():
        ours, theirs = pairs[0].artifact, pairs[0].source
        label = ours.name if len(pairs) == 1 else f"epsilon of {len(pairs)} norms"
        if ours.eps is None or theirs.eps is None:
            lacking = ours if ours.eps is None else theirs
            yield RULE.skipped(label, f"epsilon is not known on both sides: {lacking.eps_source}", required=True)
        elif float32(ours.eps) != float32(theirs.eps):
            told = f"{ours.eps_source}: expected epsilon {number(theirs.eps)} ({twin.label}: {theirs.eps_source})"
            yield RULE.failed(
                label, f"{told}, found {number(ours.eps)}", f"it was not handed on: {mended(ours, theirs.eps)}"
            )
        else:
            yield RULE.passed(label, f"epsilon {number(ours.eps)} on both sides")


def _unpaired(subject: Subject, twin: Twin) -> Iterator[Finding]:
    """Norms that only one side has: wrong in the main stack, and told where a tower was left out."""
    if twin.compared is None:
        return
    pairing, file = twin.compared.pairing, subject.checkpoint.files[0]
    hidden = subject.family is not None and bool(
        unknown_parts(subject.family, subject.config)
    )  # its config names no family
    sides: tuple[tuple[tuple[Norm, ...], str, str], ...] = (
        (pairing.only_source, twin.label, file),
        (pairing.only_artifact, file, twin.label),
    )
    for norms, has, lacks in sides:
        for main in (True, False):
            of = [norm for norm in norms if norm.main == main and norm.tensors]
            if not of:
                continue
            names = ", ".join(norm.name for norm in of[:_MOST_NAMED]) + (", …" if len(of) > _MOST_NAMED else "")
            told = f"{lacks}: expected the {len(of)} norms that {has} has besides ({names}), found none of them"
            label = f"{len(of)} norms of {has}"  # never one norm's name: a waiver of that one is no waiver of all
            if main and not pairing.by_name:
                yield RULE.failed(label, told, "another number of layers, or another architecture")
            else:
                yield RULE.skipped(label, told, required=hidden or (main and pairing.by_name))
