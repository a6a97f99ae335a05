"""All that is derived of one type, put together as the table that `ln_audit.families.table` reads."""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING, Any

import transformers
from transformers import PreTrainedModel
from transformers.models.auto import modeling_auto as auto
from transformers.models.auto.configuration_auto import CONFIG_MAPPING

from . import parts, presence, shrink, sizes, tiny
from . import variations as varying
from .epsilons import Followed, follow
from .patterns import Patterns
from .roles import Roles
from .shapes import explain

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from .patterns import Indexes, Pattern
    from .presence import When
    from .survey import Site
    from .variations import Given, Varied

Row = dict[str, Any]
_MOST_CONDITIONS = 3


class Derived:
    """One type's table in the making. `notes` say what could not be told."""

    def __init__(self, model_type: str) -> None:
        self.model_type = model_type
        self.notes: list[str] = []
        self.sizes = sizes.Sizes(model_type)
        self.flat: set[str] = set()
        self.rows: list[Row] = []
        self.varied = varying.vary(model_type)
        self.parts = parts.find(self.varied)
        self.flat = parts.flat_keys(self.varied, self.parts)
        self.sizes.flat = self.flat
        self.base = self.varied.base.base or parts.text_base(self.varied, self.parts)
        self.level(self.varied, ())

    def level(self, varied: Varied, when: tuple[When, ...]) -> None:
        """Rows for the norms of this base; then for those that one change more brings."""
        level = Level(self, varied, when)
        done = {(row["name"], row["kind"], row["bias"], row["gain"]) for row in self.rows}
        for row in level.rows():
            if (row["name"], row["kind"], row["bias"], row["gain"]) not in done:
                self.rows.append(row)
        if len(when) >= 2:
            return
        for given, condition in level.more():
            if any(condition.key == other.key for other in when):
                continue
            try:
                again = varying.vary(self.model_type, given, varied.kinds)
            except Exception as error:  # noqa: BLE001 - meta was built, the real one cannot be
                self.notes.append(f"{condition.key}: {type(error).__name__}")
                continue
            self.level(again, (*when, condition))


