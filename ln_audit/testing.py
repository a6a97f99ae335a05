"""One assert for people who write norms: a kernel's output against the float64 reference, with a derived tolerance.

    from ln_audit.testing import assert_norm

    assert_norm(x, kernel(x, gain, bias), gain, bias, kind="layer_norm", eps=1e-5)

Forward only: gradients are not judged. Needs no checkpoint, no family and no file.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Any

from ln_audit import arguments
from ln_audit.demand import DTYPES
from ln_audit.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy as np

    from ln_audit.comparison import Comparison

__all__ = ["assert_norm", "compare_arrays"]


def assert_norm(
    before: Any,
    after: Any,
    gain: Any = None,
    bias: Any = None,
    *,
    kind: str,
    eps: float,
    weight_offset: float = 0.0,
    output_dtype: str | None = None,
    axis: int = -1,
) -> Comparison:
    """Assert that `after` is the norm of `before`, every element within its own derived bound.

    `before`, `after`: NumPy arrays or torch tensors (bfloat16 too) of one shape `[..., d, ...]`, d along `axis`; `gain`,
    `bias`: `[d]` or None. `kind` is layer_norm or rms_norm, `weight_offset` what is added to the gain (1 for Gemma's and
    LayerNorm1p's), `output_dtype` the dtype the kernel stores (float32, bfloat16, float16, float64), inferred if not
    given. Returns the comparison; a summation order or a rounding chain that is unusual but right passes. What these arrays
    could not have shown is in its `cannot_tell`: a pass says nothing of it.

    Raises `AssertionError` with the cause in its message, also when nothing could be judged; `UsageError` for arguments
    that fit no norm; `RecordingError` for arrays that do not fit each other.
    """
    __tracebackhide__ = True  # pytest then points at the caller's line
    comparison = compare_arrays(
        before,
        after,
        gain,
        bias,
        kind=kind,
        eps=eps,
        weight_offset=weight_offset,
        output_dtype=output_dtype,
        axis=axis,
    )
    if comparison.status not in ("pass", "warn"):
        raise AssertionError(f"{kind}: {comparison.message}{_advice(comparison)}")
    if comparison.blind:
        raise AssertionError(f"{kind}: nothing could be judged: {comparison.blind}")
    return comparison


def compare_arrays(
    before: Any,
    after: Any,
    gain: Any = None,
    bias: Any = None,
    *,
    kind: str,
    eps: float,
    weight_offset: float = 0.0,
    output_dtype: str | None = None,
    axis: int = -1,
) -> Comparison:
    """The comparison behind `assert_norm`, without the assertion. Arguments and errors are the same."""
    from ln_audit.diagnosis import compare
    from ln_audit.numerics.parameters import NormParameters
    from ln_audit.numerics.reference import NORMS
    from ln_audit.resolving_power.resolve import resolve

    arguments.choice("kind", kind, tuple(NORMS), "layer_norm subtracts the mean of a row, rms_norm does not")
    if output_dtype is not None:
        arguments.choice("output_dtype", output_dtype, DTYPES)
    x, y = array_of(before, "before"), array_of(after, "after")
    numbers = {
        "eps": arguments.epsilon("eps", eps),
        "weight_offset": arguments.number("weight_offset", weight_offset),
    }
    place = arguments.whole_number("axis", axis)
    if not -x.ndim <= place < x.ndim:
        raise UsageError(f"axis: expected an axis of before, shape {list(x.shape)}, found {place}")
    if x.shape != y.shape:
        raise UsageError(f"after: expected the shape of before, {list(x.shape)}, found {list(y.shape)}")
    if x.size == 0:
        raise UsageError(f"before: expected numbers, found none, shape {list(x.shape)}")
    rows = ArrayRows(_last(x, place), _last(y, place))
    vectors = [None if values is None else array_of(values, name) for name, values in (("gain", gain), ("bias", bias))]
    parameters = NormParameters(kind, vectors[0], vectors[1], numbers["eps"], numbers["weight_offset"])
    found = compare(rows, parameters, norm=kind, recording="after", provenance="arrays", output_dtype=output_dtype)
    return resolve(found, rows, parameters)


def _advice(comparison: Comparison) -> str:
    """What to do, on lines of their own; the message has named the cause, so it is named again only among several."""
    found = comparison.explained_by
    return "".join(f"\n  → {f'{each.name}: ' if len(found) > 1 else ''}{each.advice}" for each in found if each.advice)


@dataclass(frozen=True, slots=True)
class ArrayRows:
    """`core.Rows` over two arrays [..., d] in memory."""

    before: np.ndarray[Any, Any]
    after: np.ndarray[Any, Any]

    @property
    def width(self) -> int:
        return int(self.before.shape[-1])

    @property
    def positions(self) -> int:
        return prod(self.leading)

    @property
    def before_dtype(self) -> str:
        return str(self.before.dtype)

    @property
    def after_dtype(self) -> str:
        return str(self.after.dtype)

    @property
    def leading(self) -> tuple[int, ...]:
        return tuple(self.before.shape[:-1])

    def blocks(self, rows: int) -> Iterator[tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]]:
        """Blocks of at most `rows` rows, before and after, each [n, width]."""
        before, after = (array.reshape(-1, self.width) for array in (self.before, self.after))
        for start in range(0, len(before), rows):
            yield before[start : start + rows], after[start : start + rows]


def _last(values: np.ndarray[Any, Any], axis: int) -> np.ndarray[Any, Any]:
    import numpy as np

    return np.moveaxis(values, axis, -1)


def array_of(values: Any, name: str, *, integers: bool = False) -> np.ndarray[Any, Any]:
    """A floating array of what was given, or of integers; a torch tensor is recognised by its methods, torch is not imported.

    Raises `UsageError`.
    """
    import numpy as np

    if hasattr(values, "detach") and hasattr(values, "numpy"):
        values = _of_tensor(values, name)
    if isinstance(values, np.ma.MaskedArray):
        raise UsageError(f"{name}: expected a plain array, found a masked one: take out the rows that do not count")
    try:
        array = np.asarray(values)
    except arguments.FAULTS as error:  # lists of several lengths, an object that is none
        raise arguments.wrong(name, "an array of numbers", values) from error
    if integers and array.dtype.kind in "iu":
        return array
    if not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    if str(array.dtype) not in ("float64", "float32", "float16", "bfloat16"):
        raise UsageError(f"{name}: expected float64, float32, bfloat16 or float16, found {array.dtype}")
    return array


def _of_tensor(tensor: Any, name: str) -> np.ndarray[Any, Any]:
    """A torch tensor as an array; bfloat16, which NumPy does not know, through its bits. Raises `UsageError`."""
    import sys

    import ml_dtypes
    import numpy as np

    try:
        plain = tensor.detach().cpu().resolve_neg()
        if not str(plain.dtype).endswith("bfloat16"):
            return np.asarray(plain.numpy())
        words = plain.contiguous().view(sys.modules["torch"].int16).numpy()  # whoever has a tensor has imported torch
    except (TypeError, RuntimeError, NotImplementedError) as error:  # sparse, meta, float8
        raise UsageError(f"{name}: expected a dense tensor of floats, found {tensor.dtype}, {tensor.layout}") from error
    return np.asarray(words.view(ml_dtypes.bfloat16))
