"""Judges blocks with NumPy alone, in as few passes over a block in the L2 cache as there can be.

Broadcasting a row's or a channel's number over a block costs as much as three plain operations; a matrix product of inner
size 2 lays it out at a fifth of that. So x·(r ⊗ g) + (−r·μ ⊗ g + 1 ⊗ b) is two such products and two plain operations.

Nearly all elements are far from their bound. A lower limit of it, in float32 and from the recorded value, shows that; it
errs on the safe side, for a recorded value near y and for one far from it. The few suspects that are left, those that may
exceed the largest ratio so far or lie outside their cell, are judged with the reference's own functions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ln_audit.numerics import tolerance
from ln_audit.numerics.cells import Computed
from ln_audit.numerics.floats import FLOAT64, float64
from ln_audit.numerics.reference import affine
from ln_audit.numerics.terms import NOISE, SURE, Figures, row_numbers
from ln_audit.numerics.widen import single

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ln_audit.numerics.floats import Array, Mask
    from ln_audit.numerics.terms import Terms

    Single = NDArray[np.float32]

NAME = "numpy"
PAYS_FROM = 2**22  # bytes of both arrays: below, the reference needs a few hundredths of a second itself
MOST_PARTS = 1  # its many short calls wait for Python's lock longer than a second thread gains
BLOCK_ELEMENTS = 2**17  # fewer calls gain more than a block would that fits the L2 cache: 0.5 MB in float32
THREADED_DOT = 8192  # from about there on OpenBLAS shares one row's product among threads, and waits for them
SLACK = 1 - 2.0**-10  # more than float32 can be wrong in a limit
MOST_SUSPECTS = 1 / 4  # of a block: from there on the reference is as fast


def available() -> bool:
    """NumPy always is."""
    return True


def kernel(terms: Terms) -> NumpyKernel:
    """A kernel for every kind of output."""
    return EarlyKernel(terms) if terms.early else NumpyKernel(terms)


class NumpyKernel:
    """`terms.Kernel` for runs that round once, when they store the result."""

    def __init__(self, terms: Terms) -> None:
        elements = BLOCK_ELEMENTS if terms.chain is None else BLOCK_ELEMENTS // 2  # there are two chains to try
        self.rows = max(1, elements // terms.width)
        self.terms = terms
        self.affine = np.stack([terms.gain, terms.bias])  # [2, d]
        self.biased = bool(terms.bias.any())
        self.sizes = np.abs(self.affine).astype(np.float32)  # [2, d]
        self.ones = np.ones((terms.width, 2))  # two columns: OpenBLAS may share a matrix-vector product among threads
        self.even = np.ones((2, terms.width), np.float32)
        self.unit = 2.0**53 if terms.compute is FLOAT64 else 1.0  # errors in units that float32 does not lose
        self.shift = (terms.bias * self.unit).astype(np.float32)
        self.wide = np.empty((2, self.rows, terms.width))
        self.narrow = np.empty((4, self.rows, terms.width), np.float32)
        self.masks = np.empty((2, self.rows, terms.width), bool)

    def judge(self, before: NDArray[Any], after: NDArray[Any], best: float) -> Figures | None:
        """Figures of a block, or None where it is not clearly clean."""
        with np.errstate(all="ignore"):  # what overflows or is not finite ends as an error that is not finite
            y, numbers, judged = self._normed(before)
            if not judged.all():
                return None
            recorded = self._recorded(after)
            error = self._errors(after, recorded, y)
            largest = float(error.max())
            if not largest < np.inf:
                return None
            clear, cells = (self.masks[at, : len(error)] for at in (0, 1))
            np.less_equal(error, self._limits(recorded, numbers, min(best, SURE)), out=clear)
            if self.terms.chain is not None:
                np.logical_and(clear, self._inside_cells(recorded, error, cells), out=clear)
            at = np.flatnonzero(np.logical_not(clear, out=clear))
            if len(at) > MOST_SUSPECTS * error.size:
                return None
            rows, channels = np.divmod(at, self.terms.width)
            ratios = self._ratios(
                float64(before[rows, channels]), float64(after[rows, channels]), numbers[rows], channels
            )
        if ratios is None or not (ratio := max(ratios.max(initial=0.0), best)) <= SURE:
            return None
        row = int(rows[(ratios >= ratio * (1 - NOISE)).argmax()]) if ratio > best else 0
        return Figures(float(ratio), row, largest / self.unit)

    def _normed(self, before: NDArray[Any]) -> tuple[Array, Array, Mask]:
        """Reference y [n, d], its rows' numbers [n, 4] and which of them are judged."""
        terms, n = self.terms, len(before)
        y, laid = self.wide[0, :n], self.wide[1, :n]
        if terms.compute is FLOAT64:  # an error is a few units in the last place: no operation may differ
            wide = float64(before)
            numbers, judged = row_numbers(wide, terms)
            np.multiply(np.subtract(wide, numbers[:, :1], out=y), numbers[:, 1:2], out=y)
            return np.add(np.multiply(y, terms.gain, out=y), terms.bias, out=y), numbers, judged
        x = single(before, self.narrow[0, :n])
        np.copyto(y, x)
        numbers, judged = self._row_numbers(y, x)
        mu, r = numbers[:, 0], numbers[:, 1]
        np.multiply(y, np.matmul(np.stack([r, np.zeros(n)], 1), self.affine, out=laid), out=y)
        if not terms.centred and not self.biased:
            return y, numbers, judged
        return np.add(y, np.matmul(np.stack([-r * mu, np.ones(n)], 1), self.affine, out=laid), out=y), numbers, judged

    def _row_numbers(self, x: Array, stored: NDArray[Any]) -> tuple[Array, Mask]:
        """As `terms.row_numbers`; the variance in one pass where that does not cancel: where μ² ≤ σ²."""
        terms, (n, d) = self.terms, x.shape
        mu, mean_abs, var = np.zeros(n), np.zeros(n), _dot(x, x) / d
        if terms.centred:
            mu = np.matmul(x, self.ones)[:, 0] / d
            var -= mu * mu
            size = np.abs(stored, out=self.narrow[1, :n]) if stored.dtype == np.float32 else np.abs(stored)
            mean_abs = _sum(size) / float(d)
            cancelled = ~(mu * mu <= var)
            if cancelled.any():
                delta = x[cancelled] - mu[cancelled, None]
                var[cancelled] = _dot(delta, delta) / d
        r = 1.0 / np.sqrt(var + terms.eps)
        slope, offset, judged = tolerance.row_bound(var, r, mean_abs, terms.k, terms.compute)
        return np.stack([mu, r, slope, offset], axis=1), judged

    def _recorded(self, after: NDArray[Any]) -> Single:
        """A block of `after` in float32: exact, but for float64 outputs, where it only serves to limit their bound."""
        recorded = single(after, self.narrow[0, : len(after)])
        if recorded.dtype != np.float32 or self.unit != 1:
            np.multiply(recorded, self.unit, out=self.narrow[0, : len(after)], casting="unsafe")
            recorded = self.narrow[0, : len(after)]
        return recorded

    def _errors(self, after: NDArray[Any], recorded: Single, y: Array) -> Single:
        """Sizes of recorded − y [n, d] in units, infinite where float32 would lose one."""
        wide, error = self.wide[1, : len(y)], self.narrow[1, : len(y)]
        np.copyto(wide, recorded if self.unit == 1 else after)
        np.subtract(wide, y, out=wide)
        if self.unit != 1:
            np.multiply(wide, self.unit, out=wide)
        np.copyto(error, wide)
        if self.unit != 1 and np.count_nonzero(error) != np.count_nonzero(wide):
            error.fill(np.inf)
        return np.abs(error, out=error)

    def _limits(self, recorded: Single, numbers: Array, best: float) -> Single:
        """Nowhere more than `best` times e, in units [n, d].

        Let v be the recorded value, e = p·|g·z| + q·|y| + offset·|g| + u·|b|. As |g·z| ≥ |v − b| − error, |y| ≥ |v| − error
        and |v| and |v − b| are at most |b| apart, e is at least (p + q)·(|v − b| − error) + offset·|g| + (u − q)·|b|, and
        the same with |v| for |v − b| and u − p for u − q: the better limit where q is large, as it is for narrow outputs.
        """
        terms, n, u = self.terms, len(recorded), self.terms.compute.u
        p, q, offset = numbers[:, 2], 2 * u + terms.stored_u, numbers[:, 3]
        size, laid = self.narrow[2, :n], self.narrow[3, :n]
        from_bias = self.biased and terms.stored_u == 0
        np.abs(np.subtract(recorded, self.shift, out=size) if from_bias else recorded, out=size)
        share = best * SLACK / (1 + p + q)  # error > best·(limit − (p + q)·error) only where error > share·limit
        by_bias = share * (u - (q if from_bias else p))
        by_bias -= (1 - SLACK) * np.abs(by_bias)
        np.multiply(size, _laid_out(share * (p + q), 0 * share, self.even, laid), out=size)
        return np.add(size, _laid_out(self.unit * share * offset, self.unit * by_bias, self.sizes, laid), out=size)

    def _inside_cells(self, recorded: Single, error: Single, out: Mask) -> Mask:
        return self._well_inside(recorded, error, out)

    def _well_inside(self, recorded: Single, error: Single, out: Mask) -> Mask:
        """Where an error stays below half the way to the neighbour, the nearer one, which is the one towards 0.

        In the bits of a float32, neighbours of the output's format are `2·half` apart; below its smallest normal number the
        way is longer than this says, and at 0 it is NaN, which is never well inside.
        """
        half = np.int32(2 ** (23 - self.terms.output.precision))
        size, middle = self.narrow[2, : len(error)], self.narrow[3, : len(error)]
        np.abs(recorded, out=size)
        np.subtract(size.view(np.int32), half, out=middle.view(np.int32))
        gap = np.multiply(np.subtract(size, middle, out=size), np.float32(SLACK), out=size)
        return np.less(error, gap, out=out)

    def _ratios(self, x: Array, recorded: Array, numbers: Array, channels: NDArray[np.intp]) -> Array | None:
        """Error ratios of single elements, all [m], by the reference's functions; None where one may be outside its cell."""
        terms, compute, output = self.terms, self.terms.compute, self.terms.output
        mu, r, slope, offset = numbers.T
        z, gain, bias = (x - mu) * r, terms.gain[channels], terms.bias[channels]
        y = affine(z, gain, bias)
        e_z = slope * np.abs(z) + offset
        e_c = tolerance.compute_bound(y, e_z, gain, bias, compute.u)
        if terms.chain is not None:
            low, high = terms.chain.cell(Computed(z, SURE * e_z, y, SURE * e_c, gain, bias, compute.u), output)
            if not ((low <= recorded) & (recorded <= high)).all():
                return None
        e = tolerance.stored_bound(e_c, y, z, gain, compute=compute, output=output, early=terms.early)
        return np.abs(recorded - y) / e


