"""The normalizations that an ONNX graph computes, by operator or written out, each with the epsilon that it really uses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from ln_audit.core import NormSite
from ln_audit.formats.onnx_constants import Constants, shortest
from ln_audit.formats.onnx_written_out import is_centring, one_more, written_out
from ln_audit.formats.shown import shown

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np

    from ln_audit.formats.onnx_graph import Graph, Node
    from ln_audit.formats.onnx_tensor import Tensor

MICROSOFT = "com.microsoft"  # the operators of onnxruntime

SUMS = {"SkipLayerNormalization": 3, "SkipSimplifiedLayerNormalization": 3, "EmbedLayerNormalization": 2}  # outputs


class Operator(NamedTuple):
    """A normalizing operator: where gain and bias stand among its inputs, and the epsilon of a node that writes none.

    None as `eps`: the operator's schema in the `onnx` package has it.
    """

    kind: str
    gain: int
    bias: int | None
    eps: float | None


# onnxruntime's own defaults: contrib_defs.cc, bert_defs.cc and contrib_defs.h in onnxruntime/core/graph/contrib_ops.
OPERATORS: dict[tuple[str, str], Operator] = {
    ("", "LayerNormalization"): Operator("layer_norm", 1, 2, None),
    ("", "RMSNormalization"): Operator("rms_norm", 1, None, None),
    ("", "SimplifiedLayerNormalization"): Operator("rms_norm", 1, None, 1e-5),
    (MICROSOFT, "SkipLayerNormalization"): Operator("layer_norm", 2, 3, 1e-12),
    (MICROSOFT, "SkipSimplifiedLayerNormalization"): Operator("rms_norm", 2, None, 1e-12),
    (MICROSOFT, "EmbedLayerNormalization"): Operator("layer_norm", 5, 6, 1e-12),
}


def norm_sites(graph: Graph, read: Callable[[Tensor], np.ndarray[Any, Any]], file: str) -> tuple[NormSite, ...]:
    """All normalizations in graph order; what both branches of a condition have stands here once."""
    found: dict[tuple[object, ...], NormSite] = {}
    seen: dict[int, Constants] = {}
    for inner in graph.walk():
        names = seen[id(inner)] = Constants(inner, read, seen.get(id(inner.parent)))
        for node in inner.nodes:
            site = _site(names, node, file)
            if site is not None:
                found.setdefault((site.kind, site.gain or site.name, site.bias, site.eps, site.axis), site)
    return tuple(found.values())


def _site(names: Constants, node: Node, file: str) -> NormSite | None:
    operator = OPERATORS.get((node.domain, node.op))
    if operator is None:
        return written_out(names, node, file) if node.op == "ReduceMean" and node.domain == "" else None
    gain, bias = (_tensor(names, node, at) for at in (operator.gain, operator.bias))
    eps, where = _epsilon(node, operator)
    kind = "layer_norm" if _given_centred(names, node) else operator.kind
    axis = node.attributes.get("axis", -1)
    return NormSite(
        node.name or gain or node.label,
        kind,
        gain,
        bias,
        eps,
        f"{file}: {where}",
        axis=names.graph.from_the_end(axis, node.input(0)) if isinstance(axis, int) else None,
        bias_certain=bias is not None or operator.bias is None or not node.input(operator.bias),
        reads=_read(node),
        gives=node.outputs[0] if node.outputs else "",
    )


def _read(node: Node) -> str:
    """What the norm itself reads: onnxruntime's operators add up their inputs first, and give the sum where one asks."""
    if node.domain != MICROSOFT:
        return node.input(0)
    at = SUMS.get(node.op, 0)
    return node.outputs[at] if len(node.outputs) > at else ""


def _given_centred(names: Constants, node: Node) -> bool:
    """Whether the mean was taken off before: onnxruntime fuses a LayerNorm without bias into an RMSNorm of x - mean(x)."""
    maker = names.makers(node.input(0))
    return maker is not None and is_centring(names, maker)


def _tensor(names: Constants, node: Node, at: int | None) -> str | None:
    tensor = None if at is None else names.stored(node.input(at)) or one_more(names, node.input(at))
    return None if tensor is None else tensor.name


def _epsilon(node: Node, operator: Operator) -> tuple[float | None, str]:
    """What the node writes, else what its operator takes then."""
    import numpy as np

    written = node.attributes.get("epsilon")
    label = f"{node.op} node {shown(node.label)}"
    if isinstance(written, float):
        return shortest(np.float32(written)), f"epsilon of {label}"
    if written is not None:
        return None, f"epsilon of {label}, which is no float"
    default = _standard(node.op) if operator.eps is None else operator.eps
    return default, f"{label} without an epsilon attribute, which means the operator's default"


def _standard(op: str) -> float:
    """The default in the operator's standard, from the schemas of the `onnx` package."""
    import numpy as np
    import onnx

    return shortest(np.float32(onnx.defs.get_schema(op).attributes["epsilon"].default_value.f))
