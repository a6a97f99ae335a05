"""`ln-audit record model.onnx`: onnxruntime runs the graph and is asked for what its norms read and gave as well.

The graph is changed in memory only: values that it makes anyway become outputs. A norm that is one operator stays one;
what onnxruntime would have fused otherwise it cannot fuse any more, since its parts are asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from ln_audit.errors import RecordingError, UsageError
from ln_audit.printable import first_line
from ln_audit.record import metadata, onnx_inputs, tokens
from ln_audit.record.needed import need
from ln_audit.record.recipe import Made
from ln_audit.record.tensors import of_array
from ln_audit.recording.writer import RecordingWriter

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    import numpy as np

    from ln_audit.checks.subject import Subject
    from ln_audit.core import Norm, NormSite
    from ln_audit.record.recipe import Recipe

_SUM = "ln_audit.sum"  # what a fused add's own sum is called where the graph has no name for it


class Tap(NamedTuple):
    """One norm and the two values of the graph that are asked for.

    `wider`: it reads more digits than are given to us in half precision. A fused add norms its sum before it rounds it, and
    where a norm is written out in half precision onnxruntime computes in float32 from the operation before it on.
    """

    norm: Norm
    eps: float | None
    reads: str
    gives: str
    wider: bool


def record(
    file: Path, called: str, subject: Subject, path: str, recipe: Recipe, progress: Callable[[int, int], None]
) -> Made:
    """Run the graph in `file` and write a recording of its norms to `path`. Raises `RecordingError`, `UsageError`."""
    need("onnx")
    need("onnxruntime")
    import onnx

    if recipe.dtype is not None or recipe.hidden_states:
        given = "--dtype" if recipe.dtype is not None else "--hidden-states"
        raise UsageError(
            f"{given}: expected a model that transformers loads, found an ONNX graph, which is run as it is"
        )
    model = onnx.load(str(file), load_external_data=False)
    taps = _tapped(model, _chosen(subject, recipe, called), called)
    session = _session(model, file, recipe.device or "cpu", called)
    ids = onnx_inputs.ids(recipe, subject, model, file, called)
    said = {"model": called, "revision": subject.revision or "", "text": metadata.excerpt(recipe.text or "")}
    general = metadata.general(["onnxruntime"], f"record on {recipe.reads}")
    writer = RecordingWriter(path)
    try:
        done = 0
        for segment in tokens.segments(ids, onnx_inputs.length(subject)):
            feed = onnx_inputs.feed(session.get_inputs(), segment, called)
            _write(writer, taps, _run(session, taps, feed, called), called)
            found = of_array(segment[None])
            writer.append("tokens", found.dtype, found.shape, found.data, kept=0)
            done += len(segment)
            progress(done, len(ids))
        facts = {tap.norm.name: _facts(tap, subject, writer, alone=len(taps) == 1) for tap in taps}
        told = metadata.merged(facts) | general | {key: value for key, value in said.items() if value}
        size = writer.finish(told | ({"norm": taps[0].norm.name} if len(taps) == 1 else {}))
    finally:
        writer.discard()
    return Made(path, size, tuple(tap.norm.name for tap in taps), done, general["framework"])


def _chosen(subject: Subject, recipe: Recipe, called: str) -> list[tuple[Norm, NormSite]]:
    """The norms that are asked for, each with the place in the graph that computes it."""
    from ln_audit.agreement import find

    sites = {site.gain or site.name: site for site in subject.checkpoint.norm_sites}
    if recipe.norms:
        norms = []
        for name in recipe.norms:
            norm = find(subject, name) or next((each for each in subject.norms if each.gain == name), None)
            if norm is None:
                raise UsageError(f"--norm {name}: expected a norm of {called}, found none of that name")
            norms.append(norm)
    else:
        norms = [norm for norm in subject.norms if recipe.all_norms or (norm.role == "final" and norm.main)]
    if not norms:
        raise RecordingError(
            f"{called}: expected a norm to record, found none that is known to be the last",
            hint=f"name one with --norm, or --all-norms; the graph computes {', '.join(list(sites)[:5]) or 'none'}",
        )
    found = [(norm, sites.get(norm.gain or norm.name)) for norm in norms]
    lost = next((norm for norm, site in found if site is None), None)
    if lost is not None:
        raise RecordingError(f"{called}: {lost.name}: expected a node that computes it, found none")
    return [(norm, site) for norm, site in found if site is not None]


def _tapped(model: Any, chosen: Sequence[tuple[Norm, NormSite]], called: str) -> list[Tap]:
    """Make the values outputs of the graph. Raises `RecordingError` for a norm inside a branch, or written in pieces."""
    import onnx

    from ln_audit.formats.onnx_norms import OPERATORS

    makers = {output: node for node in model.graph.node for output in node.output if output}
    known = {*makers, *(value.name for value in model.graph.input)}
    taps = []
    for number, (norm, site) in enumerate(chosen):
        node, reads = makers.get(site.gives), site.reads
        summed = node is not None and node.domain == "com.microsoft" and node.op_type.startswith("Skip")
        if summed and not reads and node is not None:
            reads = f"{_SUM}.{number}"
            node.output.extend([""] * (3 - len(node.output)))
            del node.output[3:]
            node.output.append(reads)
            known.add(reads)
        if not {reads, site.gives} <= known:
            raise RecordingError(
                f"{called}: {norm.name}: expected values of the main graph that it reads and gives, found none by themselves"
            )
        whole = node is not None and (node.domain, node.op_type) in OPERATORS
        taps.append(Tap(norm, site.eps, reads, site.gives, summed or not whole))
    outputs = {value.name for value in model.graph.output}
    for name in dict.fromkeys(name for tap in taps for name in (tap.reads, tap.gives)):
        if name not in outputs:
            model.graph.output.append(onnx.ValueInfoProto(name=name))
    return taps


def _session(model: Any, file: Path, device: str, called: str) -> Any:
    """The graph ready to run; numbers beside the model are found where they lie."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.add_session_config_entry("session.model_external_initializers_file_folder_path", str(file.parent))
    wanted = {"cpu": "CPUExecutionProvider", "cuda": "CUDAExecutionProvider"}.get(device)
    if wanted not in onnxruntime.get_available_providers():
        raise UsageError(f"--device: expected a device that this onnxruntime has, found {device!r}")
    try:
        return onnxruntime.InferenceSession(model.SerializeToString(), options, providers=[wanted])
    except _faults() as error:
        raise RecordingError(f"{called}: expected onnxruntime to load it, found: {first_line(error)}") from error