class Level:
    """The norms of one base model of a type and what its variations say of them."""

    def __init__(self, derived: Derived, varied: Varied, when: tuple[When, ...]) -> None:
        self.derived = derived
        self.varied = varied
        self.when = when
        self.patterns = Patterns(varied)
        self.roles = Roles(varied, self.patterns)
        self.epsilons = follow(varied)
        self.base = derived.base
        self.sites = [site for site in varied.base.sites.values() if not parts.inside(derived.parts, site)]

    def rows(self) -> list[Row]:
        groups: dict[tuple[Pattern, Any], dict[Indexes, Site]] = {}
        for site in self.sites:
            pattern, at = self.patterns.split(site.stem)
            groups.setdefault((pattern, _promise(site)), {})[at] = site
        known = {row["name"] for row in self.derived.rows} if self.when else set()
        rows = [self._row(pattern, sites) for (pattern, _), sites in groups.items()]
        fresh = [row for row in rows if row is not None and (not self.when or self._new(row, known))]
        return sorted(fresh, key=lambda row: row["role"] == "final")

    def _new(self, row: Row, known: set[str]) -> bool:
        """Behind a change only what the change brought: another name, or another kind under a known one."""
        same = [other for other in self.derived.rows if other["name"] == row["name"]]
        keys = ("kind", "gain", "bias", "weight_offset")
        return row["name"] not in known or all(any(row[key] != other[key] for key in keys) for other in same)

    def _row(self, pattern: Pattern, sites: Mapping[Indexes, Site]) -> Row | None:
        site = next(iter(sites.values()))
        measured = site.measured
        if measured is None:
            return None
        shapes, there = self._over_surveys(pattern, site)
        width = explain(self.patterns, shapes, pattern) if site.gain else None
        indexes = self._indexes(pattern)
        bare, rooted = self._bare(pattern, indexes)
        row: Row = {"name": bare, "role": self.roles.role(site), "stack": self.roles.stack(site)}
        row["kind"] = measured.kind
        row |= self._counted(pattern, indexes)
        row["gain"] = "required" if site.gain else "none"
        row["bias"] = "required" if site.bias else "none"
        row["leaf"], row["bias_leaf"] = site.gain or "weight", site.bias or "bias"
        row["weight_offset"] = measured.offset
        row["chain"] = measured.chain
        if width is not None:
            row |= self._shape(width, indexes, site)
        ignored = set(width.product) | set(width.over) if width else set()
        ignored |= set(self.patterns.keys.values())
        alive = [any(found) if found is not None else False for found in there[1:]]
        when = presence.conditions(self.varied.variations, self._there(alive, there), {str(key) for key in ignored})
        row["when"] = self._when((*self.when, *when))
        without = presence.nulled(self.varied.variations, self._there(alive, there))
        beside = presence.beside(self.patterns, pattern, [each or set() for each in there], without, outside=rooted)
        if beside is not None:
            row["beside"] = _named(beside[len(self.base) :] if not rooted else beside, indexes)
        row["rooted"] = rooted
        row["epsilon"] = self._flattened(self.epsilons.get(site.stem, Followed((), measured.eps)))
        return row

    def _flattened(self, epsilon: Followed) -> Followed:
        """With the keys at the config's top that its class reads as nested ones."""
        flat = [key.partition(".")[2] for key in epsilon.keys if key.partition(".")[0] in self.derived.flat]
        return Followed((*epsilon.keys, *flat), epsilon.default)

    def _there(self, alive: Sequence[bool], there: Sequence[set[Indexes] | None]) -> list[bool]:
        """A variation without any layer of the pattern says nothing of a condition."""
        return [bool(found) for found in there[1:]] if alive else []

    def _over_surveys(
        self, pattern: Pattern, site: Site
    ) -> tuple[list[dict[Indexes, tuple[int, ...]]], list[set[Indexes] | None]]:
        """Per survey: the gain's shapes by their indexes, and where the norm is."""
        shapes: list[dict[Indexes, tuple[int, ...]]] = []
        there: list[set[Indexes] | None] = []
        unit = (site.gain, site.bias)
        for survey in self.patterns.surveys:
            found = {}
            for other in survey.sites.values():
                theirs, at = self.patterns.split(other.stem)
                if theirs == pattern and (other.gain, other.bias) == unit:
                    found[at] = other.shape
            shapes.append(found)
            there.append(set(found))
        return shapes, there

    def _indexes(self, pattern: Pattern) -> list[str]:
        """Names for a pattern's indexes: `layer` for what counts layers, else what its list is called."""
        names: list[str] = []
        parents = pattern.parents()
        for i, parent in enumerate(parents):
            key = self.patterns.keys.get(parent, "")
            name = re.sub(r"[^a-z]", "", str(next((t for t in reversed(parent) if t is not None), "item")).lower())
            name = {"norms": "head", "h": "layer", "layers": "layer", "blocks": "block"}.get(name, name.rstrip("s"))
            if key.rpartition(".")[2] in shrink.layer_keys() or len(parents) == 1:
                name = "layer"
            names.append(name if name and name not in names else f"{name or 'item'}{'abcdef'[i]}")
        return names

    def _bare(self, pattern: Pattern, indexes: list[str]) -> tuple[str, bool]:
        whole = _named(".".join("*" if token is None else token for token in pattern.tokens), indexes)
        if not self.base:
            return whole, False
        return (whole[len(self.base) :], False) if whole.startswith(self.base) else (whole, True)

    def _counted(self, pattern: Pattern, indexes: list[str]) -> Row:
        """`layers` and `counts`: what counts each index."""
        row: Row = {}
        for parent, name in zip(pattern.parents(), indexes, strict=True):
            key = self.patterns.keys.get(parent)
            if key is None:
                continue
            prefix = ".".join("*" if token is None else token for token in parent).removeprefix(self.base)
            self.derived.sizes.need(key, self.varied, count=f"{prefix}.{{layer}}." if "*" not in prefix else None)
            if name == "layer":
                row["layers"] = key
            else:
                row.setdefault("counts", {})[name] = key
        return row

    def _shape(self, width: Any, indexes: list[str], site: Site) -> Row:
        if width.like is not None:
            pattern, axis = width.like
            name = _named(".".join("*" if token is None else token for token in pattern.tokens), indexes)
            bare = name[len(self.base) :] if self.base and name.startswith(self.base) else name
            return {"like": {"tensor": bare, "axis": axis}}
        if not width.product:
            self.derived.notes.append(f"{site.stem}: no key and no neighbour tells its width")
            return {"shape": [self.derived.sizes.computed(self._width_name(site), (), ())]}
        for key in (*width.product, *width.over):
            if isinstance(key, str):
                self.derived.sizes.need(key, self.varied, base=self.base)
        if width.instead is not None:
            self.derived.sizes.rows[width.instead] = {"product": list(width.product), "over": list(width.over)}
            return {"shape": [width.instead]}
        if not width.over:
            return {"shape": list(width.product)}
        return {"shape": [self.derived.sizes.computed(self._width_name(site), width.product, width.over)]}

    @staticmethod
    def _width_name(site: Site) -> str:
        last = next(token for token in reversed(site.stem.split(".")) if not token.isdigit())
        return f"{last.lower()}_width"

    def _when(self, when: Sequence[When]) -> list[Row]:
        rows = []
        for each in dict.fromkeys(when):
            row: Row = {"key": each.key, "op": each.op}
            if each.value is not None:
                row["value"] = each.value
            default = varying.get(default_config(self.derived.model_type), each.key)
            if isinstance(default, (bool, int, float, str)):
                row["default"] = default
            rows.append(row)
        return rows[:_MOST_CONDITIONS]

    def more(self) -> list[tuple[Given, When]]:
        """Changes that bring norms that the base has not: the first change for each set of new ones."""
        own = {(self.patterns.split(site.stem)[0], _unit(site)) for site in self.varied.base.sites.values()}
        seen: set[Any] = set()
        found = []
        for each in self.varied.variations:
            deep = each.key.rpartition(".")[2] in shrink.layer_keys()
            if deep or each.key in self.patterns.keys.values() or isinstance(each.value, (list, tuple)):
                continue
            theirs = {
                (self.patterns.split(site.stem)[0], _unit(site))
                for site in each.survey.sites.values()
                if not parts.inside(self.derived.parts, site)
            }
            fresh = theirs - own - seen
            if fresh:
                seen |= fresh
                found.append(((*self.varied.given, (each.key, each.value)), presence.enabling(each)))
        return found


