"""Recorded rows held against the float64 reference of their norm, streamed: rows in, a `Comparison` out."""

from __future__ import annotations

from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, Literal, NamedTuple

from ln_audit.comparison import Comparison, Nonfinite, Worst
from ln_audit.errors import RecordingError
from ln_audit.numerics import passing, stream
from ln_audit.numerics.cells import CHAINS
from ln_audit.numerics.floats import FLOAT64, FORMATS, Format
from ln_audit.numerics.judge import Hypothesis, Setting
from ln_audit.numerics.output_dtype import compute_format, narrowest
from ln_audit.numerics.parameters import NormParameters, nonfinite_parameter, variants
from ln_audit.numerics.stream import Survey, block_rows
from ln_audit.numerics.verdict import Evidence, decide
from ln_audit.numerics.wording import Words

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ln_audit.comparison import Explanation
    from ln_audit.core import Rows
    from ln_audit.numerics.tally import Tally

    Diagnose = Callable[[Setting, Hypothesis, bool], tuple[tuple[Explanation, ...], str, bool]]
    """Faults that explain what an honest way does not (within k = d or not); the nearest; whether it is undecided."""

UNEXPLAINED = {"off-reference", "nonfinite-output", "summation-order", "before-rounded"}  # a fault may lie behind these


class Label(NamedTuple):
    """What the comparison is called in the report."""

    norm: str
    recording: str
    provenance: str
    output_dtype_source: str
    packaged: bool


def compare(
    rows: Rows,
    parameters: NormParameters,
    *,
    norm: str,
    recording: str,
    provenance: str,
    output_dtype: str | None = None,
    output_dtype_source: str = "--output-dtype",
    before_rounded: str | None = None,
    packaged: bool = False,
    pictures: bool = False,
    diagnose: Diagnose | None = None,
) -> Comparison:
    """Judge every element of `rows` in the order of docs/numerics.md, section 5, in memory that does not grow with them.

    `output_dtype` holds the run to a dtype (`output_dtype_source` says who stated it), else it is inferred;
    `before_rounded` is the dtype to which `before` was rounded after the norm had read it; `diagnose` looks for a cause where
    the rows do not agree; `pictures` adds `shares`. Raises `RecordingError` where the rows do not fit the parameters or what
    was stated of them, `FamilyError` where the norm itself is unknown.
    """
    parameters.check(f"{recording}: {norm}")
    _check_width(rows, parameters, recording)
    stated = _format(output_dtype, recording, "output dtype")
    rounded = _format(before_rounded, recording, "before_rounded")
    label = Label(norm, recording, provenance, output_dtype_source if stated else "inferred", packaged)
    broken = nonfinite_parameter(variants(parameters, FLOAT64)[0])
    if broken is not None:
        return _without_reference(rows, label, broken)
    try:
        setting, hypotheses, survey = _surveyed(rows, parameters, stated, rounded)
    except RecordingError as error:
        raise RecordingError(f"{recording}: {error.message}", hint=error.hint) from error
    best, other_chain = _best(hypotheses, survey.tallies, parameters.chain)
    evidence = Evidence(survey.tallies[best], survey.before, other_chain)
    if decide(evidence).finding == "off-reference":
        evidence = _look_further(rows, hypotheses, best, setting, survey, evidence)
    if diagnose is not None and decide(evidence).finding in UNEXPLAINED:
        explanations, nearest, undecided = diagnose(setting, hypotheses[best], evidence.within_worst_case)
        evidence = replace(evidence, explanations=explanations, nearest=nearest, undecided=undecided)
    found = _comparison(rows, label, setting, hypotheses[best], survey=survey, evidence=evidence)
    return _pictured(found, rows, hypotheses[best], setting) if pictures and found.worst else found


def _pictured(found: Comparison, rows: Rows, best: Hypothesis, setting: Setting) -> Comparison:
    """The comparison with the map and the distribution of its error ratios."""
    from ln_audit.numerics.shares import shares

    return replace(found, shares=shares(rows, best, setting))


def _check_width(rows: Rows, parameters: NormParameters, recording: str) -> None:
    for name, values in (("gain", parameters.gain), ("bias", parameters.bias)):
        if values is not None and values.shape != (rows.width,):
            raise RecordingError(
                f"{recording}: before: expected the {name}'s width, {list(values.shape)}, found {rows.width} channels"
            )


def _format(name: str | None, recording: str, what: str) -> Format | None:
    if name is not None and name not in FORMATS:
        raise RecordingError(f"{recording}: {what}: expected {', '.join(FORMATS)}, found {name}")
    return None if name is None else FORMATS[name]


