"""One block of recorded rows held against the reference: error, tolerance and cell of every element. Pure functions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ln_audit.numerics import tolerance
from ln_audit.numerics.cells import Chain, Computed
from ln_audit.numerics.reference import NORMS, affine
from ln_audit.numerics.summation import simulate

if TYPE_CHECKING:
    from ln_audit.numerics.floats import Array, Format, Mask
    from ln_audit.numerics.parameters import Variant


class Hypothesis(NamedTuple):
    """One honest way in which the run may have used its parameters and rounded; no chain where o is not narrower."""

    variant: Variant
    chain: Chain | None


@dataclass(frozen=True, slots=True)
class Setting:
    """What all of a comparison's blocks share.

    `declared`: the output dtype was stated, so every recorded value must be one of its numbers. `worst_case`: k = d.
    `lanes`: sums are taken in this simulated order.
    """

    kind: str
    eps: float
    compute: Format
    output: Format
    declared: bool = False
    before_rounded: Format | None = None
    worst_case: bool = False
    lanes: int | None = None


class Prepared(NamedTuple):
    """A block's normed rows and their bound, the same for every hypothesis. `judged`: rows that say something."""

    z: Array  # [n, d]
    e_z: Array  # [n, d]
    r: Array  # [n, 1]
    judged: Mask  # [n, 1]


@dataclass(frozen=True, slots=True)
class Judgement:
    """Every element of a block: `ratio` is |recorded − y| / e, 0 for a rightful infinity, NaN where there is none.

    `outside`: outside its cell. `inexact`: not a number of the declared output dtype, so outside every cell. `wrong`: a
    NaN, or an infinity that y ± e does not reach. All [n, d]; `low` and `high` are the cell's ends, or y ± e where o is
    not narrower.
    """

    recorded: Array
    y: Array
    e: Array
    low: Array
    high: Array
    ratio: Array
    judged: Mask
    outside: Mask
    inexact: Mask
    wrong: Mask


def prepare(x: Array, setting: Setting) -> Prepared:
    """Norm the rows x [n, d] in float64 (or in the simulated order) and bound z."""
    normed = NORMS[setting.kind](x, None, None, setting.eps)
    d = x.shape[1]
    k = tolerance.worst_growth(d) if setting.worst_case else tolerance.probable_growth(d)
    e_z, judged = tolerance.normalized_bound(x, normed, k, setting.compute, setting.before_rounded)
    z = normed.z
    if setting.lanes is not None:
        z = simulate(x, setting.eps, setting.lanes, centred=normed.centred, dtype=setting.compute.name)
    return Prepared(z=z, e_z=e_z, r=normed.r, judged=judged)


def judge(rows: Prepared, recorded: Array, hypothesis: Hypothesis, setting: Setting) -> Judgement:
    """Hold `recorded` [n, d] against prepared rows under one hypothesis."""
    gain, bias = hypothesis.variant.gain, hypothesis.variant.bias
    chain, output, compute = hypothesis.chain, setting.output, setting.compute
    with np.errstate(all="ignore"):  # rows and elements that are not judged may hold anything
        y = affine(rows.z, gain, bias)
        e_c = tolerance.compute_bound(y, rows.e_z, gain, bias, compute.u)
        early = chain.early if chain is not None else 0
        e = tolerance.stored_bound(e_c, y, rows.z, gain, compute=compute, output=output, early=early)
        judged = rows.judged & np.isfinite(y) & np.isfinite(e)
        wrong = judged & ~_rightful(recorded, y, e, output)
        wrong |= _never_right(recorded, rows, gain, bias, output)
        finite = judged & np.isfinite(recorded)
        ratio = np.where(finite, np.abs(recorded - y) / e, np.where(judged & ~wrong, 0.0, np.nan))
        low, high = y - e, y + e
        inexact = finite & ~output.holds(recorded) if setting.declared else np.zeros_like(finite)
        outside = inexact
        if chain is not None:
            low, high = chain.cell(Computed(rows.z, rows.e_z, y, e_c, gain, bias, compute.u), output)
            outside = outside | (judged & ~wrong & ~((low <= recorded) & (recorded <= high)))
    return Judgement(recorded, y, e, low, high, ratio, judged, outside, inexact, wrong)


def _never_right(recorded: Array, rows: Prepared, gain: Array | None, bias: Array | None, output: Format) -> Mask:
    """NaN, or an infinity that no norm reaches, in rows that are not judged: |z| ≤ √d whatever the order of the sums.

    Rows of variance 0 without an epsilon are left out: there an honest run divides 0 by 0.
    """
    d = recorded.shape[1]
    reach = np.sqrt(d) * (1.0 if gain is None else np.abs(gain)) + (0.0 if bias is None else np.abs(bias))
    broken = np.isnan(recorded) | (np.isinf(recorded) & (2 * reach < output.overflow))
    found: Mask = ~rows.judged & np.isfinite(rows.r) & broken
    return found


def _rightful(recorded: Array, y: Array, e: Array, output: Format) -> Mask:
    """Finite, or an infinity that y ± e reaches with its sign; inside the band both are right. NaN never is."""
    reached = np.copysign(1.0, recorded) * y + e >= output.overflow
    return np.isfinite(recorded) | (np.isinf(recorded) & reached)
