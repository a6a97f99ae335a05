"""The graph of an ONNX file, walked in the file itself: nodes and names are kept, numbers stay where they are.

The `onnx` package would load all of it, gigabytes for large models, and a hostile file of some megabytes unfolds to as much.
Format: https://github.com/onnx/onnx/blob/main/onnx/onnx.proto3
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ln_audit.core import Range
from ln_audit.errors import FormatError, UnsupportedError
from ln_audit.formats.onnx_tensor import read_tensor, text
from ln_audit.formats.protobuf import I32, LEN, VARINT, Field, Window, fields, signed, varint
from ln_audit.formats.shown import shown

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from ln_audit.formats.onnx_tensor import Tensor

MAX_FIELDS = 1_000_000  # some three seconds; a graph of 50,000 nodes has about as many
MAX_NODES = 100_000
MAX_TENSORS = 131_072
MAX_VALUES = 100_000  # whose shapes are looked at; a rank beyond is unknown
VALUE_FIELDS = 16  # of a value with its shape
MAX_DEPTH = 8  # graphs inside nodes inside graphs; the branches of an If are the first level
MAX_LIST = 64  # numbers of an attribute that are kept: axes are a handful


@dataclass(frozen=True, slots=True)
class Node:
    """One operation. Of its attributes those with numbers are kept, as `1.0`, `1` or `[1, 2]`."""

    name: str
    op: str
    domain: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: Mapping[str, float | int | list[int]]

    def input(self, index: int) -> str:
        """The name of an input, empty where it is left out."""
        return self.inputs[index] if index < len(self.inputs) else ""

    @property
    def label(self) -> str:
        """How messages and reports call it."""
        return self.name or f"{self.op} of {self.outputs[0] if self.outputs else 'nothing'}"


@dataclass(slots=True)
class Graph:
    """Nodes in order and tensors by name, those of Constant nodes among them. A branch sees its parent's names."""

    parent: Graph | None = None
    nodes: list[Node] = field(default_factory=list)
    tensors: dict[str, Tensor] = field(default_factory=dict)
    constants: dict[str, Tensor] = field(default_factory=dict)  # of Constant nodes
    branches: list[Graph] = field(default_factory=list)
    made: set[str] = field(default_factory=set)  # outputs of all nodes: each name has one maker
    values: list[Field] = field(default_factory=list)  # whose shapes are written; unread until a rank is asked for
    ranks: dict[str, int] = field(default_factory=dict)
    read_rank: Callable[[Field], tuple[str, int | None]] | None = None

    def add(self, node: Node, file: str) -> None:
        """One more node. Raises `FormatError` where another has made one of its outputs."""
        made = [output for output in node.outputs if output]
        if self.made & set(made):
            raise FormatError(
                f"{file}: node {shown(node.label)}: expected outputs of its own, found {shown(made)} again"
            )
        self.made |= set(made)
        self.nodes.append(node)

    def tensor(self, name: str) -> Tensor | None:
        """What is stored under a name, here or further out."""
        found = self.tensors.get(name) or self.constants.get(name)
        return found or (self.parent.tensor(name) if self.parent is not None else None)

    def from_the_end(self, axis: int, *values: str) -> int | None:
        """An axis of these values as a negative number; None where that takes a rank that is written nowhere.

        Axis 2 and above is then believed to be the last: hidden states are [batch, position, channel], and TensorFlow's
        exporters count from the front.
        """
        if axis < 0:
            return axis
        ranks = [rank for value in values if (rank := self.rank(value)) is not None]
        if ranks:
            return axis - ranks[0]
        return -1 if axis >= 2 else None

    def rank(self, name: str) -> int | None:
        """How many axes a value has, where that is written here or further out."""
        while self.values and self.read_rank is not None:  # most graphs count axes from the end and never come here
            value, rank = self.read_rank(self.values.pop())
            if rank is not None:
                self.ranks[value] = rank
        found = self.ranks.get(name)
        return self.parent.rank(name) if found is None and self.parent is not None else found

    def walk(self) -> Iterator[Graph]:
        """Itself and all graphs inside it, outer ones first."""
        yield self
        for branch in self.branches:
            yield from branch.walk()


@dataclass(frozen=True, slots=True)
class Model:
    """What was read of a file. `functions` are counted and not looked into."""

    graph: Graph
    opsets: dict[str, int]
    functions: int


