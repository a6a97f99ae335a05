"""Fills in what a comparison that passed can tell, and what it cannot."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ln_audit.diagnosis import another_epsilon, gain_offset, missing_parameters, other_kind
from ln_audit.diagnosis.hypothesis import Batch, Suspect
from ln_audit.numerics.floats import FORMATS
from ln_audit.numerics.judge import Hypothesis as Honest
from ln_audit.numerics.judge import Setting, judge, prepare
from ln_audit.numerics.output_dtype import compute_format
from ln_audit.numerics.parameters import variants
from ln_audit.resolving_power.degenerate import degenerate
from ln_audit.resolving_power.distance import Distance, Way, measure, stage
from ln_audit.resolving_power.regimes import Regime, Regimes
from ln_audit.resolving_power.sample import Sample, sample
from ln_audit.resolving_power.smallest_change import Smallest, smallest_changes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from ln_audit.comparison import Comparison
    from ln_audit.core import Rows
    from ln_audit.diagnosis.hypothesis import Fault, Hypothesis, Other
    from ln_audit.numerics.parameters import NormParameters

NEAREST = 32  # other norms that are asked about: on each side the layers that an index is off by

# What a checkpoint and its config can have wrong. A packaged recording is none of the user's runs: there is nothing in
# it that a runtime of theirs did.
OF_AN_ARTIFACT: tuple[Hypothesis, ...] = (another_epsilon, other_kind, gain_offset, missing_parameters)


def of_a_run() -> tuple[Hypothesis, ...]:
    """What a run can have done. Of those that would take numbers from an output, two are simulated where there is none."""
    from ln_audit.diagnosis import low_precision, one_pass
    from ln_audit.diagnosis.registry import HYPOTHESES

    return (*(each for each in HYPOTHESES if each.FREEDOM == 0), one_pass, low_precision)


def resolve(
    comparison: Comparison,
    rows: Rows,
    parameters: NormParameters,
    *,
    before_rounded: str | None = None,
    others: Callable[[], Sequence[Other]] = tuple,
) -> Comparison:
    """The comparison with `can_tell`, `cannot_tell`, `smallest_changes` and `degenerate` filled in.

    `rows`, `parameters` and `before_rounded` are what it was made of; `others` gives further norms of this width. A
    comparison that did not pass is given back as it is: what it shows, the diagnosis says. Costs a bounded sample.
    """
    if comparison.status != "pass" or comparison.output_dtype is None:
        return comparison
    taken = sample(rows, packaged=comparison.packaged)
    output = FORMATS[comparison.output_dtype]
    declared = comparison.output_dtype_source != "inferred"
    rounded = None if before_rounded is None else FORMATS[before_rounded]
    setting = Setting(parameters.kind, parameters.eps, compute_format(output), output, declared, rounded)
    near = () if comparison.packaged else tuple(sorted(others(), key=lambda each: abs(each.step))[:NEAREST])
    suspect = Suspect(comparison.norm, parameters, setting, taken, near)
    ways = tuple(Way(form, chain) for chain in suspect.chains for form in variants(parameters, output))
    alive = _alive(taken, suspect, ways)
    own = next((at for at in alive if _is(ways[at], comparison)), alive[0])
    hypotheses = OF_AN_ARTIFACT if comparison.packaged else of_a_run()
    found = list(_distances(hypotheses, suspect, taken, ways, alive, own))
    changes = smallest_changes(taken.before, suspect, ways[own], [ways[at] for at in alive])
    narrow = output.u > setting.compute.u
    return replace(
        comparison,
        can_tell=tuple(_entry(each, narrow=narrow) for each in found if each[2].told),
        cannot_tell=tuple(_entry(each, narrow=narrow) for each in found if not each[2].told),
        smallest_changes=tuple(_change(each) for each in changes),
        degenerate=tuple(degenerate(taken, parameters)),
    )


def _alive(rows: Sample, suspect: Suspect, ways: Sequence[Way]) -> list[int]:
    """The ways that the recorded run may have gone; the sample alone may leave more than the whole recording does."""
    if len(ways) == 1:
        return [0]
    prepared = prepare(rows.before, suspect.setting)
    alive = []
    for at, way in enumerate(ways):
        held = judge(prepared, rows.after, Honest(way.form, way.chain), suspect.setting)
        if not (held.outside | held.wrong | (held.ratio > 1)).any():
            alive.append(at)
    return alive or list(range(len(ways)))


def _is(way: Way, comparison: Comparison) -> bool:
    chain = None if way.chain is None else way.chain.name
    return way.form.name == comparison.param_dtype and chain == comparison.chain


Found = tuple[str, str, Distance, Regime]


def _distances(
    hypotheses: Sequence[Hypothesis],
    suspect: Suspect,
    rows: Sample,
    ways: Sequence[Way],
    alive: Sequence[int],
    own: int,
) -> Iterator[Found]:
    """Every fault with its distance; of several of one name the nearest. What is no fault for this norm is left out."""
    chains = list(dict.fromkeys(ways[at].chain for at in alive))
    stages = [stage(batch, suspect, ways) for batch in rows.batches()]
    made = Regimes(suspect, ways, chains, own)
    blind = Batch(np.arange(rows.positions), rows.before)
    nearest: dict[str, Found] = {}
    for name, fault in _faults(hypotheses, suspect, blind):
        distance = measure(fault, stages, suspect, chains, own)
        why: Regime = "these rows" if distance.told else made.of(fault)
        if why == "none":
            continue
        before = nearest.get(fault.name)
        if before is None or (distance.told, distance.ratio) < (before[2].told, before[2].ratio):
            nearest[fault.name] = (name, fault.name, distance, why)
    yield from nearest.values()


def _faults(hypotheses: Sequence[Hypothesis], suspect: Suspect, batch: Batch) -> Iterator[tuple[str, Fault]]:
    """All that can be predicted of this norm; another input than `before` is no fault of it."""
    for hypothesis in hypotheses:
        if hypothesis.applies(suspect):
            for fault in hypothesis.faults(suspect, batch):
                if fault.state is None:
                    yield hypothesis.NAME, fault


def _entry(found: Found, *, narrow: bool) -> Mapping[str, Any]:
    """As the report shows it; a fault that is told was followed only until it was."""
    hypothesis, name, distance, why = found
    return {
        "name": name,
        "hypothesis": hypothesis,
        "distance": distance.ratio,
        "cells": distance.cells if narrow else None,
        "hidden_by": None if distance.told else why,
    }


def _change(change: Smallest) -> Mapping[str, Any]:
    strongest, weakest = change.strongest, change.weakest
    return {
        "parameter": change.parameter,
        "smallest": None if strongest is None else float(change.relative[strongest]),
        "channel": strongest,
        "largest": None if weakest is None else float(change.relative[weakest]),
        "weakest_channel": weakest,
        "unseen_channels": change.unseen,
    }
