"""The shape of a family table: what a model family promises of its norms, as data. Nothing in it is evaluated.

A table is a TOML file (`families/data/*.toml`, or the caller's own); `table.py` reads it. Shapes are products of config keys,
conditions are lists of `{key, op, value}` that must all hold, names are patterns over `{layer}` and other indexes.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping

Role = Literal["final", "block", "embedding", "qk", "other"]
KINDS = ("layer_norm", "rms_norm", "l2_norm", "gated_rms_norm", "group_norm", "batch_norm")
OPERATIONS = ("eq", "ne", "in", "contains", "missing", "truthy")
CHOICES: dict[str, tuple[str | None, ...]] = {
    "role": ("final", "block", "embedding", "qk", "other"),
    "gain": ("required", "none"),
    "bias": ("required", "optional", "none"),
    "kind": KINDS,
    "chain": (None, "once", "before_gain", "other"),  # as `numerics.cells.CHAINS`; not imported, tables need no numpy
}
_INDEX = re.compile(r"\{([a-z]+)\}")


@dataclass(frozen=True, slots=True)
class Condition:
    """One condition on a config key; `op` is eq, ne, in, contains, missing or truthy.

    `default` is what the loader takes where the config does not have the key.
    """

    key: str
    op: str
    value: Any = None
    default: Any = None

    def holds(self, found: object) -> bool:
        """Whether the config's value (None when the key is absent) meets the condition."""
        if found is None:
            found = self.default
        if isinstance(found, list):  # as a table holds its own
            found = tuple(found)
        match self.op:
            case "eq":
                return bool(found == self.value)
            case "ne":
                return bool(found != self.value)
            case "in":
                return found in self.value
            case "contains":
                if isinstance(found, str):
                    return isinstance(self.value, str) and self.value in found
                return isinstance(found, (list, tuple)) and self.value in found
            case "missing":
                return found is None
            case _:
                return bool(found)


@dataclass(frozen=True, slots=True)
class Size:
    """A number that shapes follow: a config key, its other spellings, and what else tells it.

    Where the config has no such key the loader takes `default`, or the product of the sizes in `product` divided by those in
    `over` (`head_dim`: hidden_size over num_attention_heads). Without a config, the axis of `tensor` tells it, or the number
    of layers that match `count`. A `computed` size is never looked up: the model works it out whatever the config says.
    """

    key: str
    aliases: tuple[str, ...] = ()
    default: int | None = None
    tensor: str | None = None
    axis: int = 0
    count: str | None = None
    product: tuple[str | int, ...] = ()
    over: tuple[str | int, ...] = ()
    computed: bool = False


@dataclass(frozen=True, slots=True)
class Epsilon:
    """Where epsilon is written, and what the loader takes when the key is absent; without keys it is fixed in the code.

    `null` is "machine" where a null means the machine epsilon of the input's dtype (torch's RMSNorm); elsewhere null is wrong.
    """

    keys: tuple[str, ...] = ()
    default: float | None = None
    null: Literal["machine"] | None = None


@dataclass(frozen=True, slots=True)
class Neighbour:
    """A tensor whose axis has the width of a norm that no config key tells: the layer that reads or writes it."""

    tensor: str
    axis: int = 0


@dataclass(frozen=True, slots=True)
class Promise:
    """One norm, or one for each value of the indexes in its name, that the family promises.

    `layers` counts `{layer}`, from the size `first` on if that is given; `counts` names the sizes that count other indexes
    (`{head}`, `{expert}`, …). An index that nothing counts takes every value that the tensors under `beside` have. With
    `beside`, the norm is required only where the checkpoint holds a tensor of that beginning (a hybrid's attention layers).
    The width is the product of `shape`, or that of the tensor `like`. `rooted`: the family's prefixes do not apply.
    `epsilon` names one of the family's `epsilons` where it is not the usual one. `leaf` and `bias_leaf` are what the parameters
    are called under the name; an empty one means that the name itself is the tensor's.
    """

    name: str
    role: Role
    kind: str
    shape: tuple[str | int, ...] = ()
    stack: str | None = "decoder"
    layers: str | None = None
    gain: Literal["required", "none"] = "required"
    bias: Literal["required", "optional", "none"] = "none"
    weight_offset: float = 0.0
    chain: str | None = None
    when: tuple[Condition, ...] = ()
    like: Neighbour | None = None
    first: str | None = None
    counts: Mapping[str, str] = field(default_factory=dict)
    beside: str | None = None
    rooted: bool = False
    epsilon: str | None = None
    leaf: str = "weight"
    bias_leaf: str = "bias"

    def tensors(self, bare: str) -> tuple[str | None, str | None]:
        """The names of the gain and the bias of the norm that is called `bare`; None for one that it does not have."""
        gain = f"{bare}.{self.leaf}" if self.leaf else bare
        bias = f"{bare}.{self.bias_leaf}" if self.bias_leaf else bare
        return (None if self.gain == "none" else gain, None if self.bias == "none" else bias)

    @property
    def indexes(self) -> tuple[str, ...]:
        """The names of the indexes in `name`, in order: `layer`, `head`, …"""
        return tuple(_INDEX.findall(self.name))


@dataclass(frozen=True, slots=True)
class Part:
    """A model inside the model, with a family of its own: a vision tower, the language model of a multimodal shell.

    Its family is that of `model_type` in the nested config `config`, `default` where that says nothing. `prefixes` are what
    stands before its tensors' names, behind the whole's own prefix; the usual one first. `without` lists norms of its family
    that this model does not build, or builds and never uses.
    """

    config: str
    prefixes: tuple[str, ...]
    stack: str | None = None  # None: as the part's own family says
    default: str | None = None
    without: tuple[str, ...] = ()
    when: tuple[Condition, ...] = ()


@dataclass(frozen=True, slots=True)
class Family:
    """All that one family promises, with the source of each fact in `source` and in the table's comments.

    `main` lists the stacks whose final norm a recording is taken to be of; empty, all are. Norms of other stacks are required
    only where the checkpoint holds tensors of that stack.
    """

    name: str
    title: str
    source: str
    norms: tuple[Promise, ...]
    sizes: Mapping[str, Size]
    epsilon: Epsilon
    epsilons: Mapping[str, Epsilon] = field(default_factory=dict)
    parts: tuple[Part, ...] = ()
    main: tuple[str, ...] = ()
    model_types: tuple[str, ...] = ()
    architectures: tuple[str, ...] = ()
    prefixes: tuple[str, ...] = ("",)
    recognised_by: tuple[str, ...] = ()
    buffers: tuple[str, ...] = ()
    tied: tuple[tuple[str, ...], ...] = ()
    tied_key: str | None = None
    tied_default: bool = False

    @property
    def epsilon_keys(self) -> tuple[str, ...]:
        """Every config key that writes one of the family's epsilons."""
        return tuple(dict.fromkeys(key for each in (self.epsilon, *self.epsilons.values()) for key in each.keys))
