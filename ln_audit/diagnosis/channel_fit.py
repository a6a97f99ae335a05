"""Gain and bias of each channel, recovered from recorded rows by least squares, with the error they can have."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ln_audit.numerics.judge import Hypothesis as Honest
from ln_audit.numerics.judge import Judgement, Prepared, judge, prepare
from ln_audit.numerics.parameters import Variant

if TYPE_CHECKING:
    from collections.abc import Callable

    from ln_audit.numerics.cells import Chain
    from ln_audit.numerics.floats import Array, Mask
    from ln_audit.numerics.judge import Setting


class Pair(NamedTuple):
    """Gain and bias of each channel [d], and how far off each of them may be."""

    gain: Array
    gain_error: Array
    bias: Array
    bias_error: Array


@dataclass(frozen=True, slots=True)
class Fitted:
    """The pairs that fit best. `neither`: channels where no gain and bias fits, or too few different rows to say.

    `away`: the stored numbers are further from the recovered ones than those can be off.
    """

    pair: Pair
    gain_differs: Mask
    bias_differs: Mask
    away: Mask
    neither: Mask

    @property
    def differs(self) -> Mask:
        """Channels of which anything differs."""
        either: Mask = self.gain_differs | self.bias_differs
        return either

    @property
    def constant(self) -> bool:
        """No channel takes anything from its input, and that is not how it is stored."""
        return bool((np.abs(self.pair.gain) <= self.pair.gain_error).all() and self.gain_differs.all())

    @property
    def tells(self) -> bool:
        """Something differs, every channel fits, and of most that differ the rows say so beyond doubt."""
        return bool(self.differs.any() and not self.neither.any() and self.away[self.differs].mean() > 0.5)


class Seen(NamedTuple):
    """The rows that count, [n, d]: z and its bound, the output and its bound, 0 elsewhere; `kept` says where."""

    z: Array
    e_z: Array
    y: Array
    e: Array
    kept: Mask

    @property
    def rows(self) -> Array:
        """How many rows count in each channel [d]."""
        counted: Array = self.kept.sum(axis=0).astype(np.float64)
        return counted

    @property
    def points(self) -> Array:
        """How many different z each channel [d] has, up to three: a row that is repeated determines nothing more.

        Different are numbers further apart than both may be off: the least, the greatest, and one between.
        """
        apart = 2 * np.max(self.e_z, axis=0)
        low = np.min(np.where(self.kept, self.z, np.inf), axis=0)
        high = np.max(np.where(self.kept, self.z, -np.inf), axis=0)
        between = self.kept & (self.z - low > apart) & (high - self.z > apart)
        counted: Array = self.kept.any(axis=0) * 1.0 + (high - low > apart) + between.any(axis=0)
        return counted


@dataclass(frozen=True, slots=True)
class Bench:
    """Recorded rows that a pair of each channel is tried on."""

    prepared: Prepared
    after: Array  # [n, d]
    chain: Chain | None
    setting: Setting

    def judged(self, pair: Pair) -> Judgement:
        """The rows under the pair."""
        rows, variant = widened(self.prepared, pair)
        return judge(rows, self.after, Honest(variant, self.chain), self.setting)

    def misfits(self, pair: Pair) -> Mask:
        """Channels [d] with an element off."""
        held = self.judged(pair)
        with np.errstate(invalid="ignore"):
            off: Mask = np.logical_or.reduce(held.outside | held.wrong | (held.ratio > 1), axis=0)
        return off

    def fitted(self, fit: Callable[[Seen, Pair], Pair], stored: Pair, needed: int) -> Pair:
        """A fit, and once more with the bounds that belong to it; NaN where fewer points count than it needs."""
        pair = stored
        for _ in range(2):
            held = self.judged(pair)
            kept = held.judged & np.isfinite(held.recorded)
            of_rows = (self.prepared.z, self.prepared.e_z, held.recorded, held.e)
            z, e_z, y, e = (np.where(kept, each, 0.0) for each in of_rows)
            seen = Seen(z, e_z, y, e, kept)
            with np.errstate(all="ignore"):
                told = fit(seen, stored)
            pair = Pair(*(np.where((seen.points >= needed) & np.isfinite(each), each, np.nan) for each in told))
        return pair


def recover(before: Array, after: Array, form: Variant, chain: Chain | None, setting: Setting) -> Fitted:
    """The fewest numbers per channel that bring all its rows within their bounds; the stored ones where those do."""
    bench, d = Bench(prepare(before, setting), after, chain, setting), before.shape[1]
    zero = np.zeros(d)
    stored = Pair(np.ones(d) if form.gain is None else form.gain, zero, zero if form.bias is None else form.bias, zero)
    pair, unfit = stored, bench.misfits(stored)
    gain_differs, bias_differs, away = (np.zeros(d, dtype=bool) for _ in range(3))
    for fit, moves_gain, moves_bias, needed in (
        (_gain, True, False, 2),
        (_bias, False, True, 2),
        (_both, True, True, 3),
    ):
        if unfit.any():
            tried = bench.fitted(fit, stored, needed)
            fits = unfit & np.isfinite(tried.gain + tried.bias) & ~bench.misfits(tried)
            pair = Pair(*(np.where(fits, new, old) for new, old in zip(tried, pair, strict=True)))
            gain_differs |= fits & moves_gain
            bias_differs |= fits & moves_bias
            away |= fits & _away(tried, stored, gain=moves_gain, bias=moves_bias)
            unfit = unfit & ~fits
    return Fitted(pair, gain_differs, bias_differs, away, unfit)


def _away(pair: Pair, stored: Pair, *, gain: bool, bias: bool) -> Mask:
    """Whether the stored numbers are further from the recovered ones than those can be off."""
    with np.errstate(invalid="ignore"):
        further_gain = np.abs(pair.gain - stored.gain) > pair.gain_error
        further_bias = np.abs(pair.bias - stored.bias) > pair.bias_error
    return (further_gain | (not gain)) & (further_bias | (not bias))


def widened(prepared: Prepared, pair: Pair) -> tuple[Prepared, Variant]:
    """Rows to which the pair is applied, z wider by what is not known of the pair; a gain of 0 is as large as it may be."""
    unsure = np.abs(pair.gain) < pair.gain_error
    gain = np.where(unsure, np.copysign(pair.gain_error, pair.gain), pair.gain)
    with np.errstate(all="ignore"):
        spread = (np.abs(prepared.z) * pair.gain_error + pair.bias_error) / np.abs(gain)  # [n, d]
    e_z = prepared.e_z + np.where(np.isfinite(spread), spread, 0.0)
    return Prepared(prepared.z, e_z, prepared.r, prepared.judged), Variant(None, gain, pair.bias)


def _gain(seen: Seen, stored: Pair) -> Pair:
    """Σ z·(y − b) / Σ z²."""
    weight = seen.z / np.sum(seen.z**2, axis=0)  # [n, d]
    gain = np.sum(weight * (seen.y - np.where(seen.kept, stored.bias, 0.0)), axis=0)
    return Pair(gain, np.sum(np.abs(weight) * seen.e, axis=0), stored.bias, stored.bias_error)


def _bias(seen: Seen, stored: Pair) -> Pair:
    """The mean of y − g·z."""
    bias = np.sum(seen.y - stored.gain * seen.z, axis=0) / seen.rows
    return Pair(stored.gain, stored.gain_error, bias, np.sum(seen.e, axis=0) / seen.rows)


def _both(seen: Seen, _: Pair) -> Pair:
    """The straight line through (z, y)."""
    centre = np.sum(seen.z, axis=0) / seen.rows
    away = np.where(seen.kept, seen.z - centre, 0.0)
    weight = away / np.sum(away**2, axis=0)  # [n, d]
    level = np.where(seen.kept, 1.0 / seen.rows, 0.0) - centre * weight
    return Pair(
        np.sum(weight * seen.y, axis=0),
        np.sum(np.abs(weight) * seen.e, axis=0),
        np.sum(level * seen.y, axis=0),
        np.sum(np.abs(level) * seen.e, axis=0),
    )
