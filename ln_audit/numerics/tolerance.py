"""How far an honest implementation may lie from the reference, per element: derived, no constant is felt.

Let u be the unit roundoff of the compute format, η its smallest subnormal, and a sum of d terms err by at most
k·u·Σ|terms|. Summed one by one k is d; in blocks, pairwise, or by Welford the errors cancel like a random walk and
k = √d + 4 holds with probability practically 1 (Higham, Mary 2019, SIAM J. Sci. Comput. 41 A2815; 4 covers small d).

1. The mean errs by at most m = k·u·mean|x|, and every δ = x − μ by as much; RMSNorm takes no mean, so m = 0.
2. σ² + ε has the relative error k·u (the sum of squares) + 8u (square, quotient, + ε, root and reciprocal, with
   room to spare) + (m·r)² (μ off by m adds m² to the mean square: δ sums to 0, so there is no linear term) + η·r²
   (squares that underflow). 1/√ halves it:            ρ = k·u/2 + 4u + (m·r)²/2 + η·r²/2.
3. z = δ·r gathers both, one more rounding, and the reference's own float64:
                                                       e_z = |z|·(ρ + u) + r·m·(1 + ρ) + 2·2⁻⁵³·|z|.
4. y = g·z + b rounds the product and the sum:         e_c = |g|·e_z + u·|b| + 2u·|y|.
5. Storing in o rounds once more where o is narrower (and once before the gain, where the chain does):
                                                       e = e_c + u_o·(|y| + |g·z| if so) + η_o/2·(1 + |g| if so).

An input that was rounded after the norm had read it (`--before-rounded`) was off by h = u_i·|x| + η_i/2. To first order
that moves z by r·(h + mean(h) [LayerNorm: through μ] + |δ|·r²·mean|δ·h| [through σ²]), which joins e_z.

To first order only: where m·r or ρ exceeds 1/4 (or the rounded input moves the mean by more than a quarter of the
deviation), and where σ² + ε is 0, the row says nothing and is not judged.
"""

from __future__ import annotations

from math import sqrt

import numpy as np

from ln_audit.numerics.floats import SMALLEST, Array, Format, Mask
from ln_audit.numerics.reference import Normed, mean

FIRST_ORDER = 0.25  # relative errors up to here are small enough for steps 1 to 3


def probable_growth(d: int) -> float:
    """The k of a sum of d terms that is not taken one by one."""
    return sqrt(d) + 4.0


def worst_growth(d: int) -> float:
    """The k of a sum of d terms in whatever order."""
    return float(d)


def normalized_bound(
    x: Array, normed: Normed, k: float, compute: Format, rounded: Format | None = None
) -> tuple[Array, Mask]:
    """Steps 1 to 3: e_z [n, d], and the rows that it can judge [n, 1].

    `rounded` is the format to which x was rounded after the norm had read it.
    """
    r, z = normed.r, np.abs(normed.z)
    with np.errstate(all="ignore"):  # hopeless rows overflow; they are the ones not judged
        mean_abs = mean(np.abs(x)) if normed.centred else np.zeros_like(r)  # [n, 1]
        slope, offset, judged = row_bound(normed.var, r, mean_abs, k, compute)
        e_z = slope * z + offset  # [n, d]
        if rounded is not None:
            h = rounded.u * np.abs(x) + rounded.eta / 2  # [n, d]
            shift = mean(h) if normed.centred else np.zeros_like(r)  # [n, 1]
            e_z = e_z + r * (h + shift + np.abs(normed.delta) * r**2 * mean(np.abs(normed.delta) * h))
            judged &= r * shift <= FIRST_ORDER
    return e_z, judged


def row_bound(var: Array, r: Array, mean_abs: Array, k: float, compute: Format) -> tuple[Array, Array, Mask]:
    """Steps 1 to 3 as e_z = slope·|z| + offset, from a row's σ², r and mean|x| (0 for RMSNorm); and whether it is judged.

    All of one shape, an element per row.
    """
    u = compute.u
    m = k * u * mean_abs
    rho = k * u / 2 + 4 * u + (m * r) ** 2 / 2 + compute.eta * r**2 / 2
    judged: Mask = (m * r <= FIRST_ORDER) & (rho <= FIRST_ORDER) & np.isfinite(r) & np.isfinite(var)
    return rho + u + 2 * 2.0**-53, r * m * (1 + rho), judged


def compute_bound(y: Array, e_z: Array, gain: Array | None, bias: Array | None, u: float) -> Array:
    """The bound e_c [n, d]: before the result is stored (step 4)."""
    e_c = e_z if gain is None else np.abs(gain) * e_z  # [d], [n, d] -> [n, d]
    if bias is not None:
        e_c = e_c + u * np.abs(bias)
    return e_c + 2 * u * np.abs(y)


def stored_bound(
    e_c: Array, y: Array, z: Array, gain: Array | None, *, compute: Format, output: Format, early: int
) -> Array:
    """The bound e [n, d]: after storing it in `output`, rounded to that `early` times before the gain (step 5)."""
    half_eta = max(output.eta / 2, SMALLEST)  # half of float64's smallest subnormal would be 0, and 0/0 no ratio
    if output.u <= compute.u:
        return e_c + half_eta
    g = 1.0 if gain is None else np.abs(gain)  # [d]
    return e_c + output.u * (np.abs(y) + early * g * np.abs(z)) + half_eta * (1 + early * g)
