"""The normalization layers in a Keras model's configuration, and the variables of each in its weights file.

A layer is found by its class; nothing is built, no class is looked up. `Normalization` (of inputs) and BatchNormalization
are other things. Variables are saved in the order in which a layer makes them: gamma, then beta.
Source: keras/src/saving/saving_lib.py, keras/src/layers/normalization/{layer,rms}_normalization.py, keras 3.15.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

from ln_audit.core import NormSite
from ln_audit.formats.bounded_json import Members
from ln_audit.formats.shown import shown

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from ln_audit.formats.hdf5 import Contents

DEFAULTS = {"LayerNormalization": 1e-3, "RMSNormalization": 1e-6}  # epsilon where the configuration does not write it
_OURS = re.compile(r"(?:tensorflow\.|tf_)?keras(?:\..*)?")  # a class of another module may compute something else
_CONTAINERS = ("layers", "_layer_checkpoint_dependencies")  # the latter in TensorFlow 2.12 to 2.15
_MAX_DEPTH = 32
_GROUP = re.compile(r"(?:.*/)?(?P<kind>layer|rms)_normalization(?:_\d+)?/vars")


class Layer(NamedTuple):
    """One layer of a configuration. `place` is where Keras 3 puts its variables if it goes by classes and order."""

    class_name: str
    name: str
    config: Mapping[str, Any]
    place: str


class Variables:
    """The variables of a weights file: in numbered groups (Keras 3), or by name below their layer's (legacy)."""

    def __init__(self, contents: Contents) -> None:
        self.groups: dict[str, list[str]] = {}  # group → its tensors in order
        self.named: dict[str, list[str]] = {}  # layer's name → groups that say they are its
        self.legacy: dict[str, dict[str, str]] = {}  # layer's name → gamma, beta, scale → tensor
        for path in sorted(contents.datasets):
            group, _, variable = path.rpartition("/")
            if group.endswith("/vars"):
                self.groups.setdefault(group, []).append(path)
            elif variable.partition(":")[0] in {"gamma", "beta", "scale"}:  # ln_f/gamma:0
                layer = self.legacy.setdefault(group.rpartition("/")[2], {})
                layer.setdefault(variable.partition(":")[0], path)
        self.names = {group: contents.attributes.get(group, {}).get("name", "") for group in self.groups}
        for group, name in self.names.items():
            self.named.setdefault(name, []).append(group)

    def group(self, layer: Layer) -> str:
        """The group of a layer: the one that has its name, else the one in its place."""
        named = self.named.get(layer.name, [])
        if len(named) == 1:
            return named[0]
        return next(
            (place for place in (layer.place, layer.place.replace(*_CONTAINERS)) if place in self.groups), layer.place
        )


def norm_sites(config: Members, contents: Contents, file: str, where: str) -> tuple[NormSite, ...]:
    """The norms in the order of the configuration, which stands at `where`."""
    variables = Variables(contents)
    layers = [layer for layer in _layers(config, "", 0) if layer.class_name in DEFAULTS]
    return tuple(_site(layer, variables, f"{file}: {where}") for layer in layers)


def sites_without_configuration(contents: Contents, file: str) -> tuple[NormSite, ...]:
    """What the names of groups give away where there is no configuration.

    A LayerNormalization with a single variable may have a gain or a bias: nobody can tell, so it is none of these.
    """
    variables = Variables(contents)
    sites: list[NormSite] = []
    for group, names in variables.groups.items():
        match = _GROUP.fullmatch(group)
        if match is None or len(names) != {"layer": 2, "rms": 1}[match["kind"]]:
            continue
        gain, bias = (*names, None)[:2]
        name = variables.names[group] or group.removesuffix("/vars")
        sites.append(NormSite(name, f"{match['kind']}_norm", gain, bias, None, f"{file}: no configuration in the file"))
    return tuple(sites)


def _site(layer: Layer, variables: Variables, where: str) -> NormSite:
    rms = layer.class_name == "RMSNormalization" or layer.config.get("rms_scaling") is True
    gained = rms or layer.config.get("scale") is not False
    biased = not rms and layer.config.get("center") is not False
    named = variables.legacy.get(layer.name)
    if named:
        gain, bias = named.get("gamma") or named.get("scale"), named.get("beta")
    else:  # the name that should be there is given even where the file lacks it
        group = variables.group(layer)
        gain, bias = f"{group}/0", f"{group}/{int(gained)}"
    eps, source = _epsilon(layer, where)
    kind = "rms_norm" if rms else "layer_norm"
    return NormSite(layer.name, kind, gain if gained else None, bias if biased else None, eps, source)


def _epsilon(layer: Layer, where: str) -> tuple[float | None, str]:
    label = f"{layer.class_name} {shown(layer.name)}"
    written = layer.config.get("epsilon")
    if written is None:
        return DEFAULTS[layer.class_name], f"{where}: {label} without an epsilon, which means Keras's default"
    if isinstance(written, bool) or not isinstance(written, int | float) or abs(written) >= 2**53:
        return None, f"{where}: expected an epsilon of {label}, found {shown(written)}"
    return float(written), f"{where}: epsilon of {label}"


def _layers(node: Members, path: str, depth: int) -> Iterator[Layer]:
    """The layers of a model's or wrapper's configuration, those of models inside it in their place."""
    config = dict(node).get("config")
    settings = dict(config) if isinstance(config, Members) else {}
    members, wrapped = settings.get("layers"), settings.get("layer")
    if depth > _MAX_DEPTH:
        return
    if isinstance(wrapped, Members):
        yield from _layer(wrapped, f"{path}/layer", depth)
    used: dict[str, int] = {}
    for member in members if isinstance(members, list) else ():
        if isinstance(member, Members):
            stem = _snake(str(dict(member).get("class_name")))
            number = used[stem] = used.get(stem, -1) + 1
            yield from _layer(member, f"{path}/{_CONTAINERS[0]}/{stem}{f'_{number}' if number else ''}", depth)


def _layer(member: Members, place: str, depth: int) -> Iterator[Layer]:
    fields = dict(member)
    config = fields.get("config")
    if isinstance(config, Members) and _OURS.fullmatch(str(fields.get("module") or "keras")):
        settings = dict(config)
        yield Layer(str(fields.get("class_name")), str(settings.get("name", "")), settings, f"{place}/vars".lstrip("/"))
    yield from _layers(member, place, depth + 1)


def _snake(class_name: str) -> str:
    """LayerNormalization -> layer_normalization, RMSNormalization -> rms_normalization: as Keras names its groups."""
    name = re.sub(r"\W+", "", class_name)
    name = re.sub(r"(.)([A-Z][a-z]+)", r"\1_\2", name)
    return re.sub(r"([a-z])([A-Z])", r"\1_\2", name).lower()
