"""Mean and variance were formed in bfloat16 or float16: no upcast to float32, or sums gathered in the narrow format.

Summed one by one in bfloat16, a square of 40,000 swallows every later one below 128: the output is far too large.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ln_audit.diagnosis import fit
from ln_audit.diagnosis.hypothesis import Fault, Prediction, forms, prepared
from ln_audit.diagnosis.narrow_statistics import GRIDS, near, on_grid, statistics
from ln_audit.numerics.floats import BFLOAT16, FLOAT16, Format
from ln_audit.numerics.judge import Prepared
from ln_audit.numerics.reference import Normed, affine
from ln_audit.numerics.reference import mean as exact_mean

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ln_audit.diagnosis.hypothesis import Batch, Suspect
    from ln_audit.numerics.cells import Chain
    from ln_audit.numerics.floats import Array
    from ln_audit.numerics.parameters import Variant

NAME = "low-precision"
FREEDOM = 2


@dataclass(frozen=True, slots=True)
class Way:
    """How it was done: the format; whether it also held the running sums; what was rounded last; how far it reached.

    `reach`: `variance` alone, `statistics` (the mean too), or `everything` (each step of each element).
    """

    narrow: Format
    summed: bool
    grid: str
    reach: str


def applies(_: Suspect) -> bool:
    """Every norm has statistics."""
    return True


def faults(suspect: Suspect, batch: Batch) -> Iterator[Fault]:
    """Wide sums that were rounded first, then narrow sums. With an output at hand, it says what was rounded last."""
    advice = "take mean and variance in float32 and cast the result back: x.float() before the norm"
    for narrow in (BFLOAT16, FLOAT16):
        for summed in (False, True):
            name = f"statistics {'summed ' if summed else ''}in {narrow.name}"
            for reach, grid in _ways(suspect, given=batch.after is not None):
                for form in forms(suspect):
                    for chain in suspect.chains:
                        yield Fault(name, advice, _predict(suspect, form, chain, Way(narrow, summed, grid, reach)))


def _ways(suspect: Suspect, *, given: bool) -> Iterator[tuple[str, str]]:
    reaches = ("statistics", "variance", "everything") if suspect.centred else ("statistics", "everything")
    for reach in reaches if given else reaches[:1]:
        for grid in GRIDS if given else GRIDS[:1]:
            yield reach, grid


def _predict(suspect: Suspect, form: Variant, chain: Chain | None, way: Way) -> Callable[[Batch], Prediction]:
    def predict(batch: Batch) -> Prediction:
        with np.errstate(all="ignore"):
            mu, r = _statistics(suspect, form, chain, way, batch)
            if way.reach == "everything":
                return Prediction(_elementwise(suspect, form, way, batch, mu, r), (form,))
            delta = batch.before - mu
            normed = Normed(delta, delta * r, delta, mu, np.zeros_like(r), r, centred=way.reach == "variance")
            return Prediction(prepared(batch.before, normed, suspect), (form,))

    return predict


def _statistics(suspect: Suspect, form: Variant, chain: Chain | None, way: Way, batch: Batch) -> tuple[Array, Array]:
    """μ and 1/σ [n, 1]: simulated; with an output at hand those numbers of the format, near the simulated, that fit it."""
    x, eps, narrow = batch.before, suspect.parameters.eps, way.narrow
    centre = exact_mean(x) if way.reach == "variance" else None if suspect.centred else np.zeros((len(x), 1))
    simulated = batch.once(
        (suspect.setting, narrow.name, way.summed, way.reach == "variance"),
        lambda: statistics(x, centre, eps, narrow, summed=way.summed),
    )
    mus, rs = [mu for mu, _ in simulated], [r for _, r in simulated]
    if batch.after is None:
        return mus[-1], on_grid(rs[-1], eps, narrow, way.grid)
    mu = mus[0]
    if suspect.centred and way.reach != "variance":
        mu = near(*fit.mean(x, batch.after, form, suspect.setting), mus, narrow)
    if way.reach == "everything":
        r = fit.least_squares(narrow.round(x - mu), batch.after, form)
    else:
        r = fit.reciprocal(x - mu, batch.after, form, chain, suspect.setting).middle
    return mu, on_grid(_within(r, rs, narrow), eps, narrow, way.grid)


def _elementwise(suspect: Suspect, form: Variant, way: Way, batch: Batch, mu: Array, r: Array) -> Prepared:
    """Each step rounded. A fit through so much rounding may miss 1/σ by a neighbour: of three, the one that fits best."""
    narrow, eps, x = way.narrow, suspect.parameters.eps, batch.before
    delta = narrow.round(narrow.round(x) - mu)
    steps = (r, r * (1 + narrow.u), r * (1 - narrow.u)) if batch.after is not None else (r,)
    choices = [narrow.round(delta * on_grid(step, eps, narrow, way.grid)) for step in steps]
    z = choices[0]
    if batch.after is not None:
        stored = [
            narrow.round(affine(narrow.round(affine(each, form.gain, None)), None, form.bias)) for each in choices
        ]
        left = np.stack([np.sum(each != batch.after, axis=1) for each in stored])  # [choices, n]
        z = np.stack(choices)[left.argmin(axis=0), np.arange(len(x))]
    before_bias = narrow.u if form.bias is not None else 0.0  # g·z is rounded, and then the sum
    e_z = (before_bias + 2 * suspect.setting.compute.u) * np.abs(z)
    return Prepared(z=z, e_z=e_z, r=r, judged=np.isfinite(r))


def _within(r: Array, simulated: list[Array], narrow: Format) -> Array:
    """The fitted 1/σ, held to what a few roundings and any order of the sums can have made of it."""
    few = 8 * narrow.u  # square, sum, quotient, + epsilon, root, reciprocal, and two to spare
    low, high = np.minimum.reduce(simulated) * (1 - few), np.maximum.reduce(simulated) * (1 + few)
    held: Array = np.where(np.isfinite(r), np.clip(r, low, high), high)
    return held
