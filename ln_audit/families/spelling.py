"""How this checkpoint spells the names that a family promises: its prefix, and wrong spellings that still can be found."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from ln_audit.families.containers import View

_DATA = Path(__file__).with_name("data") / "names" / "wrong.toml"


@lru_cache(maxsize=1)
def _wrong() -> tuple[tuple[str, ...], Mapping[str, Sequence[str]]]:
    table = tomllib.loads(_DATA.read_text(encoding="utf-8"))
    return tuple(table["wrappers"]), table["leaves"]


@dataclass(frozen=True)
class Spelling:
    """The spelling of one checkpoint: `prefix` is the family's own; everything else that is found is misspelt."""

    prefix: str
    prefixes: tuple[str, ...]
    view: View

    def find(self, promised: str) -> tuple[str, str | None]:
        """(the name in the checkpoint, the name that the loader expects when it is another one).

        The loader accepts each of the family's prefixes for every tensor on its own (tried with transformers 5.24). A tensor
        that is nowhere keeps the name that the loader expects; the caller sees that it is not in the checkpoint.
        """
        accepted = [prefix + promised for prefix in (self.prefix, *self.prefixes)]
        right = next((name for name in accepted if name in self.view.actual), None)
        if right is None:
            misspelt = self._misspelt(promised)
            if misspelt is not None:
                return misspelt
        return self.view.spelt(right or accepted[0]), None

    def copies(self, promised: str, taken: str) -> tuple[str, ...]:
        """Other tensors under a spelling of the same promised name, right or wrong: a loader may take one of those."""
        module, _, leaf = promised.rpartition(".")
        prefixes = dict.fromkeys((self.prefix, *self.prefixes))
        leaves = (leaf, *_wrong()[1].get(leaf, ()))
        spelt = [f"{prefix}{module}.{each}" for prefix in prefixes for each in leaves]
        found = [name for name in spelt if name in self.view.actual]
        found += [self._unwrapped[name] for name in spelt if name in self._unwrapped]
        tensors = [name for each in found for name in (self.view.spelt(each), *self.view.doubled.get(each, ()))]
        return tuple(name for name in dict.fromkeys(tensors) if name != taken)

    def module(self, bare: str, tensors: Sequence[str | None]) -> str:
        """What this checkpoint calls a norm: its tensors' name without the leaf, or what it would be."""
        found = next((name for name in tensors if name is not None), None)
        if self.view.names is None or found is None:
            return self.prefix + bare
        return re.split(r"[./][^./]*$", found)[0]

    def _misspelt(self, promised: str) -> tuple[str, str] | None:
        """The tensor behind wrappers, or under another framework's leaf name, and the name that the loader expects."""
        module, _, leaf = promised.rpartition(".")
        for prefix in (self.prefix, *self.prefixes):
            for spelt in (leaf, *_wrong()[1].get(leaf, ())):
                name = f"{prefix}{module}.{spelt}"
                found = name if name in self.view.actual else self._unwrapped.get(name)
                if found is not None:
                    return self.view.spelt(found), f"{prefix}{promised}"
        return None

    @cached_property
    def _unwrapped(self) -> Mapping[str, str]:
        """Names with their wrappers stripped, one after the other → the name in the checkpoint."""
        found: dict[str, str] = {}
        for name in sorted(self.view.actual):
            for bare in unwrap(name):
                found.setdefault(bare, name)
        return found


_MOST_WRAPPERS = 8  # people nest two or three; a hostile name may not cost its length squared


def unwrap(name: str) -> Iterator[str]:
    """Every name that is left when wrappers are stripped one by one: `module._orig_mod.x` gives `_orig_mod.x` and `x`."""
    wrappers = _wrong()[0]
    for _ in range(_MOST_WRAPPERS):
        wrapper = next((w for w in wrappers if name.startswith(w)), None)
        if wrapper is None:
            return
        name = name[len(wrapper) :]
        yield name


def spelling(promised: Sequence[str], prefixes: Sequence[str], view: View) -> Spelling:
    """The prefix under which most of the promised names are found; the family's first one when none is.

    A container with names of its own knows no prefix.
    """
    prefixes = prefixes if view.names is None else ("",)
    counts = [(sum(prefix + name in view.actual for name in promised), -i) for i, prefix in enumerate(prefixes)]
    best = prefixes[-max(counts)[1]]
    return Spelling(best, tuple(prefixes), view)
