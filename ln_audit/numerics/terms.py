"""What a fast kernel is told: one hypothesis as numbers, with the bound of every element in the same five terms.

Per element, with a row's slope and offset from `tolerance.row_bound` (e_z = slope·|z| + offset):

    e_c = slope·|g·z| + offset·|g| + 2u·|y| + u·|b|
    e   = e_c + stored_u·(|y| + early·|g·z|) + half_eta·(1 + early·|g|)

which are steps 4 and 5 of `tolerance`; `stored_u` is 0 where the output is not narrower than the compute format.
"""

from __future__ import annotations

from math import sqrt
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np

from ln_audit.numerics import tolerance
from ln_audit.numerics.floats import SMALLEST
from ln_audit.numerics.reference import mean

if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import NDArray

    from ln_audit.numerics.cells import Chain
    from ln_audit.numerics.floats import Array, Format, Mask
    from ln_audit.numerics.judge import Hypothesis, Setting

MOST = 2.0**40  # |y| stays below it where gain and bias do, so that nothing of a bound overflows float32
NOISE = 1e-6  # how far a kernel's error ratio may be from the reference's, relatively …
RESOLVED = 2.0**-7  # … from here on; below, the rounding of float64 shows (2⁻²⁹ of a float32 bound)
SURE = 1 - 2.0**-16  # a ratio up to here is below 1 in the reference too; what lies between is left to it


class Figures(NamedTuple):
    """A block that is clearly clean: its largest error ratio, the first row that comes within NOISE of it, and the
    largest |recorded − y|.
    """

    ratio: float
    row: int
    error: float


class Kernel(Protocol):
    """Judges blocks of at most `rows` rows under one hypothesis."""

    rows: int

    def judge(self, before: NDArray[Any], after: NDArray[Any], best: float) -> Figures | None:
        """Figures of a block [n, d] in its stored dtype, or None unless every element is judged, finite and agrees.

        Ratios up to `best` need not be told apart: a block without a larger one may say `best`.
        """


class Terms(NamedTuple):
    """One hypothesis of a comparison; gain and bias [d], 1 and 0 where absent."""

    centred: bool
    eps: float
    k: float
    compute: Format
    output: Format
    chain: Chain | None
    gain: Array
    bias: Array

    @property
    def width(self) -> int:
        """D."""
        return len(self.gain)

    @property
    def early(self) -> int:
        """How often the run rounds before the gain."""
        return self.chain.early if self.chain is not None else 0

    @property
    def stored_u(self) -> float:
        """The unit roundoff of storing the result, where that rounds once more."""
        return self.output.u if self.output.u > self.compute.u else 0.0

    @property
    def half_eta(self) -> float:
        """Half the output's smallest subnormal, never 0."""
        return max(self.output.eta / 2, SMALLEST)


def terms(hypothesis: Hypothesis, setting: Setting, width: int) -> Terms | None:
    """None for what only the reference judges: an input declared rounded, parameters of absurd size."""
    if setting.before_rounded is not None or setting.worst_case or setting.lanes is not None:
        return None
    variant = hypothesis.variant
    gain = np.ones(width) if variant.gain is None else variant.gain
    bias = np.zeros(width) if variant.bias is None else variant.bias
    largest = float(np.abs(gain).max() * sqrt(width) + np.abs(bias).max())  # |z| is at most √d
    if not largest < MOST:
        return None
    k = tolerance.probable_growth(width)
    centred = setting.kind == "layer_norm"
    return Terms(centred, setting.eps, k, setting.compute, setting.output, hypothesis.chain, gain, bias)


def row_numbers(x: Array, terms: Terms) -> tuple[Array, Mask]:
    """μ, r, slope and offset of each row of x [n, d], as the reference takes them: [n, 4]; and which rows are judged."""
    with np.errstate(all="ignore"):
        none = np.zeros((len(x), 1))
        mu = mean(x) if terms.centred else none
        delta = x - mu
        var = mean(delta * delta)
        r = 1.0 / np.sqrt(var + terms.eps)
        mean_abs = mean(np.abs(x)) if terms.centred else none
        slope, offset, judged = tolerance.row_bound(var, r, mean_abs, terms.k, terms.compute)
    return np.concatenate([mu, r, slope, offset], axis=1), judged