class GraphReader:
    """Reads one file. Raises `FormatError` for what is no ONNX model, `UnsupportedError` for what is too large."""

    def __init__(self, window: Window, file: str) -> None:
        self.window = window
        self.file = file
        self._left = MAX_FIELDS
        self._tensors = MAX_TENSORS
        self._nodes = MAX_NODES
        self._values = MAX_VALUES

    def model(self) -> Model:
        """The whole file: a ModelProto."""
        graph: Graph | None = None
        opsets: dict[str, int] = {}
        functions = 0
        for part in self._fields(0, self.window.size):
            if part.number == 7 and part.wire == LEN:
                if graph is not None:
                    raise FormatError(f"{self.file}: byte {part.begin:,}: expected one graph, found two")
                graph = Graph()
                self._graph(graph, part, 0)
            elif part.number == 8 and part.wire == LEN:
                opsets |= self._opset(part)
            elif part.number == 25:
                functions += 1
        if graph is None or not opsets:
            raise FormatError(
                f"{self.file}: expected an ONNX model with a graph and its operator sets, found "
                f"{'no graph' if graph is None else 'no operator set'}",
                hint="the file was cut short, or is no ONNX model",
            )
        for domain in {node.domain for inner in graph.walk() for node in inner.nodes} - opsets.keys():
            raise FormatError(
                f"{self.file}: expected operator sets of all domains in use, found none of {shown(domain)}",
                hint="the file was cut short, or is no ONNX model",
            )
        return Model(graph, opsets, functions)

    def _fields(self, begin: int, end: int) -> Iterator[Field]:
        for found in fields(self.window, begin, end):
            self._left -= 1
            if self._left < 0:
                raise UnsupportedError(f"{self.file}: expected a graph of at most {MAX_FIELDS:,} fields, found more")
            yield found

    def _opset(self, part: Field) -> dict[str, int]:
        domain, version = "", 0
        for found in self._fields(part.begin, part.end):
            if found.number == 1:
                domain = text(self.window, found)
            elif found.number == 2:
                version = signed(found.value)
        return {"" if domain == "ai.onnx" else domain: version}

    def _graph(self, graph: Graph, part: Field, depth: int) -> None:
        if depth > MAX_DEPTH:
            raise UnsupportedError(f"{self.file}: expected graphs at most {MAX_DEPTH} deep, found them deeper")
        graph.read_rank = self._rank
        for found in self._fields(part.begin, part.end):
            if found.number == 1 and found.wire == LEN:
                self._node(graph, found, depth)
            elif found.number == 5 and found.wire == LEN:
                self._keep(graph.tensors, self._tensor(found))
            elif found.number in {11, 12, 13} and found.wire == LEN and self._values:  # inputs, outputs, values between
                self._values -= 1
                graph.values.append(found)

    def _rank(self, part: Field) -> tuple[str, int | None]:
        """A value's name, and its rank where its shape is written: ValueInfoProto.type.tensor_type.shape, a field per axis."""
        name, at = "", [part]
        self._left += VALUE_FIELDS  # a graph that is just small enough still is when its shapes are read
        for found in self._fields(part.begin, part.end):
            if found.number == 1:
                name = text(self.window, found)
        for wanted in ((2, LEN), (1, LEN), (2, LEN)):
            at = [f for outer in at for f in self._fields(outer.begin, outer.end) if (f.number, f.wire) == wanted]
        return name, sum(found.number == 1 for found in self._fields(at[-1].begin, at[-1].end)) if at else None

    def _tensor(self, part: Field, name: str | None = None) -> Tensor | None:
        return read_tensor(self.window, self._fields(part.begin, part.end), Range(part.begin, part.end), name)

    def _keep(self, tensors: dict[str, Tensor], tensor: Tensor | None) -> None:
        self._tensors -= 1
        if self._tensors < 0:
            raise UnsupportedError(f"{self.file}: expected at most {MAX_TENSORS:,} tensors, found more")
        if tensor is None:
            return
        if not tensor.name or tensor.name in tensors:
            raise FormatError(f"{self.file}: expected one tensor of each name, found {shown(tensor.name)} again")
        tensors[tensor.name] = tensor

    def _count_node(self) -> None:
        self._nodes -= 1
        if self._nodes < 0:
            raise UnsupportedError(f"{self.file}: expected at most {MAX_NODES:,} nodes, found more")

    def _node(self, graph: Graph, part: Field, depth: int) -> None:
        self._count_node()
        inputs: list[str] = []
        outputs: list[str] = []
        words = {3: "", 4: "", 7: ""}  # name, operator, domain
        attributes: dict[str, float | int | list[int]] = {}
        constant: Field | None = None
        for found in self._fields(part.begin, part.end):
            if found.number in {1, 2}:
                (inputs if found.number == 1 else outputs).append(text(self.window, found))
            elif found.number in words:
                words[found.number] = text(self.window, found)
            elif found.number == 5 and found.wire == LEN:
                constant = self._attribute(graph, found, depth, attributes) or constant
        if not words[4]:
            raise FormatError(f"{self.file}: byte {part.begin:,}: expected a node with an operator, found none")
        domain = "" if words[7] == "ai.onnx" else words[7]
        graph.add(Node(words[3], words[4], domain, tuple(inputs), tuple(outputs), attributes), self.file)
        if constant is not None and words[4] == "Constant" and outputs:
            self._keep(graph.constants, self._tensor(constant, outputs[0]))

    def _attribute(
        self, graph: Graph, part: Field, depth: int, attributes: dict[str, float | int | list[int]]
    ) -> Field | None:
        """Puts a number or a list of them into `attributes`, a graph into `graph`; gives the place of a tensor."""
        name = ""
        many: list[int] = []
        value: float | int | None = None
        tensor: Field | None = None
        for found in self._fields(part.begin, part.end):
            if found.number == 1:
                name = text(self.window, found)
            elif (found.number, found.wire) == (2, I32):
                value = _float(found.value)
            elif (found.number, found.wire) == (3, VARINT):
                value = signed(found.value)
            elif found.number == 8 and len(many) < MAX_LIST:
                many += self._ints(found)
            elif found.number == 5 and found.wire == LEN:
                tensor = found
            elif found.number in {6, 11} and found.wire == LEN:
                self._count_node()
                branch = Graph(graph)
                graph.branches.append(branch)
                self._graph(branch, found, depth + 1)
        if many:
            attributes[name] = many
        elif value is not None:
            attributes[name] = value
        return tensor

    def _ints(self, found: Field) -> list[int]:
        """Numbers of a list, one to a field or all in one."""
        if found.wire == VARINT:
            return [signed(found.value)]
        numbers: list[int] = []
        data, at = self.window.bytes(found.begin, min(found.end, found.begin + 10 * MAX_LIST)), 0
        while at < len(data) and len(numbers) < MAX_LIST:
            number, at = varint(data, at, self.file)
            numbers.append(signed(number))
        return numbers


def _float(bits: int) -> float:
    value: float = struct.unpack("<f", bits.to_bytes(4, "little"))[0]
    return value
