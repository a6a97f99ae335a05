"""A norm tensor is there that the model, as its config describes it, does not have.

What it does: looks for tensors named like the family's block norms in layers beyond the configured depth, for norms that the
config rules out (a final norm where the blocks end with one), for a bias in a family whose norms have none, and for a norm
that is there twice, under two names that a loader accepts.

Why it matters: loaders drop what they do not expect. If the config says 11 layers and the file holds 12, the last layer is
silently cut off; a bias on an RMSNorm is the sign of the wrong architecture or a converter's mistake.

Example: `model.safetensors: h.12.ln_1.weight: expected layers 0 to 11 (config.json: n_layer), found layer 12`

How to mend: correct the layer count in the config, or save the model that the config describes.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from ln_audit.families.containers import view
from ln_audit.families.names import NORM, fill
from ln_audit.formats.shown import shown
from ln_audit.result import Finding, Rule

if TYPE_CHECKING:
    from collections.abc import Container, Iterator

    from ln_audit.checks.subject import Subject
    from ln_audit.families.containers import View
    from ln_audit.families.reading import Reading
    from ln_audit.families.schema import Promise

RULE = Rule("LN003", "unexpected-norm")
_MOST_NAMED = 100  # layers beyond the depth that are named; one is enough to fail


def check(subject: Subject) -> Iterator[Finding]:
    """A failure per layer beyond the config's depth, per norm it rules out and per bias the family lacks, else one pass."""
    if subject.family is None or not subject.norms:  # which norms there should be is not known
        return
    promised = {name for norm in subject.norms for name in norm.tensors}
    found = [*_beyond(subject, promised), *_ruled_out(subject, promised), *_biases(subject), *_gains(subject)]
    found += [*_copies(subject), *_strange(subject, view(subject.checkpoint, subject.family.name))]
    yield from found
    if not found and (unknown := _unknown(subject, promised)):
        more = f" and {len(unknown) - 3:,} more" if len(unknown) > 3 else ""
        file = subject.checkpoint.files[0]
        told = f"{file}: {', '.join(unknown[:3])}{more}: expected no such norm in {subject.family.name}, found what is called like one"
        yield RULE.warned(
            file, told, "loaders drop what they do not know: is this another family than the config says?"
        )
    elif not found:
        yield RULE.passed(subject.checkpoint.files[0], "no norm tensor beyond what the model has")


def _beyond(subject: Subject, promised: Container[str]) -> Iterator[Finding]:
    count = 0
    for reading in subject.readings:
        for promise in reading.promises():
            if promise.layers is None or reading.holds(promise.when) is False:
                continue
            depth = reading.sizes[promise.layers].value or 0
            if promise.first is not None:
                depth += reading.sizes[promise.first].value or 0
            for name, layer in _named_like(promise, reading):
                count += name not in promised
                if name not in promised and layer >= depth and count <= _MOST_NAMED:
                    yield RULE.failed(
                        name,
                        f"{subject.checkpoint.files[0]}: {name}: expected layers 0 to {depth - 1}, found layer {layer}",
                        "loaders drop it: the config's layer count is too small, or this is another model's file",
                    )


def _unknown(subject: Subject, promised: Container[str]) -> list[str]:
    """Vectors under a module that is called like a norm, which no table knows: another model's, or the table has a gap."""
    return [
        info.name
        for info in subject.checkpoint.tensors.values()
        if len(info.shape) == 1
        and info.name not in promised
        and info.name.rpartition(".")[2] in ("weight", "gamma", "scale")
        and NORM.search(info.name.rpartition(".")[0].rpartition(".")[2])
    ]


