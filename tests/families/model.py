"""Checkpoints without bytes, for tests of what families make of names and shapes."""

from collections.abc import Mapping

from ln_audit.core import Checkpoint, Norm, TensorInfo
from ln_audit.demand import Demand
from ln_audit.families.contract import contract
from ln_audit.families.reading import readings
from ln_audit.families.schema import Family
from ln_audit.formats.config import Config


def checkpoint(shapes: Mapping[str, tuple[int, ...]], dtype: str = "F32") -> Checkpoint:
    tensors = {name: TensorInfo(name, dtype, shape, 0) for name, shape in shapes.items()}
    return Checkpoint("safetensors", ("model.safetensors",), tensors, lambda names: {})


def config(**data: object) -> Config:
    return Config(data, "config.json")


def gpt2(prefix: str = "", layers: int = 2, width: int = 8) -> dict[str, tuple[int, ...]]:
    shapes: dict[str, tuple[int, ...]] = {f"{prefix}wte.weight": (16, width), f"{prefix}wpe.weight": (4, width)}
    for layer in range(layers):
        shapes[f"{prefix}h.{layer}.attn.bias"] = (1, 1, 4, 4)
        for name in ("ln_1", "ln_2"):
            shapes |= {f"{prefix}h.{layer}.{name}.{leaf}": (width,) for leaf in ("weight", "bias")}
    return shapes | {f"{prefix}ln_f.{leaf}": (width,) for leaf in ("weight", "bias")}


def promised(family: Family, given: Config | None, of: Checkpoint, demand: Demand = Demand()) -> tuple[Norm, ...]:  # noqa: B008 - frozen
    """What a family promises for a checkpoint: its readings and their norms in one step."""
    return contract(readings(family, given, of), of, demand)
