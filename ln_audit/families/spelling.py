"""How this checkpoint spells the names that a family promises: its prefix, and wrong spellings that still can be found."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from ln_audit.families.containers import View

_DATA = Path(__file__).with_name("data") / "names" / "wrong.toml"
_MOST_WRAPPERS = 8  # people nest two or three; a hostile name may not cost its length squared


class _Wrong(NamedTuple):
    """What `wrong.toml` says. `inner` are wrappers that may stand in the middle of a name."""

    wrappers: frozenset[str]
    inner: frozenset[str]
    leaves: Mapping[str, Sequence[str]]
    accepted: Mapping[str, Sequence[str]]
    modules: tuple[str, ...]  # whose names' ends let a loader read the accepted leaves


@lru_cache(maxsize=1)
def _wrong() -> _Wrong:
    table: Mapping[str, Any] = tomllib.loads(_DATA.read_text(encoding="utf-8"))
    accepted = dict(table["accepted"])
    modules = tuple(accepted.pop("modules"))
    return _Wrong(frozenset(table["wrappers"]), frozenset(table["inner"]), table["leaves"], accepted, modules)


@dataclass(frozen=True)
class Spelling:
    """The spelling of one checkpoint: `prefix` is the family's own; everything else that is found is misspelt."""

    prefix: str
    prefixes: tuple[str, ...]
    view: View

    def find(self, promised: str) -> tuple[str, str | None]:
        """(the name in the checkpoint, the name that the loader expects when it is another one).

        The loader accepts each of the family's prefixes for every tensor on its own (tried with transformers 5.24), and an
        old leaf behind some modules. A tensor that is nowhere keeps the name that the loader expects; the caller sees that it
        is not in the checkpoint.
        """
        actual = self.view.actual
        for spelt in self._accepted(promised):
            if spelt in actual:
                return self.view.spelt(spelt), None
        misspelt = self._misspelt(promised)
        return (self.view.spelt(self.prefix + promised), None) if misspelt is None else misspelt

    def copies(self, promised: str, taken: str) -> tuple[str, ...]:
        """Other tensors under a spelling of the same promised name, right or wrong: a loader may take one of those."""
        spelt = [prefix + each for prefix in self._prefixes for each in _with_leaves(promised)]
        found = [name for name in spelt if name in self.view.actual]
        found += [name for each in spelt for name in self._wrapped(each)]
        tensors = [name for each in found for name in (self.view.spelt(each), *self.view.doubled.get(each, ()))]
        return tuple(name for name in dict.fromkeys(tensors) if name != taken)

    def module(self, bare: str, tensors: Sequence[str | None]) -> str:
        """What this checkpoint calls a norm: its tensors' name without the leaf, or what it would be."""
        found = next((name for name in tensors if name is not None), None)
        if self.view.names is None or found is None:
            return self.prefix + bare
        return re.split(r"[./][^./]*$", found)[0]

    @cached_property
    def _prefixes(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys((self.prefix, *self.prefixes)))

    def _accepted(self, promised: str) -> Iterator[str]:
        """Every spelling that the loader takes for the promised name, the usual one first."""
        for prefix in self._prefixes:
            yield prefix + promised
        module, _, leaf = promised.rpartition(".")
        if module.endswith(_wrong().modules):
            for prefix in self._prefixes:
                for old in _wrong().accepted.get(leaf, ()):
                    yield f"{prefix}{module}.{old}"

    def _misspelt(self, promised: str) -> tuple[str, str] | None:
        """The tensor behind wrappers, or under another framework's leaf name, and the name that the loader expects."""
        for prefix in self._prefixes:
            for leaf in _with_leaves(promised):
                spelt = prefix + leaf
                found = spelt if spelt in self.view.actual else next(self._wrapped(spelt), None)
                if found is not None:
                    return self.view.spelt(found), f"{prefix}{promised}"
        return None

    def _wrapped(self, name: str) -> Iterator[str]:
        """The names of the checkpoint that are `name` with wrappers around it."""
        wrappers, inner = self._wrappers
        if name in inner:
            yield inner[name]
        for wrapper in wrappers:
            spelt = wrapper + name
            if spelt in self.view.actual:
                yield spelt
            elif spelt in inner:
                yield inner[spelt]

    @cached_property
    def _wrappers(self) -> tuple[tuple[str, ...], Mapping[str, str]]:
        """(what stands in front of some name and is wrappers, names without their inner wrappers → as they are).

        A checkpoint has few of the former, so that a wrapped name is found by trying them.
        """
        outer, inner = _wrong().wrappers, _wrong().inner
        found: dict[str, None] = {}
        unwrapped: dict[str, str] = {}
        for name in sorted(self.view.actual):
            bare = name
            if "._" in name and any(word in inner for word in name.split(".", 2 * _MOST_WRAPPERS)):
                words = name.split(".")
                bare = ".".join(word for word in words if word not in inner)
                unwrapped.setdefault(bare, name)
            if bare.partition(".")[0] in outer:
                for rest in unwrap(bare):
                    found.setdefault(bare[: len(bare) - len(rest)])
        return tuple(found), unwrapped


def _with_leaves(promised: str) -> tuple[str, ...]:
    """A promised name, and under the leaf names of other frameworks."""
    module, _, leaf = promised.rpartition(".")
    return (promised, *(f"{module}.{each}" for each in _wrong().leaves.get(leaf, ())))


def unwrap(name: str) -> Iterator[str]:
    """Every name that is left when wrappers are stripped one by one: `module._orig_mod.x` gives `_orig_mod.x` and `x`."""
    wrappers = _wrong().wrappers
    for _ in range(_MOST_WRAPPERS):
        word, dot, name = name.partition(".")
        if not dot or word not in wrappers:
            return
        yield name


def spelling(promised: Sequence[str], prefixes: Sequence[str], view: View) -> Spelling:
    """The prefix under which most of the promised names are found; the family's first one when none is.

    A container with names of its own knows no prefix but that of a model inside the model.
    """
    prefixes = prefixes if view.names is None else tuple(dict.fromkeys(("", *prefixes)))
    counts = [(sum(prefix + name in view.actual for name in promised), -i) for i, prefix in enumerate(prefixes)]
    best = prefixes[-max(counts)[1]]
    return Spelling(best, tuple(prefixes), view)