def _unit(site: Site) -> tuple[Any, ...]:
    return (site.gain, site.bias, site.cls)


def _promise(site: Site) -> tuple[Any, ...]:
    measured = site.measured
    return (site.gain, site.bias, measured and (measured.kind, measured.offset, measured.chain))


def _named(name: str, indexes: Sequence[str]) -> str:
    for index in indexes:
        name = name.replace("*", f"{{{index}}}", 1)
    return name


def default_config(model_type: str) -> Any:
    """The class's config as it is without any key."""
    try:
        return CONFIG_MAPPING[model_type]()
    except Exception:  # noqa: BLE001 - a class that needs a key
        return tiny.tiny_config(model_type)


def architectures(model: Any) -> list[str]:
    """Every class that the auto mappings or the model's own module have for its config."""
    config = type(model.config)
    found: dict[str, None] = {}
    for name in sorted(dir(auto)):
        if name.startswith("MODEL_") and name.endswith("_MAPPING_NAMES"):
            classes = getattr(auto, name).get(config.model_type, ())
            found |= dict.fromkeys(classes if isinstance(classes, (list, tuple)) else [classes])
    module = sys.modules[type(model).__module__]
    for name in getattr(module, "__all__", ()):
        cls = getattr(module, name)
        if isinstance(cls, type) and issubclass(cls, PreTrainedModel) and cls.config_class is config:
            found[name] = None
    return sorted(name for name in found if not name.endswith(("PreTrainedModel", "Backbone")))


def version() -> str:
    return ".".join(transformers.__version__.split(".")[:2])
