"""One family's table held against one checkpoint: its names, its sizes, its config. A model inside a model has its own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from ln_audit.errors import FamilyError
from ln_audit.families import containers, layouts
from ln_audit.families.names import Names
from ln_audit.families.recognise import index, load
from ln_audit.families.sizes import Resolved, resolve
from ln_audit.families.spelling import Spelling, spelling, unwrap
from ln_audit.formats.config import Config
from ln_audit.formats.shown import shown

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from ln_audit.core import Checkpoint
    from ln_audit.families.schema import Condition, Family, Part, Promise

_DEEPEST = 4  # models inside models: an omni model's thinker holds towers, and that is all


@dataclass(frozen=True, slots=True)
class Reading:
    """A family as one checkpoint has it. `main`: a recording may be taken to be of its final norm.

    `stated` is the config that its loader reads: the container's own where it has one, else `config`.
    """

    family: Family
    config: Config | None
    stated: Config | None
    names: Names
    spelling: Spelling
    sizes: Mapping[str, Resolved]
    stack: str | None = None
    main: bool = True
    without: tuple[str, ...] = ()
    within: str = ""  # where its config stands in the whole's: `text_config.`

    @property
    def keys(self) -> tuple[str, ...]:
        """The keys of the whole's config that the norms of this reading depend on, dotted where they are nested."""
        family = self.family
        sizes = [key for size in family.sizes.values() for key in (size.key, *size.aliases)]
        conditions = [condition.key for promise in family.norms for condition in promise.when]
        own = dict.fromkeys(("model_type", *sizes, *family.epsilon_keys, *conditions))
        return tuple(self.within + key for key in own)

    def can_say(self, key: str) -> bool:
        """Whether the config that is read could hold `key`: a container's own has only what its table lists."""
        if self.stated is None:
            return False
        names = self.spelling.view.names
        return self.stated is self.config or names is None or key in names.config

    def holds(self, when: Sequence[Condition]) -> bool | None:
        """Whether all conditions hold; None where a config that does not exist would have to say so.

        A config that says nothing of the class is one of the usual class.
        """
        known = True
        for condition in when:
            if condition.key == "architectures" and not self.can_say(condition.key):
                if not condition.holds(None):
                    return False
            elif not self.can_say(condition.key):
                known = False
            elif self.stated is not None and not condition.holds(self.stated.get(condition.key)):
                return False
        return True if known else None

    def has(self, beginning: str, *, rooted: bool = False) -> bool:
        """Whether the checkpoint holds a tensor of this beginning, under any prefix that a loader accepts."""
        prefixes = ("",) if rooted else self.spelling.prefixes
        return any(self.names.holds(prefix + beginning) for prefix in prefixes)

    def promises(self) -> Iterator[Promise]:
        """The rows of the family that this reading has, but those that its container keeps in another form, or not at all."""
        names = self.spelling.view.names
        without = self.without if names is None else (*self.without, *names.without)
        return (promise for promise in self.family.norms if promise.name not in without)


def readings(family: Family, config: Config | None, checkpoint: Checkpoint) -> tuple[Reading, ...]:
    """The whole's reading and those of its parts.

    Raises `FamilyError` when sizes are no sizes, when the names are not the container's, or a main part is unknown.
    """
    config = layouts.translated(checkpoint, family.name, config)
    view = containers.view(checkpoint, family.name)
    strange = view.uncovered
    if strange and len(strange) == len(checkpoint.tensors):
        told = f"expected the names that {checkpoint.format} has for {family.name}, found {shown(strange[0])}"
        raise FamilyError(f"{checkpoint.files[0]}: {told}")
    lacking = containers.missing_size(checkpoint, family.name, family.sizes)
    if lacking is not None:
        raise FamilyError(f"{checkpoint.files[0]}: {lacking}: expected a number, found no such key")
    known = list(view.actual)
    names = Names((*known, *(bare for name in known for bare in unwrap(name))))
    return tuple(_walk(family, config, checkpoint, names, view, _Inside(_exported_from(checkpoint))))


