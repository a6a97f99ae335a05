"""The faults, one function each, and the registry that says of every one how it has to be seen, as data.

A function gets the case and the norm to strike and says what changes; it raises `NotHereError` where the model cannot have
the fault. The norm struck is the one whose recording is given, but for the last of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from scripts.family_faults import truth
from scripts.family_faults.case import NotHereError
from scripts.family_faults.planting import REMOVED, Planted
from scripts.family_faults.recorded import Rows

if TYPE_CHECKING:
    from scripts.family_faults.case import Case
    from scripts.family_faults.recorded import RecordedNorm

    Array = np.ndarray[Any, Any]


def missing(_: Case, norm: RecordedNorm) -> Planted:
    """None of the norm's tensors is in the file."""
    if not norm.tensors:
        raise NotHereError("no parameters")
    return Planted(dict.fromkeys(norm.tensors))


def wrong_shape(case: Case, norm: RecordedNorm) -> Planted:
    """Half of every parameter, as sharded training saves it."""
    held = case.model.tensors
    if not norm.tensors:
        raise NotHereError("no parameters")
    return Planted({name: held[name].reshape(-1)[: max(held[name].size // 2, 1)] for name in norm.tensors})


def gain_plus_one(case: Case, norm: RecordedNorm) -> Planted:
    """A converter that adds the one that the model adds itself, or that no one adds."""
    name, values = gain(case, norm)
    return Planted({name: values + np.float32(1)})


def gain_minus_one(case: Case, norm: RecordedNorm) -> Planted:
    """A converter that takes off a one that is not to be taken off."""
    name, values = gain(case, norm)
    return Planted({name: values - np.float32(1)})


def reset_to_ones(case: Case, norm: RecordedNorm) -> Planted:
    """What a loader makes of a norm that it did not find: gain 1, bias 0."""
    name, values = gain(case, norm)
    reset: dict[str, Array | None] = {name: np.full_like(values, 1 - norm.offset)}
    if norm.bias is not None:
        reset[norm.bias] = np.zeros_like(values)
    return Planted(reset)


def all_zero(case: Case, norm: RecordedNorm) -> Planted:
    """A gain that lets nothing through: stored zeros, or −1 where the model adds one."""
    name, values = gain(case, norm)
    return Planted({name: np.full_like(values, -norm.offset)})


def not_a_number(case: Case, norm: RecordedNorm) -> Planted:
    """One NaN in the gain."""
    name, values = gain(case, norm)
    spoilt = values.copy()
    spoilt.reshape(-1)[spoilt.size // 3] = np.nan
    return Planted({name: spoilt})


def exponent_bit(case: Case, norm: RecordedNorm) -> Planted:
    """The lowest bit of the largest gain's exponent flipped: doubled or halved, the least that such a flip does."""
    name, values = gain(case, norm)
    bits = values.copy().reshape(-1)
    if bits.dtype != np.float32:
        raise NotHereError("not stored in float32")
    bits.view(np.uint32)[np.abs(bits).argmax()] ^= np.uint32(1 << 23)
    return Planted({name: bits.reshape(values.shape)})


def swapped_in_layer(case: Case, norm: RecordedNorm) -> Planted:
    """Two norms of a layer in each other's place, as a wrong name map leaves them."""
    return swapped(case, norm, case.beside(norm))


def swapped_layers(case: Case, norm: RecordedNorm) -> Planted:
    """The same norm of two layers in each other's place."""
    return swapped(case, norm, case.next_layer(norm))


def epsilon_times_ten(case: Case, norm: RecordedNorm) -> Planted:
    """Another epsilon in the config."""
    key, value = epsilon(case, norm)
    return Planted(config={key: float(f"{value * 10:g}")})


def epsilon_dropped(case: Case, norm: RecordedNorm) -> Planted:
    """No epsilon in the config: a loader takes its default, which is another one here."""
    key, _ = epsilon(case, norm)
    return Planted(config={key: REMOVED})


def bias_zeroed(case: Case, norm: RecordedNorm) -> Planted:
    """A bias that a converter left at its initial value."""
    if norm.bias is None:
        raise NotHereError("no bias")
    return Planted({norm.bias: np.zeros_like(case.model.tensors[norm.bias])})


def bias_added(case: Case, norm: RecordedNorm) -> Planted:
    """A bias beside the gain of a norm that has none."""
    name, values = gain(case, norm)
    if norm.bias is not None:
        raise NotHereError("it has a bias")
    return Planted({f"{name.rpartition('.')[0]}.bias": np.full_like(values, 0.1)})


def kind_stated(_: Case, norm: RecordedNorm) -> Planted:
    """A recording that says it is of the other kind of norm."""
    return Planted(metadata={"kind": other_kind(norm)})


def kind_run(case: Case, norm: RecordedNorm) -> Planted:
    """A run that really computed the other kind of norm, on the same rows."""
    kind = other_kind(norm)
    return Planted(rows={dtype: _normed(case, norm, each, kind) for dtype, each in norm.rows.items()})


def after_as_before(_: Case, norm: RecordedNorm) -> Planted:
    """`hidden_states[-1]` taken for the norm's input: it is what came out of it."""
    return Planted(rows={dtype: Rows(each.after, each.after) for dtype, each in norm.rows.items()})


def normed_again(case: Case, norm: RecordedNorm) -> Planted:
    """The same, and the norm applied to it once more: consistent in itself, and not what the model does.

    Of rows of an ordinary size: the tiny models' are so small that epsilon keeps their norm short of a mean square of 1.
    """
    if not norm.judged:
        raise NotHereError("of neither kind")
    rows = norm.rows["float32"]
    once = _normed(case, norm, Rows(rows.before * np.float32(1000), rows.after), str(norm.kind)).after
    return Planted(rows={"float32": _normed(case, norm, Rows(once, once), str(norm.kind))})


def another_norms_rows(case: Case, norm: RecordedNorm) -> Planted:
    """The recording of another norm of the model, given as this one's."""
    other = case.next_layer(norm) if norm is case.block else case.another(norm)
    return Planted(rows=other.rows, recorded=other)


def gain(case: Case, norm: RecordedNorm) -> tuple[str, Array]:
    """The gain's name and values. Raises `NotHereError` for a norm without one."""
    if norm.gain is None:
        raise NotHereError("no gain")
    return norm.gain, case.model.tensors[norm.gain]


def swapped(case: Case, one: RecordedNorm, other: RecordedNorm) -> Planted:
    """Both norms' tensors, each under the other's names."""
    held = case.model.tensors
    pairs = list(zip(one.tensors, other.tensors, strict=True))
    return Planted({**{a: held[b] for a, b in pairs}, **{b: held[a] for a, b in pairs}})


def epsilon(case: Case, norm: RecordedNorm) -> tuple[str, float]:
    """The config key that the norm's epsilon was read from, and its value. Raises `NotHereError` where none writes it."""
    promise = case.promise(norm)
    if promise is None or not promise.eps_source.startswith("config.json: "):
        raise NotHereError("no config key writes its epsilon")
    key = promise.eps_source.removeprefix("config.json: ")
    found: object = case.model.config
    for name in key.split("."):
        found = found[name] if isinstance(found, dict) and name in found else None
    if not isinstance(found, float):
        raise NotHereError("no config key writes its epsilon")
    return key, found


def other_kind(norm: RecordedNorm) -> str:
    """The other of the two kinds. Raises `NotHereError`."""
    if norm.kind is None:
        raise NotHereError("of neither kind")
    return {"layer_norm": "rms_norm", "rms_norm": "layer_norm"}[norm.kind]


def _normed(case: Case, norm: RecordedNorm, rows: Rows, kind: str) -> Rows:
    """The rows' input through this norm as a norm of `kind`, rounded once to the dtype of its output."""
    held, promise = case.model.tensors, case.promise(norm)
    eps = norm.eps if norm.eps is not None or promise is None else promise.eps
    if eps is None:
        raise NotHereError("its epsilon is not known")
    used = 1.0 if norm.gain is None else held[norm.gain].astype(np.float64).reshape(-1) + norm.offset
    bias = 0.0 if norm.bias is None else held[norm.bias].astype(np.float64).reshape(-1)
    return Rows(rows.before, (truth.reference(rows.before, kind, eps) * used + bias).astype(rows.after.dtype))
