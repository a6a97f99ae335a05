"""A fast kernel held against the reference: the same verdict, ratios within 1e-6, the same worst element."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import pytest

from ln_audit.numerics import passing, stream
from ln_audit.numerics.cells import CHAINS
from ln_audit.numerics.floats import FORMATS, float64
from ln_audit.numerics.judge import Hypothesis, Setting, judge, prepare
from ln_audit.numerics.output_dtype import compute_format
from ln_audit.numerics.parameters import Variant
from tests.numerics.runs import BF16, F16, FLOAT32, ArrayRows, gain_and_bias, rows_of, run

if TYPE_CHECKING:
    from ln_audit.numerics.kernels import Fast
    from ln_audit.numerics.terms import Figures, Kernel

WIDTHS = (1, 2, 3, 16, 767, 768, 4096)
OUTPUTS = [(FLOAT32, None), (BF16, "once"), (F16, "once"), (BF16, "before_gain"), (F16, "before_gain")]
NEAR = 1e-6


@dataclass(frozen=True)
class Case:
    """Recorded rows and the hypotheses they are judged under."""

    rows: ArrayRows
    hypotheses: tuple[Hypothesis, ...]
    setting: Setting

    def reference(self):
        return stream.survey(self.rows, self.hypotheses, self.setting)

    def fast(self, fast: Fast):
        return passing.survey(self.rows, self.hypotheses, self.setting, range(len(self.hypotheses)), fast=fast)


BLOCK = 2**13  # elements, in place of a kernel's own many: a small recording then has several blocks


@dataclass(frozen=True)
class SmallKernel:
    """A kernel that is given small blocks; `cleared` keeps what it says of each."""

    kernel: Kernel
    rows: int
    cleared: list[Figures | None]

    def judge(self, before, after, best):
        figures = self.kernel.judge(before, after, best)
        self.cleared.append(figures)
        return figures


@dataclass(frozen=True)
class InSmallBlocks:
    """A kernel's module, the blocks of its kernels made smaller."""

    fast: Fast
    cleared: list[Figures | None] = field(default_factory=list)
    NAME = "small"
    PAYS_FROM = 0
    MOST_PARTS = 1

    def available(self) -> bool:
        return True

    def kernel(self, terms):
        kernel = self.fast.kernel(terms)
        return None if kernel is None else SmallKernel(kernel, max(1, BLOCK // terms.width), self.cleared)


def positions(d, blocks=6):
    """So many rows that there are several blocks, the last one shorter."""
    return max(1, BLOCK // d) * (blocks - 1) + max(1, BLOCK // d // 2)


def case(x, after, kind="layer_norm", chain=None, gain=..., bias=..., eps=1e-5, output=None) -> Case:
    """`after` [n, d] of rows x under the chain it was run in."""
    default_gain, default_bias = gain_and_bias(x.shape[1])
    gain, bias = (default_gain if gain is ... else gain), (default_bias if bias is ... else bias)
    o = FORMATS[output or str(after.dtype)]
    wide = [None if values is None else float64(values) for values in (gain, bias)]
    hypothesis = Hypothesis(Variant("", *wide), CHAINS[chain] if chain else None)
    return Case(ArrayRows(x, after), (hypothesis,), Setting(kind, eps, compute_format(o), o))


def honest(kind_of_rows, d, n, out=FLOAT32, chain=None, kind="layer_norm", **parameters) -> Case:
    x = rows_of(kind_of_rows, d, n).astype(out)
    default = dict(zip(("gain", "bias"), gain_and_bias(d), strict=True)) | parameters
    after = run(x, default["gain"], default["bias"], kind=kind, out=out, chain=chain or "once")
    return case(x, after, kind, chain, **default)


def honest_float64(d, n, kind="layer_norm") -> Case:
    x = np.random.default_rng(d).standard_normal((n, d))
    gain, bias = (values.astype(np.float64) for values in gain_and_bias(d))
    delta = x - x.mean(axis=1, keepdims=True) if kind == "layer_norm" else x
    return case(x, delta / np.sqrt((delta**2).mean(axis=1, keepdims=True) + 1e-5) * gain + bias, kind)


def ratio_at(case: Case, row: int, channel: int) -> float:
    """The reference's error ratio of one element."""
    prepared = prepare(float64(case.rows.before[row : row + 1]), case.setting)
    judged = judge(prepared, float64(case.rows.after[row : row + 1]), case.hypotheses[0], case.setting)
    return float(judged.ratio[0, channel])


def assert_agrees(fast: Fast, case: Case) -> bool:
    """The same verdict, and where it is a pass the same figures. Gives whether it passes."""
    slow, found = case.reference().tallies[0], case.fast(InSmallBlocks(fast))
    if not slow.clean:
        assert found is None or not found.tallies[0].clean
        return False
    assert found is not None
    tally = found.tallies[0]
    assert (tally.judged, tally.over, tally.outside, tally.wrong) == (slow.judged, 0, 0, 0)
    assert tally.clean
    assert tally.max_ratio == pytest.approx(slow.max_ratio, rel=NEAR, abs=0)
    assert tally.max_abs_error == pytest.approx(slow.max_abs_error, rel=NEAR, abs=0)
    assert tally.worst is not None
    assert slow.worst is not None
    assert tally.worst.ratio == ratio_at(case, *tally.worst[:2])
    assert tally.worst[:2] <= slow.worst[:2]  # the first that comes within 1e-6 of the largest
    return True


def corrupted(case: Case, seed: int) -> Case:
    """One thing wrong, or nearly: an error of 1e-7 to 1 in one element, a NaN, an infinity, one row unlike the others."""
    rng = np.random.default_rng(seed)
    before, after = case.rows.before.copy(), case.rows.after.copy()
    at = tuple(int(rng.integers(size)) for size in after.shape)
    what = seed % 6
    if what < 3:
        after[at] = np.asarray(float(after[at]) + 10.0 ** rng.uniform(-7, 0), after.dtype)
    elif what == 3:
        after[at] = rng.choice([np.nan, np.inf, -np.inf])
    elif what == 4:
        before[at] = rng.choice([np.nan, np.inf, -np.inf])
    else:
        after[at[0]] = after[(at[0] + 1) % len(after)]
    return Case(ArrayRows(before, after), case.hypotheses, case.setting)