def _exported_from(checkpoint: Checkpoint) -> tuple[str, ...]:
    """What may stand in front of all names: in a graph, whose loaders look nothing up by name, also what an exporter's own module
    calls the model that it wraps (`inner.encoder.…`).
    """
    gains = [site.gain for site in checkpoint.norm_sites if site.gain is not None and "." in site.gain]
    words = {gain.partition(".")[0] for gain in gains}
    return ("", f"{words.pop()}.") if checkpoint.computes and len(words) == 1 and len(gains) > 1 else ("",)


class _Inside(NamedTuple):
    """Where a family stands in the whole: what is in front of its names, and what the whole says of it."""

    prefixes: tuple[str, ...] = ("",)
    stack: str | None = None
    main: bool = True
    without: tuple[str, ...] = ()
    depth: int = 0
    within: str = ""


def _walk(
    family: Family,
    config: Config | None,
    checkpoint: Checkpoint,
    names: Names,
    view: containers.View,
    inside: _Inside,
) -> Iterator[Reading]:
    stated = (None if inside.depth else containers.config(checkpoint, family.name)) or config
    prefixes = [outer + own for own in family.prefixes for outer in inside.prefixes]
    spelt = spelling(_probe(family), prefixes, view)
    own = view.names.config if view.names is not None and stated is not config else None
    sizes = resolve(family, stated, checkpoint, spelt, names, states=lambda key: own is None or key in own)
    yield Reading(family, config, stated, names, spelt, sizes, inside.stack, inside.main, inside.without, inside.within)
    for part in family.parts if inside.depth < _DEEPEST else ():
        if config is not None and not all(condition.holds(config.get(condition.key)) for condition in part.when):
            continue
        main = inside.main and (not family.main or part.stack in family.main)
        chosen = part_family(part, config, main=main)
        if chosen is not None:
            outer = tuple(before + own for own in part.prefixes for before in spelt.prefixes)
            path = f"{inside.within}{part.config}."
            within = _Inside(outer, part.stack or inside.stack, main, part.without, inside.depth + 1, path)
            yield from _walk(chosen, nested(config, part.config), checkpoint, names, view, within)


def unknown_parts(family: Family, config: Config | None) -> tuple[str, ...]:
    """Models inside the model that the config names and no table knows: they are not looked at."""
    found = []
    for part in family.parts:
        main = not family.main or part.stack in family.main
        if not main and config is not None and part_family(part, config, main=False) is None:
            found.append(f"{config.where}: {part.config}.model_type {shown(config.get(f'{part.config}.model_type'))}")
    return tuple(found)


def part_family(part: Part, config: Config | None, *, main: bool) -> Family | None:
    """The family of a part, by its own config's model_type; None for one that nobody knows and no verdict depends on.

    Raises `FamilyError` for an unknown one of the main stack.
    """
    stated = None if config is None else config.get(f"{part.config}.model_type")
    wanted = part.default if stated is None and config is not None else stated
    if isinstance(wanted, str):
        name = index()["model_types"].get(wanted) or (wanted if wanted in index()["families"] else None)
        if name is not None:
            return load(name)
    if not main:
        return None
    where = "no config" if config is None else f"{config.where}: {part.config}.model_type"
    raise FamilyError(f"{where}: expected a family that is known, found {shown(stated)}")


def nested(config: Config | None, key: str) -> Config | None:
    """The config inside a config, with its place in the file; empty where there is none: the loader takes its defaults."""
    if config is None:
        return None
    inner = config.get(key)
    return Config(inner if hasattr(inner, "keys") else {}, f"{config.where}: {key}")  # type: ignore[arg-type]


def _probe(family: Family) -> list[str]:
    """Names to tell the spelling by: those of the first layer, and those without a layer."""
    gains = [promise.tensors(promise.name.replace("{layer}", "0"))[0] for promise in family.norms if not promise.rooted]
    return [name for name in gains if name is not None] + list(family.recognised_by)
