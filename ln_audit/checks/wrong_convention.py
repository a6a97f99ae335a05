"""The artifact says, or computes, another family, kind or convention than it is held to.

What it does: compares --family, --kind, --offset and --config with what the artifact's own config and its family's table
say, and looks for keys that its config writes twice. In a container that computes its norms (ONNX), it looks for the node
that reads each norm's gain and bias, and compares its kind, its parameters and its axis with the family's.

Why it matters: the caller's word is used for comparisons, so that a mistaken claim in the artifact can be audited at all;
but an artifact that claims otherwise will be loaded by its own claim. And parameters that no node reads are not used.

Example: `config.json: model_type: expected gpt2 (--family), found llama`

How to mend: correct the config, or the call.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ln_audit.families.containers import architecture
from ln_audit.families.containers import config as container_config
from ln_audit.families.recognise import index
from ln_audit.formats.shown import shown, unlike
from ln_audit.result import Finding, Rule

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ln_audit.checks.subject import Subject
    from ln_audit.core import Norm, NormSite
    from ln_audit.families.schema import Family, Promise

RULE = Rule("LN009", "wrong-convention")


def check(subject: Subject) -> Iterator[Finding]:
    """A finding per claim of the caller that the artifact could contradict, and per norm of a container that computes it."""
    demand, family = subject.demand, subject.family
    if family is None:
        return
    yield from _configs(subject)
    yield from _by_graph(subject)
    yield from _beside(subject, family)
    yield from _unwritten_offset(subject)
    yield from _other_class(subject, family)
    for where, expected, found in subject.claims:
        yield RULE.failed(where, f"{where}: expected {expected}, found {shown(found)}", "recorded from another norm?")
    model_type = None if subject.config is None else subject.config.get("model_type")
    if demand.family is not None and model_type is not None:
        where = f"{subject.config.where if subject.config else ''}: model_type"
        if model_type in family.model_types:
            yield RULE.passed(where, f"{model_type} is of family {family.name}")
        else:
            told = f"{where}: expected {family.name} (--family), found {str(model_type)[:60]!r}"
            yield _another_family(where, told, str(model_type))
    held = _held(subject)
    kinds = {promise.kind for promise in held}
    if demand.kind is not None:
        if kinds == {demand.kind}:
            yield RULE.passed(family.name, f"kind {demand.kind}")
        else:
            yield RULE.failed(
                family.name, f"{family.name}: kind: expected {demand.kind} (--kind), found {', '.join(sorted(kinds))}"
            )
    offsets = {promise.weight_offset for promise in held}
    if demand.offset is not None:
        if offsets == {demand.offset}:
            yield RULE.passed(family.name, f"offset {demand.offset:g}")
        else:
            told, given = ", ".join(f"{each:g}" for each in sorted(offsets)), demand.offset
            expected = unlike(given, min(offsets, default=0.0), 6)
            yield RULE.failed(family.name, f"{family.name}: gain offset: expected {expected} (--offset), found {told}")


def _another_family(where: str, told: str, model_type: str) -> Finding:
    """The caller's family is not the config's: said first where that is another known one, because it explains the rest."""
    other = index()["model_types"].get(model_type)
    if other is None:
        return RULE.failed(where, told, "a family of your own is a table: --family FILE.toml, see docs/families.md")
    way = f"its own config says that it is of family {other}: leave --family out, or give --family {other}"
    return RULE.failed(where, told, way, explains="what differs from the family that was given")


def _other_class(subject: Subject, family: Family) -> Iterator[Finding]:
    """`architectures` that names a class of another family than `model_type`: loaders differ in which of the two they follow."""
    listed = None if subject.config is None else subject.config.get("architectures")
    classes = [each for each in listed if isinstance(each, str)] if isinstance(listed, list) else []
    for name in classes[:1] if subject.config is not None and subject.config.has("model_type") else ():
        other = index()["architectures"].get(name)
        if other is not None and other != family.name and name not in family.architectures:
            where = f"{subject.config.where if subject.config else ''}: architectures"
            told = f"{where}: expected a class of {family.name}, found {shown(name)} of {other}"
            yield RULE.warned(where, told, "model_type and architectures are of two models: which one is it?")


def _unwritten_offset(subject: Subject) -> Iterator[Finding]:
    """A layout of which nothing says whether its gains still lack the family's 1: both readings, and no verdict."""
    if subject.demand.offset is not None or not any(each.spelling.view.offset_unknown for each in subject.readings):
        return
    decided = {comparison.norm for comparison in subject.comparisons if comparison.status == "pass"}
    decided |= _by_lock(subject) | _by_source(subject)
    doubted = [norm for norm in subject.norms if norm.weight_offset and norm.name not in decided]
    finals = [norm for norm in doubted if norm in subject.final()]
    for norm in finals if finals or decided else doubted[:1]:
        gain = subject.arrays.get(norm.gain or "")
        mean = "" if gain is None or not gain.size else f", mean {gain.mean():.3g}"
        other = "" if gain is None or not gain.size else f", mean {gain.mean() + norm.weight_offset:.3g}"
        told = (
            f"nothing in {subject.checkpoint.files[0]} says whether converting added {norm.weight_offset:g} to {norm.gain}: "
            f"its gain is either what is stored{mean}, or that + {norm.weight_offset:g}{other}; "
            "a recording decides, a lock, or --offset"
        )
        yield RULE.skipped(norm.name, told, required=True)


