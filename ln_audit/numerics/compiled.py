"""The loops of `fast_numba`, compiled on first use and kept in numba's cache. Imports numba: nothing else may import this.

One row after another, so that a row once read stays in the L1 cache. All arithmetic is float64; only the sums may be taken
in another order (`reassoc`), which leaves 2⁻²⁹ of a float32 bound as noise. No loop may assume that numbers are finite
(`nnan`): a NaN fails every `<=`, and that is how it is found.

`c` holds a comparison's constants: ε, k, u, η, half_eta, stored_u, early, and for cells half a unit of the output in the bits
of a float32, its smallest normal number, and Veltkamp's factor. `row` is what `_statistics` gives: μ, r, slope, offset.
"""

from __future__ import annotations

from math import sqrt
from typing import TYPE_CHECKING, Any

import numpy as np
from numba import njit

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Stored = NDArray[np.uint16]
    Bits = NDArray[np.uint32]
    Float = NDArray[np.float32] | NDArray[np.float64]
    Row = tuple[float, float, float, float]

SURE = 1 - 1e-6  # bounds are taken this much smaller: the noise of float64 never makes a doubtful element clean
FIRST_ORDER = SURE * 0.25  # tolerance.FIRST_ORDER


def _compiled(function: Any, *fastmath: str) -> Any:
    """Runs without the GIL; kept on disk where numba finds a place for it, compiled anew in each process where not."""
    try:
        return njit(function, nogil=True, cache=True, fastmath=set(fastmath))
    except RuntimeError:  # "cannot cache function: no locator available": neither the package nor a home is writable
        return njit(function, nogil=True, fastmath=set(fastmath))


def _widen_bfloat16(stored: Stored, wide: Bits) -> None:
    for i in range(stored.size):
        wide[i] = np.uint32(stored[i]) << np.uint32(16)


def _widen_float16(stored: Stored, wide: Bits) -> None:
    """Exponent and significand moved into place, times 2¹¹² for the other exponent bias: exact, subnormals too."""
    for i in range(stored.size):
        half = np.uint32(stored[i])
        moved = np.uint32((half & np.uint32(0x7FFF)) << np.uint32(13)).view(np.float32) * np.float32(2.0**112)
        bits = np.float32(moved).view(np.uint32)
        if moved >= np.float32(65536):  # infinity, or with a significand NaN
            bits |= np.uint32(0x7F800000)
        wide[i] = bits | ((half & np.uint32(0x8000)) << np.uint32(16))


def _sums(x: Float) -> tuple[float, float, float]:
    """Σx, Σx², Σ|x| of a row."""
    total, squares, size = 0.0, 0.0, 0.0
    for j in range(x.size):
        value = np.float64(x[j])
        total += value
        squares += value * value
        size += abs(value)
    return total, squares, size


def _spread(x: Float, mu: float) -> float:
    """Σ(x − μ)² of a row."""
    squares = 0.0
    for j in range(x.size):
        delta = np.float64(x[j]) - mu
        squares += delta * delta
    return squares


def _statistics(x: Float, centred: bool, c: Any) -> tuple[Row, bool]:
    """A row's numbers, as `reference` and `tolerance.row_bound` have them, and whether it is finite and judged."""
    eps, k, u, eta = c[0], c[1], c[2], c[3]
    total, squares, size = sums(x)
    mu, mean_abs, var = 0.0, 0.0, squares / x.size
    if centred:
        mu, mean_abs = total / x.size, size / x.size
        var -= mu * mu
        if not mu * mu <= var:  # one pass would cancel
            var = spread(x, mu) / x.size
    if not (var + eps > 0 and squares < np.inf):
        return (mu, 0.0, 0.0, 0.0), False
    r = 1.0 / sqrt(var + eps)
    m = k * u * mean_abs
    rho = k * u / 2 + 4 * u + (m * r) ** 2 / 2 + eta * r * r / 2
    return (mu, r, rho + u + 2.0**-52, r * m * (1 + rho)), m * r <= FIRST_ORDER and rho <= FIRST_ORDER


