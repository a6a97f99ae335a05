"""Which config key each norm's epsilon follows: set to other values, in models that are built for real and run."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from . import variations as varying

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from transformers import PretrainedConfig

    from .variations import Given, Varied

_OTHERS = (3e-4, 7e-3)  # values that no config has by default


@dataclass(frozen=True)
class Followed:
    """The keys that an epsilon follows, and what it is where they are absent; no keys: fixed in the code."""

    keys: tuple[str, ...]
    default: float | None


def follow(varied: Varied) -> Mapping[str, Followed]:
    """Stem → what its epsilon follows."""
    keys: dict[str, list[str]] = {stem: [] for stem in varied.base.sites}
    for key in sorted(_keys(varied.config), key=lambda key: key.count(".")):
        for value in _OTHERS:
            given: Given = (*varied.given, (key, value))
            found = varying.changed(varied.model_type, given, varied.kinds, meta=False)
            if found is None:
                continue
            for stem, site in found[1].sites.items():
                eps = site.measured.eps if site.measured is not None else None
                if eps is not None and _near(eps, value) and key not in keys.get(stem, [key]):
                    keys[stem].append(key)
            break
    defaults = _defaults(varied, {key for found in keys.values() for key in found})
    followed = {}
    for stem, found in keys.items():
        measured = varied.base.sites[stem].measured
        own = measured.eps if measured else None
        followed[stem] = Followed(tuple(found), defaults.get(found[0], own) if found else own)
    return followed


def _near(one: float, other: float) -> bool:
    return abs(one - other) <= 0.02 * other


def _keys(config: PretrainedConfig, path: str = "") -> Iterator[str]:
    """Keys that may hold an epsilon, in the config and those inside: a projector may take its epsilon from a part's."""
    for where, part in [("", config), *varying.nested(config, parts=True)]:
        for key, value in vars(part).items():
            small = (
                isinstance(value, float) and 0 < value < 1e-2 and not re.search("initializer|init_|coef|lr|loss", key)
            )
            if small or (re.search(r"eps", key) and (value is None or isinstance(value, float))):
                yield f"{path}{where}.{key}" if where else f"{path}{key}"


def _defaults(varied: Varied, keys: set[str]) -> dict[str, float | None]:
    """What the class takes where the key is absent."""
    found: dict[str, Any] = {}
    for key in keys:
        try:
            value = varying.get(varying.configured(varied.model_type, varied.given, without=key), key)
        except Exception:  # noqa: BLE001 - a key that must be there has no default
            continue
        if isinstance(value, float):
            found[key] = value
    return found