def _by_lock(subject: Subject) -> set[str]:
    """The norms whose gain is as locked by one of the two readings."""
    if subject.demand.locked is None:
        return set()
    from ln_audit.lock.holding import decided

    return decided(subject)


def _by_source(subject: Subject) -> set[str]:
    """The norms whose gain is the source's by the reading that was taken."""
    compared = None if subject.twin is None else subject.twin.compared
    judged = () if compared is None or compared.stored_without is None else compared.judged
    return {each.pair.artifact.name for each in judged if each.part == "gain" and each.how}


def _held(subject: Subject) -> Sequence[Promise]:
    """The rows that --kind and --offset speak of: the norm that is named, else the final ones, else all."""
    rows = [promise for reading in subject.readings for promise in reading.promises()]
    named = {norm.pattern for norm in subject.norms if subject.demand.norm in (norm.name, norm.promised)}
    main = {norm.pattern for norm in subject.norms if norm.main and norm.role == "final"}
    wanted = named or main or {promise.name for promise in rows}
    return [promise for promise in rows if promise.name in wanted]


def _beside(subject: Subject, family: Family) -> Iterator[Finding]:
    """What a config.json says otherwise than the container that it lies beside: the container's loaders do not read it."""
    config, stated = subject.config, architecture(subject.checkpoint)
    if config is None or stated is None or stated[0] != family.name:
        return
    model_type, file = config.get("model_type"), subject.checkpoint.files[0]
    if model_type is not None and model_type not in family.model_types:
        told = f"{config.where}: model_type: expected {family.name} ({stated[1]}), found {shown(model_type)}"
        yield RULE.warned(f"{config.where}: model_type", told, f"is it the config of {file}?")
    within = container_config(subject.checkpoint, family.name)
    for key in family.sizes if within is not None else ():
        if within is not None and within.has(key) and config.has(key) and within.get(key) != config.get(key):
            told = f"{config.where}: {key}: expected {shown(within.get(key))} ({file}), found {shown(config.get(key))}"
            yield RULE.warned(f"{config.where}: {key}", told, f"is it the config of {file}?")


