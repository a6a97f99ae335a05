"""A norm that the model promises is not in the checkpoint.

What it does: takes every norm that the family's table promises for this config and looks for its gain and bias among the
checkpoint's tensors, by name.

Why it matters: loaders initialise what they do not find. A final norm that was lost in a conversion, a merge or a
pipeline-parallel save becomes ones and zeros, the model loads without an error, and only its quality is off.

Example: `model.safetensors: ln_f.bias: expected a bias of shape [768], found no such tensor`

How to mend: save or convert again from the source checkpoint, and look at what dropped the name. A tensor that is there
under another name is reported by wrong-name instead.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ln_audit.families.containers import stated_architecture
from ln_audit.families.suggestion import suggested
from ln_audit.result import Finding, Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ln_audit.checks.subject import Subject
    from ln_audit.core import Norm

RULE = Rule("LN001", "missing-norm")
_MOST_CANDIDATES = 8  # a model of which every matrix has a bias has hundreds of vectors of its width; those help nobody


def check(subject: Subject) -> Iterator[Finding]:
    """One finding per norm; where the family is unknown, one skip that the verdict depends on."""
    if not subject.norms and subject.family is not None:
        yield RULE.skipped(
            subject.checkpoint.files[0], "which norms it must have could not be worked out", required=True
        )
    elif not subject.norms or (subject.family is None and subject.candidates):
        table = suggested(subject.checkpoint, subject.config)
        evidence = {} if table is None or subject.candidates == () else {"table": table}
        yield RULE.skipped(
            subject.checkpoint.files[0], _unknown(subject), required=not _paired_by_name(subject), **evidence
        )
    for norm in subject.norms:
        yield from _judge(norm, subject)


def _judge(norm: Norm, subject: Subject) -> Iterator[Finding]:
    tensors, file = subject.checkpoint.tensors, subject.checkpoint.files[0]
    missing = [(name, name == norm.bias) for name in norm.tensors if name not in tensors]
    if not norm.tensors:
        yield _without_parameters(norm, subject)
        return
    if norm.doubt and missing:
        yield RULE.skipped(
            norm.name,
            f"{missing[0][0]} is not there; {norm.doubt}{'' if norm.doubt.endswith('?') else ': give --config'}",
            required=True,
        )
        return
    if not missing:
        if not norm.misnamed:
            parts = "gain" if norm.bias is None else "gain and bias"
            yield RULE.passed(norm.name, f"{parts} found")
        return
    if others := subject.renamed(norm):
        yield RULE.skipped(
            norm.name,
            f"{missing[0][0]} is not there, but the graph reads parameters of norms under names that the family does not "
            f"know ({', '.join(others[:3])}): it may be one of them",
            required=True,
        )
        return
    width = "" if norm.width is None else f" of shape [{norm.width}]"
    also = _candidates(norm, subject)
    for name, is_bias in missing:
        what = "bias" if is_bias else "gain"
        if is_bias and norm.bias_optional:
            yield RULE.warned(
                norm.name,
                f"{file}: {name}: expected a bias{width}, found no such tensor",
                "the loader starts it at zero; right only if the trained bias was zero",
            )
        else:
            yield RULE.failed(
                norm.name,
                f"{file}: {name}: expected a {what}{width}, found no such tensor",
                f"loaders silently re-initialise what is missing: save or convert again from the source{also}",
            )


def _paired_by_name(subject: Subject) -> bool:
    """Whether a source of the same container was given, whose norms have the very same names: LN301 judges them."""
    twin = subject.twin
    compared = None if twin is None or twin.family is not None else twin.compared
    return compared is not None and compared.pairing.by_name and bool(compared.pairing.pairs)


def _without_parameters(norm: Norm, subject: Subject) -> Finding:
    """A norm of which nothing is stored. Where that is so of all of them, only a recording shows anything."""
    if norm.name in _paired(subject):
        return RULE.passed(norm.name, "has no parameters, in its source neither, so none can be missing")
    recorded = any(comparison.status == "pass" for comparison in subject.comparisons)
    if recorded or any(each.tensors for each in subject.norms):
        return RULE.passed(norm.name, "has no parameters, so none can be missing")
    told = "no norm of this model has parameters: only a recording shows what they compute"
    return RULE.skipped(norm.name, told, required=True)


def _paired(subject: Subject) -> set[str]:
    """The norms that a source was found to have too: differs-from-source compares their kinds and epsilons."""
    compared = None if subject.twin is None else subject.twin.compared
    pairs = () if compared is None or compared.pairing.by_name else compared.pairing.pairs
    return {pair.artifact.name for pair in pairs}


def _candidates(norm: Norm, subject: Subject) -> str:
    """Tensors of the right width that no norm claims: what the final norm may be called, when a script misnamed it."""
    if norm.role != "final" or norm.width is None:
        return ""
    taken = {name for each in subject.norms for name in each.tensors}
    fitting = [
        info.name
        for info in subject.checkpoint.tensors.values()
        if info.shape == (norm.width,) and info.name not in taken
    ]
    return f"; candidates of that width: {', '.join(fitting[:4])}" if 0 < len(fitting) <= _MOST_CANDIDATES else ""


def _unknown(subject: Subject) -> str:
    model_type = None if subject.config is None else subject.config.get("model_type")
    architecture = stated_architecture(subject.checkpoint)
    if architecture is not None:
        known = f"architecture {architecture[:60]!r} in {subject.checkpoint.files[0]}"
    elif model_type is not None:
        known = f"model_type {str(model_type)[:60]!r}"
    else:
        known = "no config.json that says which, and no names that tell one"
    listed = f"; candidates: {', '.join(subject.candidates)}" if subject.candidates else ""
    ways = "--norm NAME --kind KIND --eps X, or describe it in ln-audit.toml or --family FILE.toml"
    return f"unknown family ({known}){listed}; say which norm it is with {ways}"
