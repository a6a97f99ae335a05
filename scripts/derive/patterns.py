"""Names over indexes: which numbers in a tensor's name count something, what they count, and what lies beside what."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from . import shrink
from . import variations as varying

if TYPE_CHECKING:
    from collections.abc import Iterable

    from .variations import Varied

Indexes = tuple[int, ...]
# Lists that models fill by a number or a list of their config even where no variation could show it.
_LISTS = ("layers", "layer", "blocks", "block", "h", "stages", "encoders", "decoders", "layer_stack", "experts")


@dataclass(frozen=True)
class Pattern:
    """A name with its counted numbers taken out: `("layers", None, "norm")`."""

    tokens: tuple[str | None, ...]

    def parents(self) -> list[tuple[str | None, ...]]:
        """For each index, what stands before it."""
        return [self.tokens[:i] for i, token in enumerate(self.tokens) if token is None]


class Patterns:
    """The names of a type's base model and all its variations."""

    def __init__(self, varied: Varied) -> None:
        self.varied = varied
        self.surveys = [varied.base, *(each.survey for each in varied.variations)]
        self.configs = [varied.config, *(each.config for each in varied.variations)]
        self.names = [sorted({*survey.tensors, *survey.sites}) for survey in self.surveys]
        self.counted: set[tuple[str | None, ...]] = set()
        while self._grow():
            pass
        self._splits: dict[str, tuple[Pattern, Indexes]] = {}
        self._trees: dict[int, dict[tuple[str | None, ...], dict[Indexes, set[str]]]] = {}
        self.keys: dict[tuple[str | None, ...], str] = {}
        for parent in self.counted:
            key = self._count_key(parent)
            if key is not None:
                self.keys[parent] = key

    def split(self, name: str) -> tuple[Pattern, Indexes]:
        """A name's pattern, and the numbers that were taken out."""
        if name not in self._splits:
            self._splits[name] = self._split(name)
        return self._splits[name]

    def _split(self, name: str) -> tuple[Pattern, Indexes]:
        tokens: list[str | None] = []
        found: list[int] = []
        for token in name.split("."):
            if token.isdigit() and tuple(tokens) in self.counted:
                found.append(int(token))
                tokens.append(None)
            else:
                tokens.append(token)
        return Pattern(tuple(tokens)), tuple(found)

    def _children(self) -> dict[tuple[str | None, ...], list[dict[Indexes, set[int]]]]:
        """Every list (a parent of numbers) → per survey, the numbers under each of its places."""
        seen: dict[tuple[str | None, ...], list[dict[Indexes, set[int]]]] = {}
        for at, names in enumerate(self.names):
            for name in names:
                tokens: list[str | None] = []
                place: list[int] = []
                for token in name.split("."):
                    if token.isdigit():
                        rows = seen.get(tuple(tokens))
                        if rows is None:
                            rows = seen[tuple(tokens)] = [defaultdict(set) for _ in self.names]
                        rows[at][tuple(place)].add(int(token))
                        if tuple(tokens) not in self.counted:
                            tokens.append(token)
                            continue
                        place.append(int(token))
                        tokens.append(None)
                    else:
                        tokens.append(token)
        return seen

    def _grow(self) -> bool:
        for parent, rows in self._children().items():
            if parent in self.counted:
                continue
            sets = [numbers for row in rows for numbers in row.values()]
            whole = all(numbers == set(range(len(numbers))) for numbers in sets)
            varies = len({len(numbers) for numbers in sets}) > 1
            listed = bool(parent[-1:]) and parent[-1] in _LISTS
            usual = parent[-1:] and parent[-1] in _LISTS and None not in parent and max(map(len, sets)) > 1
            if whole and ((varies and (listed or self._alike(parent))) or (usual and self._alike(parent))):
                self.counted.add(parent)
                return True
        return False

    def _alike(self, parent: tuple[str | None, ...]) -> bool:
        """Whether the list's children have tensors in common: a list of layers, not steps of different kinds."""
        inner: dict[str, set[str]] = defaultdict(set)
        depth = len(parent)
        for name in self.names[0] if any(len(n.split(".")) > depth for n in self.names[0]) else self.names[-1]:
            tokens = name.split(".")
            if tokens[-1] == "bias":
                continue  # layers of any kind have one
            if len(tokens) > depth and tokens[depth].isdigit() and self._matches(tokens[:depth], parent):
                shape = (self.surveys[0].tensors or {}).get(name, ())
                inner[tokens[depth]].add(f"{'.'.join(tokens[depth + 1 :])}:{len(shape)}")
        groups = list(inner.values())
        return (
            len(groups) < 2
            or any(groups[0] & other for other in groups[1:])
            or any(one & other for i, one in enumerate(groups) for other in groups[i + 1 :])
        )

    @staticmethod
    def _matches(tokens: list[str], parent: tuple[str | None, ...]) -> bool:
        return all(theirs is None or ours == theirs for ours, theirs in zip(tokens, parent, strict=True))

    def _count_key(self, parent: tuple[str | None, ...]) -> str | None:
        """The config key that is the number of the list's children in every variation."""
        rows = self._children().get(parent, [])
        counts = [{len(numbers) for numbers in row.values()} for row in rows]
        if any(len(count) > 1 for count in counts):
            return None
        sizes = [next(iter(count), None) for count in counts]
        worked_out = [
            key for key in sorted(shrink.layer_keys()) if isinstance(varying.get(self.varied.config, key), int)
        ]
        fitting = [
            key
            for key in dict.fromkeys((*(key for key, _ in integers(self.varied.config)), *worked_out))
            if all(
                size is None or varying.get(config, key) == size
                for size, config in zip(sizes, self.configs, strict=True)
            )
        ]
        moved = {each.key for each, size in zip(self.varied.variations, sizes[1:], strict=True) if size != sizes[0]}
        return next((key for key in fitting if key in moved), fitting[0] if fitting and len(set(sizes)) > 1 else None)

    def places(self, survey_at: int, prefix: tuple[str | None, ...], without: Iterable[str] = ()) -> set[Indexes]:
        """Where (under which numbers) a survey has tensors whose names start so, but those `without`."""
        skipped = set(without)
        rows = self._tree(survey_at).get(prefix, {})
        return {at for at, names in rows.items() if names - skipped}

    def _tree(self, survey_at: int) -> dict[tuple[str | None, ...], dict[Indexes, set[str]]]:
        """Every beginning of a survey's names → the numbers in it → the names."""
        if survey_at not in self._trees:
            tree: dict[tuple[str | None, ...], dict[Indexes, set[str]]] = {}
            for name in self.surveys[survey_at].tensors:
                pattern, indexes = self.split(name)
                for i in range(1, len(pattern.tokens)):
                    prefix = pattern.tokens[:i]
                    at = indexes[: sum(token is None for token in prefix)]
                    tree.setdefault(prefix, {}).setdefault(at, set()).add(name)
            self._trees[survey_at] = tree
        return self._trees[survey_at]


def integers(config: Any, path: str = "") -> list[tuple[str, int]]:
    """(dotted key, value) of every whole number that a config holds, however deep."""
    found = []
    for key, value in vars(config).items():
        if isinstance(value, int) and not isinstance(value, bool) and not key.startswith("_"):
            found.append((f"{path}{key}", value))
        elif hasattr(value, "to_dict") and hasattr(value, "model_type"):
            found += integers(value, f"{path}{key}.")
    return found