def _configs(subject: Subject) -> Iterator[Finding]:
    """The keys that the norms depend on: the same in the artifact's own config as in --config, and written once."""
    keys = tuple(dict.fromkeys(key for reading in subject.readings for key in reading.keys))
    own, given = subject.own_config, subject.config
    for key in keys if own is not None and given is not None else ():
        if own is not None and given is not None and own.has(key) and given.has(key) and own.get(key) != given.get(key):
            told = f"{own.where}: {key}: expected {shown(given.get(key))} (--config), found {shown(own.get(key))}"
            yield RULE.failed(f"{own.where}: {key}", told, "it will be loaded by its own config")
    for config in (own, given):
        for key in config.repeated if config is not None else ():
            if key in keys and config is not None:
                told = f"{config.where}: {key}: expected once, found several times"
                yield RULE.warned(
                    f"{config.where}: {key}", told, "the last counts here; another reader may take the first"
                )


def _by_graph(subject: Subject) -> Iterator[Finding]:
    """One finding per norm whose gain is there, in a container that computes it."""
    for norm in subject.norms if subject.checkpoint.computes else ():
        if norm.gain in subject.checkpoint.tensors:
            yield _computed(norm, subject)


def _computed(norm: Norm, subject: Subject) -> Finding:
    """Whether the graph computes this norm as the family does: a failure before a doubt before a pass."""
    file, sites = subject.checkpoint.files[0], subject.checkpoint.norm_sites
    mine = [site for site in sites if site.gain == norm.gain]
    for site in sites:
        if norm.bias is not None and site.gain == norm.bias:
            told = f"{file}: node {shown(site.name)}: gain: expected {norm.gain}, found {norm.bias}, which is the bias"
            return RULE.failed(norm.name, told, "gain and bias are swapped among the node's inputs")
    if not mine:
        told = f"no node computes it: none that is known as a norm reads {norm.gain}"
        return RULE.skipped(norm.name, told, required=True)
    for site in mine:
        if wrong := _contradiction(norm, site, subject):
            quantity, expected, found = wrong
            told = f"{file}: node {shown(site.name)}: {quantity}: expected {expected}, found {found}"
            return RULE.failed(norm.name, told, "the graph computes another norm than the family's")
    for site in mine:
        if doubt := _doubt(norm, site, subject):
            return RULE.skipped(norm.name, f"node {shown(site.name)}: {doubt}", required=True)
    return RULE.passed(norm.name, f"computed by node {shown(mine[0].name)}")


def _contradiction(norm: Norm, site: NormSite, subject: Subject) -> tuple[str, object, object] | None:
    """(what, expected, found) where a node that reads this gain is not this norm."""
    computed = "rms_norm" if norm.kind == "gated_rms_norm" else norm.kind  # a graph multiplies with the gate elsewhere
    if site.kind != computed:
        return "kind", computed, site.kind
    if site.axis not in {-1, None}:
        return "axis", "-1, the last", site.axis
    if norm.bias in subject.checkpoint.tensors and site.bias != norm.bias and (site.bias or site.bias_certain):
        return "bias", norm.bias, site.bias or "none"
    return None


def _doubt(norm: Norm, site: NormSite, subject: Subject) -> str:
    """Why it cannot be told that the node is this norm; empty where it can."""
    if site.eps is None:
        return f"its epsilon could not be worked out ({site.eps_where})"
    if site.axis is None:
        return "its axis counts from the front, and the rank of its input is not written: is it the last?"
    if norm.bias in subject.checkpoint.tensors and site.bias is None:
        return f"what it adds is no tensor that could be recognised: expected {norm.bias}"
    if norm.bias is None and site.bias is not None and not subject.all_zero(site.bias):
        return f"it adds {site.bias}, which is not known to be zeros: expected no bias"
    path = f".{site.name.replace('/', '.')}."
    for other in subject.norms:  # the name of a node computes nothing, but exporters write the module's path into it
        if other.layer is not None and f".{other.promised}." in path and f".{norm.promised}." not in path:
            return f"named like {other.name} and reads {norm.gain}: are the parameters of two norms swapped?"
    return ""
