"""The sizes of a table: each key with its other spellings, the class's default, and what tells it without a config."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from transformers.models.auto.configuration_auto import CONFIG_MAPPING

from . import tiny
from . import variations as varying
from .patterns import integers
from .shapes import formula

if TYPE_CHECKING:
    from .variations import Varied


class Sizes:
    """The `[sizes]` of one table, collected as rows need them."""

    def __init__(self, model_type: str) -> None:
        self.model_type = model_type
        self.rows: dict[str, dict[str, Any]] = {}
        self.flat: set[str] = set()  # nested configs whose keys may stand at the top

    def need(self, key: str, varied: Varied, *, count: str | None = None, base: str = "") -> None:
        """Have a row for a config key."""
        if key not in self.rows:
            self.rows[key] = self._row(key, varied, base)
        if count is not None and "{layer}" not in self.rows[key].get("count", ""):
            self.rows[key]["count"] = count

    def computed(self, name: str, product: tuple[str | int, ...], over: tuple[str | int, ...]) -> str:
        """Have a row for a width that the model works out; returns its key."""
        row = {"computed": True, "product": list(product), "over": list(over)}
        at = next((key for key, other in self.rows.items() if other == row), name)
        while at in self.rows and self.rows[at] != row:
            at += "_"
        self.rows[at] = row
        return at

    def _row(self, key: str, varied: Varied, base: str) -> dict[str, Any]:
        row: dict[str, Any] = {}
        aliases = self._aliases(key)
        if aliases:
            row["aliases"] = aliases
        derived = self._derived(key, varied)
        if derived is not None:
            row["product"], row["over"] = list(derived[0]), list(derived[1])
            for other in (*derived[0], *derived[1]):
                if isinstance(other, str):
                    self.need(other, varied, base=base)
            if not row["over"]:
                row.pop("over")
        else:
            default = varying.get(self._default(), key)
            if isinstance(default, int) and not isinstance(default, bool) and default > 0:
                row["default"] = default
        tensor = self._tensor(key, varied, base)
        if tensor is not None:
            row["tensor"], row["axis"] = tensor
        return row

    def _default(self) -> Any:
        try:
            return CONFIG_MAPPING[self.model_type]()
        except Exception:  # noqa: BLE001 - a class that needs a key
            return tiny.tiny_config(self.model_type)

    def _aliases(self, key: str) -> list[str]:
        """Other keys that the class reads as this one."""
        *path, last = key.split(".")
        part = self._default()
        for each in path:
            part = getattr(part, each, None)
        mapped = getattr(type(part), "attribute_map", {})
        spelt = [".".join([*path, other]) for other, own in mapped.items() if own == last]
        return spelt + [each.partition(".")[2] for each in (key, *spelt) if path and path[0] in self.flat]

    def _derived(self, key: str, varied: Varied) -> tuple[tuple[str | int, ...], tuple[str | int, ...]] | None:
        """The product that the class works out where the key is absent; None where it takes a number."""
        points = []
        moving = set()
        try:
            config = varying.configured(varied.model_type, varied.given, without=key)
        except Exception:  # noqa: BLE001 - a key that must be there
            return None
        own = varying.get(config, key)
        if not isinstance(own, int):
            return None
        points.append((config, own))
        scope = key.rpartition(".")[0]
        for other, value in integers(config):
            if other == key or other.rpartition(".")[0] != scope or value <= 0:
                continue
            try:
                given = (*varied.given, (other, value * 2))
                changed = varying.configured(varied.model_type, given, without=key)
            except Exception:  # noqa: BLE001 - not every combination is a config
                continue
            found = varying.get(changed, key)
            if isinstance(found, int) and varying.get(changed, other) == value * 2:
                points.append((changed, found))
                if found != own:
                    moving.add(other)
        if not moving:
            return None
        width = formula(points, moving, without=key)
        return None if width is None else (width.product, width.over)

    def _tensor(self, key: str, varied: Varied, base: str) -> tuple[str, int] | None:
        """A tensor without indexes, one of whose axes is this size in every variation: the embedding first."""
        configs = [varied.config, *(each.config for each in varied.variations)]
        surveys = [varied.base, *(each.survey for each in varied.variations)]
        if not any(each.key == key for each in varied.variations):
            return None
        vocabulary = getattr(varied.config, "vocab_size", None)
        for name in sorted(varied.base.tensors, key=lambda name: varied.base.tensors[name][:1] != (vocabulary,)):
            if any(token.isdigit() for token in name.split(".")) or not name.startswith(base):
                continue
            for axis, size in list(enumerate(varied.base.tensors[name]))[::-1]:
                if size == varying.get(varied.config, key) and all(
                    _axis(survey.tensors.get(name), axis) == varying.get(config, key)
                    for survey, config in zip(surveys, configs, strict=True)
                    if name in survey.tensors
                ):
                    return name[len(base) :], axis
        return None


def _axis(shape: tuple[int, ...] | None, axis: int) -> int | None:
    return shape[axis] if shape is not None and len(shape) > axis else None
