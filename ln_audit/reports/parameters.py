"""The printed parameter report of `ln-audit report`: an accounting table per norm, the totals, and what the values look like.

ln_f   layer_norm, 768 wide, epsilon 1e-05
  learned gain            768   ln_f.weight  F32
  learned bias            768   ln_f.bias    F32
  per-instance total    1,536   counted from checkpoint tensors
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

from ln_audit.printable import one_line
from ln_audit.reports.text import write
from ln_audit.reports.wording import count, facts

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ln_audit.reports.document import Run
    from ln_audit.result import NormReport, Report, TensorReport

_BLOCKS = " ▁▂▃▄▅▆▇█"


def render(run: Run) -> str:
    """The accounting of every report, then the verdict as `verify` would print it."""
    lines: list[str] = []
    for report in run.reports:
        lines += [*_accounting(report), ""]
    return "\n".join(lines) + "\n" * bool(lines) + write(run, quiet=True, verbose=False)


def _accounting(report: Report) -> Iterator[str]:
    for entry in report.norms:
        if entry.norm.role == "final":
            yield from _table(entry)
            yield ""
    others = [entry for entry in report.norms if entry.norm.role != "final"]
    if others:
        width = max(len(one_line(entry.norm.name)) for entry in report.norms)
        yield f"{'norm':<{width}}  {'parameters':>10}  {'gain mean':>10} {'std':>9}  {'bias mean':>10} {'std':>9}"
        yield from (_row(entry, width) for entry in report.norms)
        yield ""
    yield from _totals(report)


def _table(entry: NormReport) -> Iterator[str]:
    norm = entry.norm
    yield one_line(f"{norm.name}   {facts(norm)}")
    for tensor in entry.tensors:
        yield f"  learned {tensor.role:<14} {prod(tensor.shape):>9,}   {one_line(tensor.name)}  {tensor.dtype}"
    yield f"  {'per-instance total':<22} {entry.parameters:>9,}   counted from checkpoint tensors"
    for tensor in entry.tensors:
        yield from _statistics(tensor)


def _statistics(tensor: TensorReport) -> Iterator[str]:
    if tensor.mean is None or tensor.std is None:
        return
    yield (
        f"  {tensor.role}: mean {tensor.mean:.6g}, standard deviation {tensor.std:.6g},"
        f" minimum {tensor.min:.7g} (channel {tensor.argmin}), maximum {tensor.max:.7g} (channel {tensor.argmax})"
    )
    if tensor.histogram:
        yield f"  {tensor.min:>10.3g} │{bars(tensor.histogram)}│ {tensor.max:.3g}"


def bars(counts: tuple[int, ...]) -> str:
    """Counts as a line of blocks on a logarithmic scale, so that single outliers stay visible."""
    top = max(counts).bit_length()
    return "".join(_BLOCKS[0 if n == 0 else max(1, round(n.bit_length() * 8 / top))] for n in counts)


def _row(entry: NormReport, width: int) -> str:
    cells = ""
    for role in ("gain", "bias"):
        tensor = next((tensor for tensor in entry.tensors if tensor.role == role), None)
        if tensor is None or tensor.mean is None or tensor.std is None:
            cells += f"  {'–':>10} {'–':>9}"
        else:
            cells += f"  {tensor.mean:>10.5f} {tensor.std:>9.5f}"
    return f"{one_line(entry.norm.name):<{width}}  {entry.parameters:>10,}{cells}"


def _totals(report: Report) -> Iterator[str]:
    counted = report.parameters
    if counted.all_norms is None:
        yield f"totals: cannot tell ({counted.reason or 'nothing was read'})"
        return
    yield f"{'all norms':<22} {counted.all_norms:>13,}   {count(len(report.norms), 'norm')}"
    if counted.checkpoint:
        share = counted.all_norms / counted.checkpoint
        yield f"{'checkpoint':<22} {counted.checkpoint:>13,}   buffers left out, tied tensors once"
        yield f"{'share of the norms':<22} {share:>13.4%}   one in {counted.checkpoint / max(1, counted.all_norms):,.0f}"