def _hold(x: Float, recorded: Float, gain: Float, bias: Float, row: Row, c: Any, best: float) -> Any:
    """How many elements exceed `best` times their bound or are NaN, and the bits of the largest |recorded − y|.

    The bits of floats above zero are ordered as integers are, NaN above all: that maximum vectorizes and loses nothing.
    """
    mu, r, slope, offset = row
    u, half_eta = c[2], c[4]
    beyond, top = np.int64(0), np.int64(0)
    for j in range(x.size):
        gz = gain[j] * ((np.float64(x[j]) - mu) * r)
        y = gz + bias[j]
        error = abs(np.float64(recorded[j]) - y)
        e = slope * abs(gz) + offset * abs(gain[j]) + 2 * u * abs(y) + (u * abs(bias[j]) + half_eta)
        beyond += np.int64(not error <= best * e)
        top = max(top, np.float64(error).view(np.int64))
    return beyond, top


def _largest(x: Float, recorded: Float, gain: Float, bias: Float, row: Row, c: Any) -> float:
    """A row's largest error ratio, infinite where one is NaN."""
    mu, r, slope, offset = row
    u, half_eta, stored_u, early = c[2], c[4], c[5], c[6]
    by_gz, by_gain, by_y = slope + early * stored_u, offset + early * half_eta, 2 * u + stored_u
    largest = 0.0
    for j in range(x.size):
        gz = gain[j] * ((np.float64(x[j]) - mu) * r)
        y = gz + bias[j]
        e = by_gz * abs(gz) + by_gain * abs(gain[j]) + by_y * abs(y) + (u * abs(bias[j]) + half_eta)
        ratio = abs(np.float64(recorded[j]) - y) / e
        if not ratio <= largest:
            largest = ratio if ratio == ratio else np.inf  # noqa: PLR0124 - the test for NaN
    return largest


def _gap(bits: int, value: float, outward: bool, c: Any) -> Any:
    """From a recorded number of the output's format to the middle between it and its neighbour further out, or nearer 0.

    Neighbours in magnitude are neighbours in the bits of float32; below the smallest normal number they are η apart.
    """
    magnitude, unit, half_eta, size = bits & np.uint32(0x7FFFFFFF), np.uint32(c[7]), c[4], abs(value)
    nearer = np.uint32(magnitude - unit if magnitude > unit else np.uint32(0))
    beyond = np.float64(np.uint32(magnitude + unit).view(np.float32)) - size
    gap = beyond if outward else size - np.float64(nearer.view(np.float32))
    return max(half_eta, gap)


def _hold_once(x: Float, recorded: Float, bits: Bits, gain: Float, bias: Float, row: Row, c: Any, best: float) -> Any:
    """The same, and how many are not clearly inside their cell: `cells.once`, by its middles in place of rounding."""
    mu, r, slope, offset = row
    u, half_eta, stored_u = c[2], c[4], c[5]
    beyond, outside, top = np.int64(0), np.int64(0), np.int64(0)
    for j in range(x.size):
        value = np.float64(recorded[j])
        gz = gain[j] * ((np.float64(x[j]) - mu) * r)
        y = gz + bias[j]
        e_c = slope * abs(gz) + offset * abs(gain[j]) + 2 * u * abs(y) + u * abs(bias[j])
        error = abs(value - y)
        outside += np.int64(not error - SURE * e_c < gap(bits[j], value, (y - value) * value >= 0, c))
        beyond += np.int64(not error <= best * (e_c + stored_u * abs(y) + half_eta))
        top = max(top, np.float64(error).view(np.int64))
    return beyond, outside, top


def _rounded(z: float, c: Any) -> Any:
    """Z to the output's precision (Dekker 1971), below its smallest normal number to a multiple of η; ties either way.

    A tie is harmless: the interval whose end it is was taken smaller than the reference's.
    """
    split, shift = z * c[9], 3.0 * 2.0**52 * c[4]  # 1.5·2⁵²·η
    normal, subnormal = split - (split - z), (z + shift) - shift
    return subnormal if abs(z) < c[8] else normal