def _run(session: Any, taps: Sequence[Tap], given: dict[str, Any], called: str) -> dict[str, np.ndarray[Any, Any]]:
    names = list(dict.fromkeys(name for tap in taps for name in (tap.reads, tap.gives)))
    try:
        return dict(zip(names, session.run(names, given), strict=True))
    except _faults() as error:
        raise RecordingError(
            f"{called}: expected onnxruntime to run it, found: {first_line(error)}",
            hint="run it yourself with these values as outputs, and give them with --before and --after",
        ) from error


def _write(writer: RecordingWriter, taps: Sequence[Tap], values: dict[str, np.ndarray[Any, Any]], called: str) -> None:
    for tap in taps:
        before, after = values[tap.reads], values[tap.gives]
        if before.shape != after.shape or before.dtype.name not in ("float16", "float32", "float64"):
            raise RecordingError(
                f"{called}: {tap.norm.name}: expected float rows of one shape, found {before.dtype} {list(before.shape)} "
                f"and {after.dtype} {list(after.shape)}"
            )
        prefix = f"{tap.norm.name}/" if len(taps) > 1 else ""
        for side, rows in (("before", before), ("after", after)):
            found = of_array(rows)
            writer.append(f"{prefix}{side}", found.dtype, found.shape, found.data)


def _facts(tap: Tap, subject: Subject, writer: RecordingWriter, *, alone: bool) -> dict[str, str]:
    """What metadata says of one norm, its parameters as the graph stores them; alone, it carries them."""
    from ln_audit.formats.dtypes import array
    from ln_audit.numerics.parameters import effective, value_sha256

    prefix = "" if alone else f"{tap.norm.name}/"
    dtypes = [
        {"F32": "float32", "F16": "float16", "F64": "float64"}[writer.dtype(f"{prefix}{s}")]
        for s in ("before", "after")
    ]
    eps = tap.norm.eps if tap.eps is None else tap.eps
    facts = {"kind": tap.norm.kind, "compute_dtype": dtypes[0], "output_dtype": dtypes[1]}
    facts |= {"eps": repr(eps)} if eps is not None else {}
    facts |= {"before_rounded": dtypes[0]} if tap.wider and dtypes[0] == "float16" else {}
    for role, name, offset in (("gain", tap.norm.gain, tap.norm.weight_offset), ("bias", tap.norm.bias, 0.0)):
        stored = subject.values.get(name or "")
        if stored is None or not stored.exact:
            continue
        values = array(stored).reshape(-1)
        digest = value_sha256(values, offset)
        facts |= {f"{role}_value_sha256": digest} if digest is not None else {}
        facts.setdefault("param_dtype", values.dtype.name)
        if alone:
            found = of_array(effective(values, offset) if role == "gain" else values)
            writer.append(role, found.dtype, found.shape, found.data)
    return facts


def _faults() -> tuple[type[Exception], ...]:
    """What onnxruntime raises: classes of its own that share no base."""
    from onnxruntime.capi import onnxruntime_pybind11_state as state

    own = (each for each in vars(state).values() if isinstance(each, type) and issubclass(each, Exception))
    return (*own, RuntimeError, ValueError)