def _named_like(promise: Promise, reading: Reading) -> Iterator[tuple[str, int]]:
    """The tensors in the checkpoint that are called like the gain of a row, with their layer (-1 without one)."""
    actual = reading.spelling.view.actual
    if promise.gain == "none":
        return
    for prefix in ("",) if promise.rooted else dict.fromkeys(reading.spelling.prefixes):
        pattern = f"{prefix}{promise.tensors(promise.name)[0]}"
        for indexes in reading.names.indexes(pattern) if promise.indexes else ({},):
            own = fill(pattern, indexes)
            if own in actual:
                yield actual[own], indexes.get("layer", -1)


def _ruled_out(subject: Subject, promised: Container[str]) -> Iterator[Finding]:
    """Norms of the family that this config says the model does not have, and that are there."""
    for reading in subject.readings:
        for promise in reading.promises():
            if not promise.when or reading.holds(promise.when) is not False:
                continue
            told = [each for each in promise.when if not each.holds(reading.stated and reading.stated.get(each.key))]
            for name, _ in islice(_named_like(promise, reading), _MOST_NAMED):
                if name in promised:
                    continue
                condition, config = told[0], reading.stated
                written = config is not None and config.has(condition.key)
                value = shown(config.get(condition.key)) if written and config is not None else "its default"
                message = f"{subject.checkpoint.files[0]}: {name}: expected no such norm ({condition.key} is {value}), found one"
                judge = RULE.failed if written else RULE.warned
                yield judge(name, message, "loaders drop it: is the config another model's?")


def _copies(subject: Subject) -> Iterator[Finding]:
    """The same norm under two names: which of them a loader takes is not ours to guess."""
    for norm in subject.norms:
        for taken, other in norm.copies:
            named = f"{subject.checkpoint.files[0]}: {other}: expected one tensor for {norm.name}, found {taken} too"
            if taken not in subject.values or other not in subject.values:
                yield RULE.skipped(
                    other, f"stands for {norm.name} beside {taken}; their values were not read", required=True
                )
            elif subject.values[taken] == subject.values[other]:
                yield RULE.warned(other, f"{named}, with the same values", "remove one of the two")
            else:
                yield RULE.failed(
                    other, f"{named}, with other values", "loaders differ in which one they take: remove one"
                )


def _strange(subject: Subject, named: View) -> Iterator[Finding]:
    """A norm's name of another container: this one's loaders refuse the file, or never look at the tensor."""
    if subject.family is None:
        return
    tensors, file = subject.checkpoint.tensors, subject.checkpoint.files[0]
    for name in named.uncovered:
        slot = name.rpartition("/")[0] in tensors  # what an optimizer keeps beside a parameter
        if len(tensors[name].shape) == 1 and not slot and any(word in name.lower() for word in ("norm", "ln_")):
            told = f"{file}: {name}: expected only names that {subject.checkpoint.format} has for {subject.family.name}"
            yield RULE.warned(name, f"{told}, found another norm", "its loaders do not take it: convert again")


def _biases(subject: Subject) -> Iterator[Finding]:
    """A bias where the family has none: wrong, unless it is known to be all zeros, which changes nothing."""
    for norm in subject.norms:
        name = f"{(norm.gain or '').removesuffix('.weight')}.bias"
        if norm.bias is None and name in subject.checkpoint.tensors:
            told = f"{subject.checkpoint.files[0]}: {name}: expected no bias ({norm.kind}), found one"
            if subject.all_zero(name):
                yield RULE.warned(norm.name, f"{told}, all zeros", "loaders drop it, and it adds nothing: remove it")
            else:
                yield RULE.failed(norm.name, told, "loaders drop it: is this the family that the config names?")


def _gains(subject: Subject) -> Iterator[Finding]:
    """A gain where the family's norm has no parameters: loaders drop it, and whoever trained it did not."""
    for norm in subject.norms:
        name = f"{norm.name}.weight"
        if not norm.tensors and name in subject.checkpoint.tensors:
            told = (
                f"{subject.checkpoint.files[0]}: {name}: expected no gain ({norm.kind} without parameters), found one"
            )
            yield RULE.failed(norm.name, told, "loaders drop it: is this the family that the config names?")
