"""Judges blocks in compiled loops: at the speed of the memory, on one core. Needs the extra `fast` (numba)."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np

from ln_audit.numerics.floats import FLOAT64, float64
from ln_audit.numerics.terms import NOISE, Figures, row_numbers

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ln_audit.numerics.floats import Array
    from ln_audit.numerics.terms import Terms

NAME = "numba"
# Bytes of both arrays from which importing numba and loading its cache, 0.3 to 0.5 s, saves NumPy more than that.
PAYS_FROM = 2**30
MOST_PARTS = 4  # more only wait for the memory
BLOCK_ELEMENTS = 2**17  # 0.5 MB of float32 on each side; a row at a time is in the L1 cache
REFERENCE_ELEMENTS = 2**14  # where NumPy takes the statistics: its float64 temporaries stay in the L2 cache


def available() -> bool:
    """Whether numba can be imported, which is found out by doing so: asked only where it pays."""
    if find_spec("numba") is None:
        return False
    try:
        numba = import_module("numba")
    except ImportError:  # installed, but not for this NumPy
        return False
    return not numba.config.DISABLE_JIT


def kernel(terms: Terms) -> CompiledKernel:
    """A kernel for every kind of output."""
    return CompiledKernel(terms)


class CompiledKernel:
    """`terms.Kernel` in compiled loops."""

    def __init__(self, terms: Terms) -> None:
        from ln_audit.numerics import compiled

        elements = REFERENCE_ELEMENTS if terms.compute is FLOAT64 else BLOCK_ELEMENTS
        self.rows = max(1, elements // terms.width)
        self.loops = compiled
        self.terms = terms
        self.constants = _constants(terms)
        self.no_bits = np.empty((0, terms.width), np.uint32)
        self.wide = np.empty((2, self.rows, terms.width), np.float32)

    def judge(self, before: NDArray[Any], after: NDArray[Any], best: float) -> Figures | None:
        """Figures of a block, or None where it is not clearly clean."""
        x, recorded = self._widened(before, 0), self._widened(after, 1)
        if self.terms.compute is FLOAT64:
            return self._judge_float64(float64(x), float64(recorded), best)
        bits = self.no_bits
        if self.terms.chain is not None:
            recorded = recorded.astype(np.float32, copy=False)  # exact: these are numbers of the narrow output
            bits = recorded.view(np.uint32)
        rest = (self.terms.gain, self.terms.bias, self.terms.centred, self.constants)
        clean, ratio, error = self.loops.walk(x, recorded, bits, *rest, best)
        row = self.loops.first(x, recorded, *rest, ratio * (1 - NOISE)) if clean and ratio > best else 0
        return _figures(ratio, row, error) if clean else None

    def _judge_float64(self, x: Array, recorded: Array, best: float) -> Figures | None:
        numbers, judged = row_numbers(x, self.terms)
        if not judged.all():
            return None
        rest = (self.terms.gain, self.terms.bias, numbers, self.constants)
        clean, ratio, error = self.loops.walk_given(x, recorded, *rest, best)
        row = self.loops.first_given(x, recorded, *rest, ratio * (1 - NOISE)) if clean and ratio > best else 0
        return _figures(ratio, row, error) if clean else None

    def _widened(self, stored: NDArray[Any], side: int) -> NDArray[Any]:
        """bfloat16 and float16 as float32, the others as they are."""
        if stored.dtype.itemsize > 2:
            return stored
        widen = self.loops.widen_float16 if stored.dtype == np.float16 else self.loops.widen_bfloat16
        wide = self.wide[side, : len(stored)]
        widen(stored.view(np.uint16).reshape(-1), wide.view(np.uint32).reshape(-1))
        return wide


def _figures(ratio: float, row: int, bits: int) -> Figures:
    return Figures(ratio, row, float(np.int64(bits).view(np.float64)))


def _constants(terms: Terms) -> tuple[float, ...]:
    """What `compiled` calls `c`."""
    compute, output = terms.compute, terms.output
    run = (terms.eps, terms.k, compute.u, compute.eta, terms.half_eta, terms.stored_u, float(terms.early))
    return (*run, float(2 ** max(23 - output.precision, 0)), 2.0**output.emin, 2.0 ** (53 - output.precision) + 1)