def _surveyed(
    rows: Rows, parameters: NormParameters, stated: Format | None, rounded: Format | None
) -> tuple[Setting, tuple[Hypothesis, ...], Survey]:
    """One fast walk where the run passes and its first rows show its output dtype; else what the reference sees."""

    def plan(output: Format) -> tuple[Setting, tuple[Hypothesis, ...]]:
        compute = compute_format(output)
        setting = Setting(parameters.kind, parameters.eps, compute, output, stated is not None, rounded)
        chains = tuple(CHAINS.values()) if output.u > compute.u else (None,)
        return setting, tuple(Hypothesis(form, chain) for chain in chains for form in variants(parameters, output))

    after = (after for _, after in rows.blocks(block_rows(rows.width)))
    guessed = stated or narrowest(islice(after, 1), rows.after_dtype)
    setting, hypotheses = plan(guessed)
    found = passing.survey(rows, hypotheses, setting, _own(hypotheses, parameters.chain))
    if found is None and stated is None:
        after = (after for _, after in rows.blocks(block_rows(rows.width)))
        if (output := narrowest(after, rows.after_dtype)) is not guessed:
            setting, hypotheses = plan(output)
            found = passing.survey(rows, hypotheses, setting, _own(hypotheses, parameters.chain))
    return setting, hypotheses, found or stream.survey(rows, hypotheses, setting)


def _own(hypotheses: Sequence[Hypothesis], family: str | None) -> list[int]:
    """The hypotheses with the family's own chain; all where it names none or the output is not narrow."""
    return [at for at, each in enumerate(hypotheses) if each.chain is None or family in {None, each.chain.name}]


def _best(hypotheses: Sequence[Hypothesis], tallies: Sequence[Tally], family: str | None) -> tuple[int, str | None]:
    """The hypothesis that fits best: the family's own chain where it does, else another known one, which is named."""
    names = [each.chain.name if each.chain else None for each in hypotheses]
    order = [None, *CHAINS]

    def misfit(at: int) -> tuple[float, ...]:
        tally = tallies[at]
        return tally.wrong, tally.outside, max(tally.max_ratio, 1.0), order.index(names[at]), tally.max_ratio

    best, anywhere = min(_own(hypotheses, family), key=misfit), min(range(len(names)), key=misfit)
    if tallies[anywhere].clean and not tallies[best].clean:
        return anywhere, names[anywhere]
    return best, None


def _look_further(
    rows: Rows, hypotheses: Sequence[Hypothesis], best: int, setting: Setting, survey: Survey, evidence: Evidence
) -> Evidence:
    """What could explain a recording that does not agree; each question is one more pass over it, the worst rows first."""
    worst = survey.tallies[best].worst_rows
    lanes, within = stream.summation_order(rows, hypotheses[best], setting, worst)
    rounded = None
    if lanes is None and setting.before_rounded is None:
        each = {row for tally in survey.tallies for row in tally.worst_rows}
        rounded = stream.undeclared_rounding(rows, hypotheses, best, setting, each)
    return replace(evidence, lanes=lanes, within_worst_case=within, before_rounded=rounded)


def _comparison(
    rows: Rows, label: Label, setting: Setting, best: Hypothesis, *, survey: Survey, evidence: Evidence
) -> Comparison:
    tally, decision = evidence.tally, decide(evidence)
    chain = best.chain.name if best.chain else None
    words = Words(rows.width, rows.leading, setting.output.name, chain)
    worst = tally.worst
    return replace(
        _blank(rows, label),
        status=decision.status,
        finding=decision.finding,
        message=words.say(decision.finding, evidence),
        unjudged=rows.positions * rows.width - tally.judged,
        output_dtype=setting.output.name,
        output_dtype_source=label.output_dtype_source,
        param_dtype=best.variant.name,
        chain=chain,
        max_abs_error=tally.max_abs_error,
        max_error_ratio=None if worst is None else worst.ratio,
        outside_cells=tally.outside if chain or setting.declared else None,
        nonfinite=_nonfinite(survey, words),
        worst=None if worst is None else Worst(words.index(worst.row), *worst[1:5], worst.ratio),
        explained_by=evidence.explanations or (),
    )


def _nonfinite(survey: Survey, words: Words) -> Nonfinite | None:
    where: Literal["before", "after"] = "before" if survey.before.first is not None else "after"
    count = survey.before if where == "before" else survey.after
    if count.first is None:
        return None
    row, channel = divmod(count.first, words.width)
    return Nonfinite(count.nan, count.inf, (*words.index(row), channel), where)


def _without_reference(rows: Rows, label: Label, broken: str) -> Comparison:
    """A norm with a NaN among its parameters has no reference; that it has one is another check's finding."""
    message = f"{broken}: there is no reference to compare with"
    return replace(_blank(rows, label), message=message)


def _blank(rows: Rows, label: Label) -> Comparison:
    """Nothing judged yet."""
    elements = rows.positions * rows.width
    return Comparison(
        label.norm,
        label.recording,
        label.provenance,
        "skip",
        "nothing-judged",
        "",
        positions=rows.positions,
        elements=elements,
        unjudged=elements,
        stored_dtype=rows.after_dtype,
        packaged=label.packaged,
    )
