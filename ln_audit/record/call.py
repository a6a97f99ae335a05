"""One call of a norm: what it read and what it gave, whatever way its module is called and whatever it returns.

A norm takes its input first, positionally or by keyword. Some add the residual to it themselves (`forward(x, residual)`)
and return both the normed rows and the new residual: what such a norm read is that sum, which is known only as it was
rounded to its dtype.
"""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any, NamedTuple

from ln_audit.errors import RecordingError
from ln_audit.record.tensors import copied, local, name_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

_HALVES = ("bfloat16", "float16")
_GATES = ("gate", "z")  # multiplied, never added
_RESIDUAL = "residual"


class Read(NamedTuple):
    """What went in, copied before the module could change it in place: its input, and a tensor it may add to that."""

    hidden: Any
    added: Any | None
    certain: bool  # `added` is called a residual; otherwise only what comes out can tell


class Rows(NamedTuple):
    """Before and after, of one shape [..., d]; `rounded` is the dtype that `before` was rounded to after it was read."""

    before: Any
    after: Any
    rounded: str | None


def read(module: Any, args: Sequence[Any], kwargs: Mapping[str, Any], subject: str) -> Read:
    """What a module is about to read. Raises `RecordingError` where no tensor goes in."""
    floats = [(name, value) for name, value in _named(module, args, kwargs) if _is_rows(value)]
    if not floats:
        raise RecordingError(f"{subject}: expected a norm that reads a floating tensor, found a call without one")
    hidden = floats[0][1]
    others = [(name, value) for name, value in floats[1:] if value.shape == hidden.shape and name not in _GATES]
    named = [value for name, value in others if _RESIDUAL in name]
    added = named[0] if named else others[0][1] if others else None
    return Read(copied(hidden), None if added is None else copied(added), bool(named))


def rows(found: Read, output: Any, module: Any, subject: str) -> Rows:
    """What the module read and gave, the channels last. Raises `RecordingError` where no rows come out."""
    given = [local(each) for each in ([output] if _is_rows(output) else _flat(output)) if _is_rows(each)]
    if not given:
        raise RecordingError(f"{subject}: expected a norm that returns a tensor, found {type(output).__name__}")
    before, rounded = _before(found, given)
    before, after = _channels_last(before, module), _channels_last(given[0], module)
    if before.shape != after.shape:
        if before.numel() != after.numel():
            raise RecordingError(
                f"{subject}: expected an output of the input's shape {list(before.shape)}, found {list(after.shape)}"
            )
        width = min(before.shape[-1], after.shape[-1])  # heads that are joined on the way in or out
        before, after = before.reshape(-1, width), after.reshape(-1, width)
    return Rows(before, after, rounded)


def _before(found: Read, given: Sequence[Any]) -> tuple[Any, str | None]:
    """What was normed: the input, or its sum with the residual."""
    alike = [each for each in given[1:] if each.shape == found.hidden.shape]
    if found.added is None or not (alike or found.certain):
        return found.hidden, None
    total = alike[0] if alike else found.hidden + found.added
    dtype = name_of(total.dtype)
    return total, dtype if dtype in _HALVES else None


def _named(module: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """The arguments in the order of the call, each with the name that `forward` has for it."""
    try:
        names = [name for name in inspect.signature(module.forward).parameters if name not in kwargs]
    except (TypeError, ValueError):  # written in C, or wrapped beyond recognition
        names = []
    yield from ((names[at] if at < len(names) else "", value) for at, value in enumerate(args))
    yield from kwargs.items()


def _is_rows(value: Any) -> bool:
    import torch

    return isinstance(value, torch.Tensor) and value.is_floating_point() and value.dim() > 0


def _flat(output: Any) -> list[Any]:
    if isinstance(output, (tuple, list)):
        return list(output)
    return list(output.values()) if hasattr(output, "values") else []


def _channels_last(rows: Any, module: Any) -> Any:
    """[..., d] with all that is normed together on the last axis."""
    normed = getattr(module, "normalized_shape", None)
    if isinstance(normed, (tuple, list)) and len(normed) > 1:
        return rows.flatten(-len(normed))
    gain = getattr(module, "weight", None)
    width = gain.shape[0] if gain is not None and gain.dim() == 1 else None
    first = getattr(module, "data_format", "") == "channels_first"
    if rows.dim() > 2 and (first or (width is not None and rows.shape[-1] != width == rows.shape[1])):
        return rows.movedim(1, -1)
    return rows
