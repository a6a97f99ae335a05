"""The printed parameter report of `ln-audit report`: an accounting table per norm, the totals, and what the values look like.

ln_f   layer_norm, 768 wide, epsilon 1e-05
  learned gain            768   ln_f.weight  F32
  learned bias            768   ln_f.bias    F32
  per-instance total    1,536   counted from checkpoint tensors
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

from ln_audit.printable import short
from ln_audit.reports.summary import name
from ln_audit.reports.text import write
from ln_audit.reports.wording import count, facts
from ln_audit.reports.wrapping import HANG, laid_out

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ln_audit.reports.document import Run
    from ln_audit.result import NormReport, Report, TensorReport

_BLOCKS = " ▁▂▃▄▅▆▇█"
_SMALL = 8  # characters of a row's histogram
_NAME = 100  # characters of a norm's name


def render(run: Run, width: int | None = None) -> str:
    """The accounting of every report, then the verdict as `verify` would print it; `width` as there."""
    lines: list[str] = []
    for report in run.reports:
        named = [short(name(report))] if len(run.reports) > 1 else []
        if report.error is None or report.norms:  # else the verdict says all there is to say
            lines += [*named, *_accounting(report), ""]
    accounting = laid_out(lines, width) + "\n" if lines else ""
    return accounting + write(run, quiet=True, verbose=False, width=width)


def _accounting(report: Report) -> Iterator[str]:
    for entry in report.norms:
        if entry.norm.role == "final":
            yield from _table(entry)
            yield ""
    if any(entry.norm.role != "final" for entry in report.norms):
        yield from _rows(report)
        yield ""
    yield from _totals(report)


def _table(entry: NormReport) -> Iterator[str]:
    yield f"{short(entry.norm.name, _NAME)}   {HANG}{short(facts(entry.norm))}"
    for tensor in entry.tensors:
        yield f"  learned {tensor.role:<14} {prod(tensor.shape):>9,}   {short(tensor.name, _NAME)}  {short(tensor.dtype)}"
    yield f"  {'per-instance total':<22} {entry.parameters:>9,}   counted from checkpoint tensors"
    for tensor in entry.tensors:
        yield from _statistics(tensor)


def _statistics(tensor: TensorReport) -> Iterator[str]:
    if tensor.mean is None or tensor.std is None:
        return
    yield (
        f"  {tensor.role}: {HANG}mean {tensor.mean:.6g}, standard deviation {tensor.std:.6g},"
        f" minimum {tensor.min:.7g} (channel {tensor.argmin}), maximum {tensor.max:.7g} (channel {tensor.argmax})"
    )
    if tensor.histogram:
        yield f"  {tensor.min:>10.3g} │{bars(tensor.histogram)}│ {tensor.max:.3g}"


def bars(counts: tuple[int, ...]) -> str:
    """Counts as a line of blocks on a logarithmic scale, so that single outliers stay visible."""
    top = max(counts).bit_length()
    return "".join(_BLOCKS[0 if n == 0 else max(1, round(n.bit_length() * 8 / top))] for n in counts)


def _rows(report: Report) -> Iterator[str]:
    """Every norm on a line: how many parameters, and for gain and bias the mean, the deviation and a small histogram."""
    names = [short(entry.norm.name, _NAME) for entry in report.norms]
    width = max(map(len, names))
    roles = [role for role in ("gain", "bias") if any(_of(entry, role) is not None for entry in report.norms)]
    heads = "".join(f" {'mean':>8} {'std':>6} {role:<{_SMALL}}" for role in roles)
    yield f"{'norm':<{width}}  {'count':>7}{heads}".rstrip()
    for told, entry in zip(names, report.norms, strict=True):
        cells = "".join(_cells(_of(entry, role)) for role in roles)
        yield f"{told:<{width}}  {entry.parameters:>7,}{cells}".rstrip()


def _of(entry: NormReport, role: str) -> TensorReport | None:
    return next((tensor for tensor in entry.tensors if tensor.role == role), None)


def _cells(tensor: TensorReport | None) -> str:
    if tensor is None or tensor.mean is None or tensor.std is None:
        return f" {'–':>8} {'–':>6} {'':{_SMALL}}"
    return f" {_number(tensor.mean):>8} {_number(tensor.std):>6} {_small(tensor.histogram):<{_SMALL}}"


def _number(value: float) -> str:
    return f"{value:.4f}" if value == 0 or 1e-3 <= abs(value) < 100 else f"{value:.1e}"


def _small(histogram: tuple[int, ...]) -> str:
    """The histogram with bins joined until it is small; empty where all values are the same."""
    if not histogram:
        return ""
    joined = -(-len(histogram) // _SMALL)
    return bars(tuple(sum(histogram[at : at + joined]) for at in range(0, len(histogram), joined)))


def _totals(report: Report) -> Iterator[str]:
    counted = report.parameters
    if counted.all_norms is None:
        yield f"totals: cannot tell ({short(counted.reason or 'nothing was read')})"
        return
    yield f"{'all norms':<22} {counted.all_norms:>13,}   {count(len(report.norms), 'norm')}"
    if counted.checkpoint:
        share = counted.all_norms / counted.checkpoint
        yield f"{'checkpoint':<22} {counted.checkpoint:>13,}   buffers left out, tied tensors once"
        yield f"{'share of the norms':<22} {share:>13.4%}   one in {counted.checkpoint / max(1, counted.all_norms):,.0f}"
