"""`capture` around an onnxruntime session whose graph gives what a norm reads and what it gives."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ln_audit.errors import RecordingError, UsageError
from ln_audit.formats.shown import shown
from ln_audit.record import metadata
from ln_audit.record.tensors import of_array
from ln_audit.recording.writer import RecordingWriter

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator, Mapping, Sequence

_FLOATS = ("float16", "float32", "float64")


@dataclass(slots=True)
class Counted:
    """How many rows have been recorded."""

    positions: int = 0


def is_session(model: Any) -> bool:
    """Whether it runs like an onnxruntime session."""
    return all(hasattr(model, name) for name in ("run", "get_inputs", "get_outputs", "get_providers"))


@contextmanager
def capture(
    session: Any,
    path: str | os.PathLike[str],
    norm: Any,
    *,
    kind: str | None,
    eps: float | None,
    said: Mapping[str, str],
) -> Iterator[Counted]:
    """Record two outputs of the graph, `norm` = (what the norm reads, what it gives), in every `session.run` inside the `with`.

    Raises `UsageError` for names that are no outputs of the graph, `RecordingError` where nothing was run, or no floats came.
    """
    pair = _pair(session, norm)
    writer, counted = RecordingWriter(path), Counted()
    run = session.run

    def listening(names: Sequence[str] | None, given: Mapping[str, Any], *more: Any) -> list[Any]:
        asked = list(names) if names else [each.name for each in session.get_outputs()]
        values: list[Any] = run(asked + [name for name in pair if name not in asked], given, *more)
        found = dict(zip(asked + [name for name in pair if name not in asked], values, strict=True))
        counted.positions += _write(writer, *(found[name] for name in pair))
        return values[: len(asked)]

    try:
        session.run = listening
        try:
            yield counted
        finally:
            del session.run
        if not writer.names:
            raise RecordingError(
                f"{writer.label}: expected session.run inside the `with`, found none: no file is written"
            )
        facts = {"norm": pair[1], "kind": kind, "eps": None if eps is None else repr(eps)}
        told = (
            metadata.general(["onnxruntime"], "capture")
            | {key: value for key, value in facts.items() if value}
            | dict(said)
        )
        writer.finish(told)
    finally:
        writer.discard()


def _pair(session: Any, norm: Any) -> tuple[str, str]:
    outputs = [each.name for each in session.get_outputs()]
    names = tuple(norm) if isinstance(norm, (tuple, list)) else ()
    if len(names) != 2 or any(name not in outputs for name in names):
        raise UsageError(
            f"norm: expected two outputs of the graph, what the norm reads and what it gives, found {shown(norm)}",
            hint=f"the graph gives {', '.join(outputs[:8])}; `ln-audit record model.onnx` asks it for more",
        )
    return names


def _write(writer: RecordingWriter, before: Any, after: Any) -> int:
    """One run's rows; returns how many."""
    if before.shape != after.shape or not {before.dtype.name, after.dtype.name} <= set(_FLOATS):
        raise RecordingError(
            f"{writer.label}: expected float rows of one shape, found {before.dtype} {list(before.shape)} and {after.dtype} "
            f"{list(after.shape)}"
        )
    for side, rows in (("before", before), ("after", after)):
        found = of_array(rows)
        writer.append(side, found.dtype, found.shape, found.data)
    return int(before.size // before.shape[-1]) if before.size else 0