def _hold_before_gain(
    x: Float, recorded: Float, bits: Bits, gain: Float, bias: Float, row: Row, c: Any, best: float
) -> Any:
    """The same for `cells.before_gain`: the honest values before the last rounding are middle ± reach."""
    mu, r, slope, offset = row
    u, half_eta, stored_u = c[2], c[4], c[5]
    beyond, outside, top = np.int64(0), np.int64(0), np.int64(0)
    for j in range(x.size):
        value, g, b = np.float64(recorded[j]), gain[j], bias[j]
        z = (np.float64(x[j]) - mu) * r
        e_z = slope * abs(z) + offset
        one, other = g * rounded(z - SURE * e_z, c) + b, g * rounded(z + SURE * e_z, c) + b
        middle, reach = 0.5 * (one + other), abs(0.5 * (one - other))
        reach += SURE * (2 * u * (abs(middle) - reach) + u * abs(b))
        outward = (middle - value) * value >= 0
        outside += np.int64(not abs(middle - value) - reach < gap(bits[j], value, outward, c))
        y = g * z + b
        e_c = abs(g) * e_z + 2 * u * abs(y) + u * abs(b)
        error = abs(value - y)
        beyond += np.int64(not error <= best * (e_c + stored_u * (abs(y) + abs(g * z)) + half_eta * (1 + abs(g))))
        top = max(top, np.float64(error).view(np.int64))
    return beyond, outside, top


def _walk(x: Float, recorded: Float, bits: Bits, gain: Float, bias: Float, centred: bool, c: Any, best: float) -> Any:
    """Whether a block is clearly clean, the larger of `best` and its largest ratio, the bits of its largest error.

    `bits` [n, d] are those of `recorded` where cells are to be kept, else it has no rows.
    """
    top = np.int64(0)
    for i in range(len(x)):
        row, sound = statistics(x[i], centred, c)
        if not sound:
            return False, best, top
        outside = np.int64(0)
        if len(bits) == 0:
            beyond, error = hold(x[i], recorded[i], gain, bias, row, c, best)
        elif c[6] == 0:
            beyond, outside, error = hold_once(x[i], recorded[i], bits[i], gain, bias, row, c, best)
        else:
            beyond, outside, error = hold_before_gain(x[i], recorded[i], bits[i], gain, bias, row, c, best)
        top = max(top, error)
        if beyond > 0:
            ratio = largest(x[i], recorded[i], gain, bias, row, c)
            best = max(best, ratio)
        if outside > 0 or best > SURE:
            return False, best, top
    return True, best, top


def _first(x: Float, recorded: Float, gain: Float, bias: Float, centred: bool, c: Any, ratio: float) -> int:
    """The first row of a clean block whose largest error ratio is `ratio` or more."""
    for i in range(len(x)):
        row, _ = statistics(x[i], centred, c)
        if largest(x[i], recorded[i], gain, bias, row, c) >= ratio:
            return i
    return 0


def _walk_given(x: Float, recorded: Float, gain: Float, bias: Float, rows: Float, c: Any, best: float) -> Any:
    """The same for a run in float64, with each row's numbers [n, 4] from the reference itself.

    An error of such a run is a few units in the last place: sums in another order would move it by as much.
    """
    top = np.int64(0)
    for i in range(len(x)):
        row = (rows[i, 0], rows[i, 1], rows[i, 2], rows[i, 3])
        beyond, error = hold(x[i], recorded[i], gain, bias, row, c, best)
        top = max(top, error)
        if beyond > 0:
            ratio = largest(x[i], recorded[i], gain, bias, row, c)
            best = max(best, ratio)
        if best > SURE:
            return False, best, top
    return True, best, top


def _first_given(x: Float, recorded: Float, gain: Float, bias: Float, rows: Float, c: Any, ratio: float) -> int:
    """The same for a run in float64."""
    for i in range(len(x)):
        row = (rows[i, 0], rows[i, 1], rows[i, 2], rows[i, 3])
        if largest(x[i], recorded[i], gain, bias, row, c) >= ratio:
            return i
    return 0


# Each name that a loop above calls is the compiled function; a global is looked up when the first call compiles.
sums, spread = _compiled(_sums, "reassoc"), _compiled(_spread, "reassoc")
gap, rounded = _compiled(_gap), _compiled(_rounded)
statistics, hold, largest = _compiled(_statistics), _compiled(_hold), _compiled(_largest)
hold_once, hold_before_gain = _compiled(_hold_once), _compiled(_hold_before_gain)
widen_bfloat16, widen_float16 = _compiled(_widen_bfloat16), _compiled(_widen_float16)
walk, walk_given = _compiled(_walk), _compiled(_walk_given)
first, first_given = _compiled(_first), _compiled(_first_given)
