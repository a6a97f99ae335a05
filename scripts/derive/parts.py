"""Models inside a model whose family the nested config names: where they stand, and under which prefixes they are saved."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any

from transformers import PretrainedConfig, PreTrainedModel
from transformers.models.auto.configuration_auto import AutoConfig

from . import shrink, tiny
from . import survey as walks

if TYPE_CHECKING:
    from .survey import Site
    from .variations import Varied

# What published checkpoints of composites have before a part's names; the loader is asked which of them it takes.
_LAYOUTS = (
    "language_model.model.", "model.language_model.", "language_model.", "model.", "text_model.", "model.text_model.",
    "vision_tower.vision_model.", "vision_tower.", "model.vision_tower.", "model.vision_tower.vision_model.",
    "vision_model.", "model.vision_model.", "visual.", "model.visual.", "vision_encoder.", "audio_tower.",
    "model.audio_tower.", "encoder.", "decoder.", "text_encoder.", "image_encoder.",
)  # fmt: skip


@dataclass
class Part:
    """A model of another type inside: the config key that names it, its module's path, and what stands before its names."""

    key: str
    model_type: str
    path: str
    prefixes: list[str]
    bare: set[str] = field(default_factory=set)  # saved names of its norms without the prefix


def inside(found: list[Part], site: Site) -> bool:
    """Whether a norm belongs to a part."""
    return any(site.path.startswith(f"{part.path}.") for part in found)


def find(varied: Varied) -> list[Part]:
    """The parts of a type. A nested config whose family is unknown, or whose module is not found, is none."""
    found = []
    config = varied.config
    for key, kind in type(config).sub_configs.items():
        nested = getattr(config, key, None)
        if not isinstance(nested, PretrainedConfig) or (kind is not AutoConfig and _flat(varied, key, nested)):
            continue
        path = _module(varied.model, nested)
        if path and nested.model_type in tiny.model_types():
            part = _part(varied, key, nested.model_type, path)
            if part is not None:
                found.append(part)
    return found


def _flat(varied: Varied, key: str, nested: PretrainedConfig) -> bool:
    """Whether the class takes the nested config's keys from its own top as well, as old configs have them."""
    for width in shrink.width_keys():
        if isinstance(vars(nested).get(width), int):
            try:
                config = type(varied.config)(**{width: 48})
            except Exception:  # noqa: BLE001 - then it does not take the key
                return False
            return getattr(getattr(config, key), width, None) == 48
    return False


def _module(model: Any, nested: PretrainedConfig) -> str | None:
    """The outermost submodel that was built of this nested config."""
    same = [
        path
        for path, module in model.named_modules()
        if path and isinstance(module, PreTrainedModel) and module.config is nested
    ]
    alike = [
        path
        for path, module in model.named_modules()
        if path and isinstance(module, PreTrainedModel) and type(module.config) is type(nested)
    ]
    return min(same or alike, key=len, default=None)


@cache
def bare_names(model_type: str) -> frozenset[str]:
    """The saved names of a type's norms, without the base model's prefix."""
    kinds = walks.Kinds()
    model = tiny.build(model_type)
    found = walks.survey(model, kinds, meta=False)
    return frozenset(stem.removeprefix(found.base) for stem, site in found.sites.items() if site.gain or site.bias)


def _part(varied: Varied, key: str, model_type: str, path: str) -> Part | None:
    own = bare_names(model_type)
    sites = [site for site in varied.base.sites.values() if site.path.startswith(f"{path}.")]
    votes: dict[str, list[Site]] = {}
    for site in sites:
        for bare in own:
            if site.stem == bare or site.stem.endswith(f".{bare}"):
                votes.setdefault(site.stem[: len(site.stem) - len(bare)], []).append(site)
    if not votes:
        return None
    if {site.stem for rows in votes.values() for site in rows} != {
        site.stem for site in sites if site.gain or site.bias
    }:
        return None  # it has norms that its own type has not
    prefix = max(votes, key=lambda each: (len({site.stem for site in votes[each]}), len(each)))
    part = Part(
        key, model_type, path, [prefix], {site.stem[len(prefix) :] for site in sites if site.stem.startswith(prefix)}
    )
    sample = max(
        (site for site in sites if site.stem.startswith(prefix) and site.gain), key=lambda s: len(s.stem), default=None
    )
    if sample is not None:
        leaf = f".{sample.gain}"
        wanted = f"{sample.path}.{sample.measured.gain if sample.measured else sample.gain}"
        bare = sample.stem[len(prefix) :]
        for layout in dict.fromkeys((f"{path}.", *_LAYOUTS)):
            if layout != prefix and walks.accepts(varied.model, f"{layout}{bare}{leaf}", wanted):
                part.prefixes.append(layout)
    part.bare |= {
        site.stem.removeprefix(each) for site in sites for each in part.prefixes if site.stem.startswith(each)
    }
    return part


def flat_keys(varied: Varied, found: list[Part]) -> set[str]:
    """Nested configs that are no parts and whose keys the class also takes from its own top."""
    keys = {key for key, _ in vars(varied.config).items()} & set(type(varied.config).sub_configs)
    taken = {part.key for part in found}
    nested = {key: getattr(varied.config, key) for key in keys - taken}
    return {key for key, value in nested.items() if isinstance(value, PretrainedConfig) and _flat(varied, key, value)}


def text_base(varied: Varied, found: list[Part]) -> str:
    """For a composite that is no part's shell: what stands before the saved names of its language model."""
    for path in ("model.language_model", "language_model", "model.text_model"):
        inside_ = [site for site in varied.base.sites.values() if site.path.startswith(f"{path}.") and site.gain]
        if not inside_ or any(part.path == path for part in found):
            continue
        prefixes = {
            site.stem[: len(site.stem) - len(rest)]
            for site in inside_
            for rest in [site.path[len(path) + 1 :]]
            if site.stem.endswith(rest)
        }
        if len(prefixes) == 1:
            return prefixes.pop()
    return ""


def prefixes(varied: Varied, base: str, classes: list[str], found: list[Part]) -> list[str]:
    """What may stand before a type's names: what is saved first, then what its loader takes as well."""
    back = {written: name for name, written in varied.base.saved.items()}
    own = [name for name in varied.base.tensors if name.startswith(base) and name in back]
    if not own:
        return [base]
    sample = max(own, key=lambda name: (name.count("."), name))
    usual = (
        f"{varied.model.base_model_prefix}." if varied.model.base_model_prefix else "",
        "",
        "model.",
        "transformer.",
    )
    taken = [base]
    for layout in dict.fromkeys((*usual, *_LAYOUTS)):
        if layout not in taken and walks.accepts(varied.model, layout + sample[len(base) :], back[sample]):
            taken.append(layout)
    # Other classes of the type call their base model otherwise: question answering heads say `transformer`.
    return list(dict.fromkeys((*taken, *(f"{name}." for name in classes if base), *([""] if found else []))))
