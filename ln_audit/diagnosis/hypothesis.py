"""What every hypothesis is made of: the norm under suspicion, some of its rows, and a fault that predicts an output.

A hypothesis is a module of this package with a `NAME`, `applies(suspect)` and `faults(suspect, batch)`; a `Fault` predicts
what a run with it would have given, in float64, with the bound that an honest implementation *of the fault* keeps. So a
fault is held against a recording by the very tolerance and cells that the reference is held to, and its distance from
the reference is what a recording of these rows can see of it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from ln_audit.numerics import tolerance
from ln_audit.numerics.cells import CHAINS
from ln_audit.numerics.judge import Prepared, prepare
from ln_audit.numerics.parameters import variants
from ln_audit.numerics.reference import NORMS, Normed, affine

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    import numpy as np
    from numpy.typing import NDArray

    from ln_audit.core import Rows
    from ln_audit.numerics.cells import Chain
    from ln_audit.numerics.floats import Array
    from ln_audit.numerics.judge import Setting
    from ln_audit.numerics.parameters import NormParameters, Variant


FITTED = 2  # from this `FREEDOM` on a hypothesis takes numbers from the output


class Other(NamedTuple):
    """Another norm of the same checkpoint and width; `step` is its place in the model relative to the suspect's."""

    name: str
    step: int
    parameters: NormParameters


@dataclass(frozen=True, slots=True)
class Suspect:
    """The norm under suspicion: what it should have been, what else was at hand, and the recording itself.

    `setting` is the comparison's own. `states` are the recorded hidden states by number, each as rows whose `before` is that state.
    """

    name: str
    parameters: NormParameters
    setting: Setting
    rows: Rows
    others: tuple[Other, ...] = ()
    states: Mapping[int, Rows] = field(default_factory=dict)

    @property
    def chains(self) -> tuple[Chain | None, ...]:
        """The ways to round that a run may have used; None where the output is not narrower than its computation."""
        return tuple(CHAINS.values()) if self.setting.output.u > self.setting.compute.u else (None,)

    @property
    def centred(self) -> bool:
        """LayerNorm takes the mean off, RMSNorm does not."""
        return self.parameters.kind == "layer_norm"


@dataclass(frozen=True, slots=True)
class Batch:
    """Some rows of a recording in float64: their numbers [n], `before` [n, d], and `after` [n, d] where it counts.

    Without `after` a fault predicts what it would do (resolving power); with it, numbers that the fault leaves open may
    be taken from the output (diagnosis).
    """

    at: NDArray[np.int64]
    before: Array
    after: Array | None = None
    kept: dict[object, Any] = field(default_factory=dict, repr=False, compare=False)

    def once(self, key: object, work: Callable[[], Any]) -> Any:
        """What several faults need of these rows is worked out by the first of them."""
        if key not in self.kept:
            self.kept[key] = work()
        return self.kept[key]


class Prediction(NamedTuple):
    """The rows under a fault: z within e_z, and the forms of gain and bias that may have been applied to it."""

    prepared: Prepared
    forms: tuple[Variant, ...]

    @property
    def values(self) -> Array:
        """The output [n, d] in float64, before it is stored, with gain and bias as stored."""
        import numpy as np

        with np.errstate(all="ignore"):  # rows that the fault leaves without a number
            return affine(self.prepared.z, self.forms[0].gain, self.forms[0].bias)


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing that may have been done: `name` reads after "explained by", `advice` says how it is mended.

    `parameters` are the numbers that belong to it, by name. `state` is the hidden state it takes for the input, None
    for `before`. Faults of one `kin` differ in a number only: of those that explain the first is told, and the number of the
    others with it.
    """

    name: str
    advice: str
    predict: Callable[[Batch], Prediction]
    parameters: Mapping[str, float] = field(default_factory=dict)
    state: int | None = None
    kin: str = ""


class Hypothesis(Protocol):
    """A module of this package. Hypotheses of a lower `FREEDOM` are the simpler ones and are tried first.

    `FREEDOM`: 0 is one fault, 1 two at once, both predicted without a look at the output; 2 takes a number or a few from
    it, 3 many.
    """

    NAME: str  # short and stable: `epsilon`
    FREEDOM: int

    def applies(self, suspect: Suspect) -> bool:
        """Whether this could have been done to such a norm at all."""

    def faults(self, suspect: Suspect, batch: Batch) -> Iterator[Fault]:
        """The faults of this kind. Below `FITTED` they never look at `batch.after`; one that cannot do without gives none."""


def reference(batch: Batch, suspect: Suspect) -> Prepared:
    """The rows as the norm should have normed them, with their bound."""
    rows: Prepared = batch.once(suspect.setting, lambda: prepare(batch.before, suspect.setting))
    return rows


def prepared(x: Array, normed: Normed, suspect: Suspect) -> Prepared:
    """Rows normed in some way, bounded as the reference bounds its own (docs/numerics.md)."""
    setting = suspect.setting
    growth = tolerance.probable_growth(x.shape[1])
    e_z, judged = tolerance.normalized_bound(x, normed, growth, setting.compute, setting.before_rounded)
    return Prepared(z=normed.z, e_z=e_z, r=normed.r, judged=judged)


def normed_by(x: Array, kind: str, reciprocal: Callable[[Array], Array]) -> Normed:
    """The rows x [n, d], centred or not, divided by another deviation: `reciprocal` takes σ² [n, 1] and gives r [n, 1]."""
    import numpy as np

    plain = NORMS[kind](x, None, None, 0.0)
    with np.errstate(all="ignore"):  # a row of variance 0 is told from the others by its values
        r = reciprocal(plain.var)
        z = plain.delta * r
    return Normed(y=z, z=z, delta=plain.delta, mu=plain.mu, var=plain.var, r=r, centred=plain.centred)


def forms(suspect: Suspect, parameters: NormParameters | None = None) -> tuple[Variant, ...]:
    """The honest forms of gain and bias in this run, of the suspect's own parameters or of others."""
    return variants(suspect.parameters if parameters is None else parameters, suspect.setting.output)


def with_parameters(suspect: Suspect, parameters: NormParameters) -> Callable[[Batch], Prediction]:
    """A fault that is nothing but other parameters: another gain, bias, epsilon or kind."""
    used = forms(suspect, parameters)

    def predict(batch: Batch) -> Prediction:
        normed = NORMS[parameters.kind](batch.before, None, None, parameters.eps)
        return Prediction(prepared(batch.before, normed, suspect), used)

    return predict


def dividing_by(suspect: Suspect, reciprocal: Callable[[Array, Array], Array]) -> Callable[[Batch], Prediction]:
    """A fault in the deviation: `reciprocal` takes σ² [n, 1] and the rows [n, d] and gives r [n, 1]."""
    used = forms(suspect)

    def predict(batch: Batch) -> Prediction:
        x = batch.before
        normed = normed_by(x, suspect.parameters.kind, lambda var: reciprocal(var, x))
        return Prediction(prepared(x, normed, suspect), used)

    return predict
