"""Whether recorded rows already carry the norm that they are to go into: the state that people norm a second time."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ln_audit.core import Rows
    from ln_audit.numerics.parameters import NormParameters

_ROWS = 64  # looked at; two are enough, since chance does not put a row's mean to 0 and its variance to 1
_MEAN, _VARIANCE = 1e-3, 1e-2  # bfloat16 rounds a state by 0.4 % at most, which moves its variance by less than this


def already_normed(rows: Rows, parameters: NormParameters) -> bool:
    """Whether (before − bias)/gain has mean 0 (LayerNorm) and mean square 1 in every row looked at.

    In transformers the last of `hidden_states` is such a state: giving it to the final norm again is consistent, and wrong.
    `diagnosis.no_norm.carries_the_norm` asks the same of rows that failed, and is content with a mean square between 1/2
    and 1; here a pass is doubted, of an RMSNorm by its mean square alone, so that has to be 1.
    """
    import numpy as np

    from ln_audit.numerics.floats import float64
    from ln_audit.numerics.parameters import effective

    if rows.width < 8 or rows.positions < 2:
        return False
    gain = 1.0 if parameters.gain is None else float64(effective(parameters.gain, parameters.weight_offset))
    bias = 0.0 if parameters.bias is None else float64(parameters.bias)
    if not np.all(gain):
        return False
    before, _ = next(iter(rows.blocks(_ROWS)))
    with np.errstate(all="ignore"):  # what is not finite is no normed row
        z = (float64(before) - bias) / gain  # [n, d]
        square, mean = np.mean(z * z, axis=1), np.mean(z, axis=1)
    centred = parameters.kind != "layer_norm" or bool((np.abs(mean) < _MEAN).all())
    return centred and bool((np.abs(square - 1) < _VARIANCE).all())
