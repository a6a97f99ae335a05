"""A normalization written out in single operations, as exporters did before operators for it existed, and still do.

    LayerNorm  c = x - ReduceMean(x);  y = c / Sqrt(ReduceMean(c²) + ε) · gain + bias
    RMSNorm    the same with c = x
The square may be Pow or Mul, the root Sqrt or Pow, the division Div, Reciprocal or a negative power, with casts between any
two of them; TensorFlow multiplies the gain into 1/√(…) first and takes the mean off last.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ln_audit.core import NormSite
from ln_audit.formats.shown import shown

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ln_audit.formats.onnx_constants import Constants
    from ln_audit.formats.onnx_graph import Node
    from ln_audit.formats.onnx_tensor import Tensor


class Root(NamedTuple):
    """The output of a root; `inverse` if it is already 1/√(…)."""

    name: str
    inverse: bool


class Affine(NamedTuple):
    """Names of gain and bias tensors, None where there is none, and of the value that comes of them."""

    gain: str | None
    bias: str | None
    gives: str = ""


def written_out(graph: Constants, mean: Node, file: str) -> NormSite | None:
    """The normalization whose mean of squares the node `mean` takes; None where it is another mean."""
    centred = _squared(graph, mean.input(0))
    axis = _only_axis(graph, mean)
    if centred is None or axis is None or not mean.outputs:
        return None
    subtraction = graph.makers(centred)
    layer = subtraction is not None and is_centring(graph, subtraction)
    for name, eps, where in _plus_epsilon(graph, mean):
        for root in _roots(graph, name):
            affine = _affine(graph, root, centred)
            if affine is not None:
                kind = "layer_norm" if layer else "rms_norm"
                return NormSite(
                    affine.gain or mean.label,
                    kind,
                    affine.gain,
                    affine.bias,
                    eps,
                    f"{file}: {where}",
                    axis=graph.graph.from_the_end(axis, mean.input(0), centred),
                    bias_certain=affine.bias is not None,
                    reads=subtraction.input(0) if subtraction is not None and layer else centred,
                    gives=affine.gives,
                )
    return None


def is_centring(graph: Constants, node: Node) -> bool:
    """Whether it takes a mean off what the mean was taken of."""
    mean = graph.makers(node.input(1)) if node.op == "Sub" else None
    return mean is not None and mean.op == "ReduceMean" and graph.same(mean.input(0), node.input(0))


def _squared(graph: Constants, name: str) -> str | None:
    """What the named value is the square of."""
    node = graph.makers(name)
    if node is None or len(node.inputs) < 2:
        return None
    base, factor = node.inputs[:2]
    if node.op == "Mul" and graph.same(base, factor):
        return base
    exponent = graph.scalar(factor) if node.op == "Pow" else None
    return base if exponent is not None and exponent.value == 2 else None


def _only_axis(graph: Constants, mean: Node) -> int | None:
    """Its axis; None for several, as of an image or a batch. An axis that is unknown is believed to be the last."""
    axes = mean.attributes.get("axes")
    if axes is None and mean.input(1):
        axes = graph.numbers(mean.input(1)) or [-1]
    return axes[0] if isinstance(axes, list) and len(axes) == 1 else None


def _plus_epsilon(graph: Constants, mean: Node) -> Iterator[tuple[str, float | None, str]]:
    """The value under the root, the epsilon in it, and where that is written."""
    name = mean.outputs[0]
    for node in graph.users(name):
        if node.op == "Add" and node.outputs:
            eps = graph.scalar(graph.other(node, name))
            if eps is None:
                yield node.outputs[0], None, f"node {shown(node.label)} adds no constant"
            else:
                yield node.outputs[0], eps.value, f"{eps.dtype} constant {shown(eps.name)} of node {shown(node.label)}"
        elif node.op in {"Sqrt", "Pow"}:
            yield name, 0.0, f"nothing is added before node {shown(node.label)}"


def _roots(graph: Constants, name: str) -> Iterator[Root]:
    for node in graph.users(name):
        power = graph.scalar(node.input(1)) if node.op == "Pow" else None
        half = node.op == "Sqrt" or (power is not None and power.value == 0.5)
        if node.outputs and half:
            yield Root(node.outputs[0], inverse=False)
            yield from (Root(inverse, inverse=True) for inverse in _inverses(graph, node.outputs[0]))
        elif node.outputs and power is not None and power.value == -0.5:
            yield Root(node.outputs[0], inverse=True)


def _inverses(graph: Constants, root: str) -> Iterator[str]:
    """1/√(…), as a reciprocal or a division."""
    for node in graph.users(root):
        one = graph.scalar(node.input(0)) if node.op == "Div" else None
        if node.outputs and (node.op == "Reciprocal" or (one is not None and one.value == 1)):
            yield node.outputs[0]


def _affine(graph: Constants, root: Root, centred: str) -> Affine | None:
    """Gain and bias behind the division; None where nothing is divided: a standard deviation alone is no norm."""
    for node in graph.users(root.name):
        if not node.outputs or node.op != ("Mul" if root.inverse else "Div"):
            continue
        other = graph.other(node, root.name) if root.inverse else node.input(0)
        if graph.same(other, centred) or _recentred(graph, other, centred):
            return _scaled(graph, node.outputs[0])
        gain = graph.stored(other) if root.inverse else None
        if gain is not None and gain.info.elements > 1:
            return Affine(gain.name, _subtracted_from(graph, node.outputs[0]))
    return None


def _recentred(graph: Constants, name: str, centred: str) -> bool:
    """The same difference, taken a second time."""
    first, second = graph.makers(centred), graph.makers(name)
    if first is None or second is None or not is_centring(graph, second) or not is_centring(graph, first):
        return False
    return graph.same(first.input(0), second.input(0))


def _scaled(graph: Constants, name: str) -> Affine:
    """Gain and bias of the normed value `name`."""
    for node in graph.users(name):
        factor = graph.other(node, name) if node.op == "Mul" else ""
        gain = graph.stored(factor) or one_more(graph, factor)
        if gain is not None and gain.info.elements > 1 and node.outputs:
            bias, gives = _added(graph, node.outputs[0], gain.info.elements)
            return Affine(gain.name, bias, gives)
    return Affine(None, None, name)


def one_more(graph: Constants, name: str) -> Tensor | None:
    """The tensor in 1 + weight, which the norms of Gemma and Nemotron multiply with."""
    node = graph.makers(name)
    if node is None or node.op != "Add" or len(node.inputs) < 2:
        return None
    for weight, one in (node.inputs[:2], node.inputs[1::-1]):
        number = graph.scalar(one)
        if number is not None and number.value == 1:
            return graph.stored(weight)
    return None


def _added(graph: Constants, name: str, elements: int) -> tuple[str | None, str]:
    """The bias, a stored tensor as wide as the gain, and the value with it."""
    for node in graph.users(name):
        bias = graph.stored(graph.other(node, name)) if node.op == "Add" else None
        if bias is not None and bias.info.elements == elements and node.outputs:
            return bias.name, node.outputs[0]
    return None, name


def _subtracted_from(graph: Constants, scale: str) -> str | None:
    """TensorFlow's bias: bias - mean · (gain/√(…)) is added last."""
    for product in graph.users(scale):
        for node in graph.users(product.outputs[0]) if product.op == "Mul" and product.outputs else ():
            bias = graph.stored(node.input(0)) if node.op == "Sub" else None
            if bias is not None:
                return bias.name
    return None
