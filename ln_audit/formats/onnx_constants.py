"""What a name of an ONNX graph stands for: who makes it, who uses it, and its value where that is constant."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from ln_audit.formats.dtypes import numpy_dtype, readable
from ln_audit.formats.onnx_tensor import DATA_TYPES
from ln_audit.formats.shown import shortest as decimal

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np

    from ln_audit.formats.onnx_graph import Graph, Node
    from ln_audit.formats.onnx_tensor import Tensor

SAME_VALUES = frozenset({"Cast", "Identity"})  # up to rounding
SAME_NUMBERS = SAME_VALUES | {"Unsqueeze", "Squeeze", "Reshape", "Transpose", "Expand", "DequantizeLinear"}
MAX_STEPS = 8  # of such operations one behind the other; a forged graph may go round in circles
MAX_SCALARS = 16  # elements of a tensor whose value is looked at: epsilon, exponent, axes


class Scalar(NamedTuple):
    """A constant number: the shortest decimal that rounds to it in its dtype, and the tensor or node it comes from."""

    value: float
    dtype: str
    name: str


class Constants:
    """The names of one graph. `read` gives the values of a small stored tensor, flat."""

    def __init__(self, graph: Graph, read: Callable[[Tensor], np.ndarray[Any, Any]], outer: Constants | None) -> None:
        self.graph = graph
        self._read = read
        self._outer = outer
        self._made = {output: node for node in graph.nodes for output in node.outputs if output}
        self._used: dict[str, list[Node]] = {}
        for node in graph.nodes:
            for name in dict.fromkeys(node.inputs[:2]):  # no operation that is looked for has more
                self._used.setdefault(name, []).append(node)

    def maker(self, name: str) -> Node | None:
        """The node that has it as its output, here or further out."""
        return self._made.get(name) or (self._outer.maker(name) if self._outer is not None else None)

    def through(self, name: str, steps: frozenset[str] = SAME_VALUES) -> str:
        """The name behind casts and copies."""
        for _ in range(MAX_STEPS):
            node = self.maker(name)
            if node is None or node.op not in steps or not node.inputs:
                return name
            name = node.inputs[0]
        return name

    def makers(self, name: str) -> Node | None:
        """The node behind casts and copies."""
        return self.maker(self.through(name))

    def users(self, name: str) -> list[Node]:
        """The nodes that use it, through casts and copies."""
        found: list[Node] = []
        names = [name]
        for known in names:  # grows while it is walked
            for node in self._used.get(known, ()):
                if node.op not in SAME_VALUES:
                    found.append(node)
                elif len(names) < MAX_STEPS:
                    names += node.outputs[:1]
        return found

    def same(self, one: str, other: str) -> bool:
        """Whether two names stand for the same values, up to rounding."""
        return self.through(one) == self.through(other)

    def other(self, node: Node, name: str) -> str:
        """Of a node's two inputs the one that is not `name`; empty where both or neither are."""
        others = [given for given in node.inputs[:2] if not self.same(given, name)]
        return others[0] if len(others) == 1 else ""

    def stored(self, name: str) -> Tensor | None:
        """The tensor whose numbers these are, in whatever shape."""
        return self.graph.tensor(self.through(name, SAME_NUMBERS)) if name else None

    def scalar(self, name: str) -> Scalar | None:
        """The value of a constant with one element, rounded by the casts on its way."""
        casts: list[int] = []
        for _ in range(MAX_STEPS):
            tensor, node = self.graph.tensor(name), self.maker(name)
            if tensor is not None:
                return self._rounded(tensor, casts)
            if node is not None and node.op == "Constant":
                return _written(node, casts)
            if node is None or node.op not in SAME_NUMBERS - {"DequantizeLinear"} or not node.inputs:
                return None
            to = node.attributes.get("to") if node.op == "Cast" else None
            casts += [to] if isinstance(to, int) else []
            name = node.inputs[0]
        return None

    def numbers(self, name: str) -> list[int]:
        """The integers of a small constant, such as axes; empty where it is none."""
        tensor = self.graph.tensor(self.through(name))
        if tensor is None or tensor.info.elements > MAX_SCALARS or tensor.dtype not in {"I32", "I64"}:
            return []
        return [int(value) for value in self._read(tensor)]

    def _rounded(self, tensor: Tensor, casts: list[int]) -> Scalar | None:
        if tensor.info.elements != 1 or not readable(tensor.dtype):
            return None
        return _scalar(self._read(tensor)[0], tensor.dtype, casts, tensor.name)


def _written(node: Node, casts: list[int]) -> Scalar | None:
    """A Constant with its number as an attribute."""
    import numpy as np

    for key, dtype, kind in (("value_float", "F32", np.float32), ("value_int", "I64", np.int64)):
        value = node.attributes.get(key)
        if isinstance(value, int | float):
            return _scalar(kind(value), dtype, casts, node.label)
    return None


def _scalar(value: Any, dtype: str, casts: list[int], name: str) -> Scalar | None:
    """The value after its casts, the one nearest to the constant first."""
    import numpy as np

    with np.errstate(all="ignore"):
        for code in reversed(casts):
            dtype = DATA_TYPES.get(code, ("", 0))[0]
            if not readable(dtype):
                return None
            value = np.asarray(value).astype(numpy_dtype(dtype))[()]
        return Scalar(shortest(value), dtype, name)


def shortest(value: Any) -> float:
    """The decimal with the fewest digits that rounds to this number of its dtype: float32's 1e-5 is written 1e-05."""
    import numpy as np

    dtype = np.asarray(value).dtype
    return decimal(float(value), lambda near: float(np.asarray(near).astype(dtype)))
