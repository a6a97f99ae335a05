"""How a norm's values change through the depth of a model: mean, deviation and extremes, layer by layer."""

from __future__ import annotations

from math import fsum, sqrt
from typing import TYPE_CHECKING, NamedTuple

from ln_audit.reports.pictures.canvas import BLUE, GREY, plain_ticks, svg
from ln_audit.reports.pictures.picture import Picture, figure

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from matplotlib.figure import Figure

    from ln_audit.result import NormReport

_MOST = 16  # pictures; a model has two kinds of norms in a layer, some have six
_DRAWABLE = 1e100
_LAYERS = 512  # rows of the table


class Layer(NamedTuple):
    """One layer's tensor in numbers."""

    number: int
    mean: float
    std: float
    low: float
    high: float


def depth_profiles(norms: Sequence[NormReport]) -> tuple[Picture, ...]:
    """One picture for the gains, and one for the biases, of every kind of norm that stands in two layers or more."""
    kinds = dict.fromkeys(entry.norm.pattern for entry in norms if entry.norm.pattern and entry.norm.layer is not None)
    found = (_profile(norms, kind, role) for kind in kinds for role in ("gain", "bias"))
    return tuple(each for each, _ in zip((each for each in found if each is not None), range(_MOST), strict=False))


def _profile(norms: Sequence[NormReport], kind: str, role: str) -> Picture | None:
    layers = _joined(_layers(norms, kind, role))
    if len(layers) < 2 or max(max(abs(each.low), abs(each.high)) for each in layers) > _DRAWABLE:
        return None

    def draw(page: Figure) -> None:
        axes = page.add_axes((0.13, 0.2, 0.84, 0.74))
        at = [each.number for each in layers]
        axes.fill_between(
            at, [each.mean - each.std for each in layers], [each.mean + each.std for each in layers],
            color=BLUE, alpha=0.3, linewidth=0,
        )  # fmt: skip
        for ends in ([each.low for each in layers], [each.high for each in layers]):
            axes.plot(at, ends, color=GREY, linewidth=1, linestyle=(0, (4, 2)))
        axes.plot(at, [each.mean for each in layers], color=BLUE, linewidth=1.6, marker="o", markersize=2.5)
        axes.set_xlabel("layer")
        plain_ticks(axes, x=8, whole="x")

    text = _words(kind, role, layers)
    rows = tuple((f"{each.number}", *(figure(value) for value in each[1:])) for each in layers[:_LAYERS])
    columns = ("layer", "mean", "standard deviation", "minimum", "maximum")
    return Picture(svg(draw, (4.3, 2.0), text), f"{role}, {kind}", text, "", columns, rows)


def _layers(norms: Sequence[NormReport], kind: str, role: str) -> Iterator[Layer]:
    for entry in norms:
        if entry.norm.pattern != kind or entry.norm.layer is None:
            continue
        for each in entry.tensors:
            if each.role == role and None not in (each.mean, each.std, each.min, each.max):
                values = [float(value) for value in (each.mean, each.std, each.min, each.max) if value is not None]
                yield Layer(entry.norm.layer, *values)


def _joined(layers: Iterator[Layer]) -> list[Layer]:
    """One of each layer, in order; where several norms of a kind stand in one (a head's, an expert's), over all of them."""
    by_number: dict[int, list[Layer]] = {}
    for each in layers:
        by_number.setdefault(each.number, []).append(each)
    return [_over(number, of_layer) for number, of_layer in sorted(by_number.items())]


def _over(number: int, layers: Sequence[Layer]) -> Layer:
    """Mean and deviation of all values together, each norm being as wide as the others."""
    if len(layers) == 1:
        return layers[0]
    mean = fsum(each.mean for each in layers) / len(layers)
    square = fsum(each.std**2 + (each.mean - mean) ** 2 for each in layers) / len(layers)
    return Layer(number, mean, sqrt(square), min(each.low for each in layers), max(each.high for each in layers))


def _words(kind: str, role: str, layers: Sequence[Layer]) -> str:
    first, last = layers[0], layers[-1]
    low, high = min(layers, key=lambda each: each.low), max(layers, key=lambda each: each.high)
    return (
        f"{role} of {kind} in {len(layers)} layers: mean {figure(first.mean)} in layer {first.number}, {figure(last.mean)} in"
        f" layer {last.number}; least value {figure(low.low)} in layer {low.number}, largest {figure(high.high)} in layer"
        f" {high.number}."
    )