class EarlyKernel(NumpyKernel):
    """The same for runs that round to the output's dtype before the gain too."""

    def __init__(self, terms: Terms) -> None:
        super().__init__(terms)
        self.affine = np.stack([np.ones(terms.width), np.zeros(terms.width)])  # z is laid out first, then y
        self.before_last = np.empty((self.rows, terms.width))  # g·RN(z) + b
        self.other_error = np.empty((self.rows, terms.width), np.float32)
        self.one_way = np.empty((self.rows, terms.width), bool)  # all of z ± e_z is rounded to the same number

    def _normed(self, before: NDArray[Any]) -> tuple[Array, Array, Mask]:
        z, numbers, judged = super()._normed(before)
        self._round_early(z, numbers)
        np.multiply(z, self.terms.gain, out=z)
        return np.add(z, self.terms.bias, out=z), numbers, judged

    def _round_early(self, z: Array, numbers: Array) -> None:
        """Round z with everything it may honestly be instead, by Dekker's splitting in float32."""
        n, smallest = len(z), np.float32(2.0 ** (self.terms.output.emin + 1))
        split = np.float32(2 ** (24 - self.terms.output.precision) + 1)
        near, low, high, laid = self.narrow[:, :n]
        np.copyto(near, z)
        slope, offset = numbers[:, 2] + 2.0**-20, numbers[:, 3]  # 2⁻²⁰: for the rounding of float32 here
        np.multiply(np.abs(near, out=high), _laid_out(slope, 0 * slope, self.even, laid), out=high)
        np.add(high, _laid_out(offset, 0 * offset, self.even, laid), out=high)
        np.subtract(near, high, out=low)
        np.add(near, high, out=high)
        for end in (low, high):
            np.multiply(end, split, out=laid)
            np.subtract(laid, np.subtract(laid, end, out=end), out=end)
        np.equal(low, high, out=self.one_way[:n])
        self.one_way[:n] &= np.abs(low, out=high) >= smallest  # subnormal numbers are rounded otherwise
        last = self.before_last[:n]
        np.copyto(last, low)
        np.add(np.multiply(last, self.terms.gain, out=last), self.terms.bias, out=last)

    def _limits(self, recorded: Single, numbers: Array, best: float) -> Single:
        """Nowhere more than `best` times e, of which s·(|g·z| + |y|) is by far the most, s = `stored_u`.

        It is at least s·(|v − b| + |v| − 2·error) + offset·|g| + u·|b|, as above.
        """
        n, s = len(recorded), self.terms.stored_u
        size, laid = self.narrow[2, :n], self.narrow[3, :n]
        np.abs(np.subtract(recorded, self.shift, out=size), out=size)
        np.add(size, np.abs(recorded, out=laid), out=size)
        share = best * SLACK / (1 + 2 * s)
        np.multiply(size, np.float32(share * s), out=size)
        return np.add(
            size, _laid_out(share * numbers[:, 3], np.full(n, share * self.terms.compute.u), self.sizes, laid), out=size
        )

    def _inside_cells(self, recorded: Single, error: Single, out: Mask) -> Mask:
        n = len(error)
        other, wide = self.other_error[:n], self.wide[1, :n]
        np.copyto(wide, recorded)
        np.copyto(other, np.subtract(wide, self.before_last[:n], out=wide))
        inside = self._well_inside(recorded, np.abs(other, out=other), out)
        return np.logical_and(inside, self.one_way[:n], out=out)


def _laid_out(one: Array, other: Array, over: Single, out: Single) -> Single:
    """One ⊗ over[0] + other ⊗ over[1]: [n], [n], [2, d] -> [n, d]."""
    return np.matmul(np.stack([one, other], axis=1).astype(np.float32), over, out=out)


def _sum(x: NDArray[Any]) -> NDArray[Any]:
    """Each row's sum; in float32 through many lanes, or pairwise."""
    if x.shape[1] > THREADED_DOT:
        pairwise: NDArray[Any] = np.add.reduce(x, axis=1)
        return pairwise
    return _dot(x, np.ones((1, x.shape[1]), x.dtype))


def _dot(one: NDArray[Any], other: NDArray[Any]) -> NDArray[Any]:
    """Each row's scalar product."""
    product: NDArray[Any]
    if hasattr(np, "vecdot") and one.shape[1] <= THREADED_DOT:  # from NumPy 2 on
        product = np.vecdot(one, other)
    else:
        product = np.einsum("ij,ij->i", one, np.broadcast_to(other, one.shape))
    return product
