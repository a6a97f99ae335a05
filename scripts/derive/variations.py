"""A type's config, changed one key at a time: what stands under which key, and the model that comes of it."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import re
import sys
import typing
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from transformers import PretrainedConfig
from transformers.models.auto.configuration_auto import CONFIG_MAPPING, AutoConfig

from . import shrink, tiny
from . import survey as walks

if TYPE_CHECKING:
    from collections.abc import Iterator

# Keys that cannot shape a norm; leaving them out saves most of the time.
_NOISE = re.compile(
    r"dropout|drop_rate|drop_prob|token_id|token_index|_loss|coef|initializer|init_|vocab|max_position|_rope|rope_|theta|"
    r"use_cache|hidden_act|activation_function|temperature|label|summary|problem|transformers_version|return_dict|"
    r"output_attentions|output_hidden_states|dtype|chunk_size|architectures|name_or_path|_start$|_end$|sampling|hop_|"
    r"is_encoder_decoder|loss|alpha|beta|gamma|jitter|softcap|multiplier|scaling|sliding_window$|id2|mask_time|mask_feature|num_logits"
)
_MOST_ENTRIES = 6
_MOST_STUCK = 8
_UNDECLARED, _UNDECLARED_VALUE = "head_dim", 22  # a key that many models read though their config class has none
Given = tuple[tuple[str, Any], ...]


@dataclass
class Variation:
    """One changed key. `survey` is None where such a model cannot be built."""

    key: str
    before: Any
    value: Any
    config: PretrainedConfig
    survey: walks.Survey


@dataclass
class Varied:
    """A type's base model, with `given` set beside its tiny config, and what comes of one more change each."""

    model_type: str
    given: Given
    config: PretrainedConfig
    model: Any
    base: walks.Survey
    kinds: walks.Kinds
    variations: list[Variation]


def vary(model_type: str, given: Given = (), kinds: walks.Kinds | None = None) -> Varied:
    """Build the type for real, then on meta with each key changed. Raises what building raises."""
    kinds = kinds or walks.Kinds()
    config = configured(model_type, given)
    model = tiny.build(model_type, config=config)
    base = walks.survey(model, kinds, meta=False)
    made = []
    for key, before, value in changes(config):
        found = changed(model_type, (*given, (key, value)), kinds)
        if found is not None:
            made.append(Variation(key, before, value, *found))
    made += _joint(model_type, given, config, kinds, {each.key for each in made})
    return Varied(model_type, given, config, model, base, kinds, made)


def _joint(
    model_type: str, given: Given, config: PretrainedConfig, kinds: walks.Kinds, done: set[str]
) -> Iterator[Variation]:
    """Keys that no change alone was possible for, doubled together with one other that the class ties them to."""
    doubled = {
        key: (before, value)
        for key, before, value in changes(config)
        if isinstance(before, int) and value == before * 2 > 0
    }
    stuck = [key for key in doubled if key not in done]
    for key in stuck[:_MOST_STUCK]:
        for other in [each for each in doubled if each != key and each.rpartition(".")[0] == key.rpartition(".")[0]]:
            found = changed(model_type, (*given, (key, doubled[key][1]), (other, doubled[other][1])), kinds)
            if found is not None:
                yield Variation(key, *doubled[key], *found)


def configured(model_type: str, given: Given, *, without: str | None = None) -> PretrainedConfig:
    """The type's tiny config with these keys set, or one left out. Raises what the config class raises."""
    kwargs = tiny.tiny_kwargs(model_type)
    base = tiny.tiny_config(model_type)
    for key, value in given:
        _set(kwargs, key, value, base)
    if without is not None:
        *path, last = without.split(".")
        rows = kwargs
        for part in path:
            rows = rows.get(part, {})
        rows.pop(last, None)
    return CONFIG_MAPPING[model_type](**copy.deepcopy(kwargs))


def changed(
    model_type: str, given: Given, kinds: walks.Kinds, *, meta: bool = True
) -> tuple[PretrainedConfig, walks.Survey] | None:
    """The config and the survey of the type with these keys set; None where it cannot be built."""
    try:
        config = configured(model_type, given)
        if not all(_same(get(config, key), value) for key, value in given):
            return None
        model = tiny.build(model_type, meta=meta, config=config)
        try:
            return config, walks.survey(model, kinds, meta=meta)
        except walks.Unmeasured:
            model = tiny.build(model_type, config=configured(model_type, given))
            return config, walks.survey(model, kinds, meta=False)
    except Exception:  # noqa: BLE001 - not every combination is a model
        return None


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, (list, tuple)) and isinstance(other, (list, tuple)):
        return list(one) == list(other)
    return bool(one == other)


def get(config: Any, key: str) -> Any:
    """The value under a dotted key."""
    for part in key.split("."):
        try:
            config = config.get(part) if isinstance(config, dict) else getattr(config, part, None)
        except Exception:  # noqa: BLE001 - a key that differs from layer to layer has no one value
            return None
    return config


def _set(kwargs: dict[str, Any], key: str, value: Any, config: PretrainedConfig) -> None:
    *path, last = key.split(".")
    for part in path:
        config = getattr(config, part)
        kwargs = kwargs.setdefault(part, {"model_type": config.model_type} if config.model_type else {})
    before = getattr(config, last, None)
    kwargs[last] = value
    if last in shrink.layer_keys() and isinstance(before, int) and isinstance(value, int):
        for name, entries in list(kwargs.items()):  # lists that have one entry per layer grow and shrink with it
            if isinstance(entries, (list, tuple)) and len(entries) == before and before > 0:
                kwargs[name] = [*entries, *[entries[-1]] * value][:value]


def undeclared(config: Any, base: Any) -> tuple[str, int] | None:
    """The undeclared key that a config was given, with its value."""
    for path, part in [("", config), *nested(config)]:
        key = f"{path}.{_UNDECLARED}" if path else _UNDECLARED
        if vars(part).get(_UNDECLARED) == _UNDECLARED_VALUE and get(base, key) is None:
            return key, _UNDECLARED_VALUE
    return None


def nested(config: PretrainedConfig, *, parts: bool = False) -> Iterator[tuple[str, PretrainedConfig]]:
    """(dotted key, config) of the configs of fixed classes inside; with `parts` also those of any family (`AutoConfig`)."""
    for key, value in vars(config).items():
        if not isinstance(value, PretrainedConfig):
            continue
        if parts or type(config).sub_configs.get(key) not in (AutoConfig, None):
            yield key, value
            for inner, deeper in nested(value, parts=parts):
                yield f"{key}.{inner}", deeper


def changes(config: PretrainedConfig) -> Iterator[tuple[str, Any, Any]]:
    """(key, value, another value) for every key that may shape a norm."""
    for path, part in [("", config), *nested(config)]:
        declared = {each.name for each in dataclasses.fields(part)} if dataclasses.is_dataclass(part) else set()
        for key, value in vars(part).items():
            if _NOISE.search(key) or isinstance(value, PretrainedConfig) or (key[0] == "_" and key not in declared):
                continue
            for other in _others(part, key, value):
                yield f"{path}.{key}" if path else key, value, other
        if _UNDECLARED not in vars(part) and any(key in vars(part) for key in shrink.width_keys()):
            yield f"{path}.{_UNDECLARED}" if path else _UNDECLARED, None, _UNDECLARED_VALUE
        for name, sub in vars(part).items():  # a part's width shapes what stands between it and the whole
            if isinstance(sub, PretrainedConfig) and type(part).sub_configs.get(name) in (AutoConfig, None):
                for key in shrink.width_keys():
                    if isinstance(vars(sub).get(key), int):
                        yield f"{path}.{name}.{key}" if path else f"{name}.{key}", vars(sub)[key], vars(sub)[key] * 2


def _others(config: PretrainedConfig, key: str, value: Any) -> Iterator[Any]:
    allowed = _annotation(type(config), key)
    if isinstance(value, bool):
        yield not value
    elif isinstance(value, int):
        deep = key in shrink.layer_keys()
        yield from ((value + 1, value + 2) if deep else (value * 2, value + 1) if value > 0 else (1, 2, 16))
        if value > 0 and not deep:
            yield 0
        if type(None) in allowed and not deep:
            yield None
    elif isinstance(value, float):
        if value >= 0.5:
            yield value * 2
    elif value is None:
        yield from (other for kind, other in ((bool, True), (int, 24), (int, 2)) if kind in allowed or not allowed)
    elif isinstance(value, str):
        yield from (other for other in (*_literals(allowed), *_compared(type(config), key)) if other != value)
    elif isinstance(value, (list, tuple)) and value:
        yield from _entries(list(value))


def _entries(value: list[Any]) -> Iterator[list[Any]]:
    """Lists with one entry changed to another that occurs, doubled, or with one entry more."""
    kinds = list(dict.fromkeys(each for each in value if isinstance(each, (str, bool))))
    for i, entry in enumerate(value[:_MOST_ENTRIES]):
        if isinstance(entry, (str, bool)):
            yield from ([*value[:i], other, *value[i + 1 :]] for other in kinds if other != entry)
        elif isinstance(entry, int):
            yield [*value[:i], entry * 2, *value[i + 1 :]]
            yield [*value[:i], entry + 1, *value[i + 1 :]]
    if kinds:
        yield [*value, value[-1]]  # one layer more
    if all(isinstance(entry, int) and not isinstance(entry, bool) for entry in value):
        yield [each * 2 for each in value]


@cache
def _annotation(cls: type, key: str) -> tuple[Any, ...]:
    """The types that a config class declares for a key; empty where it declares none."""
    field = (
        next((each for each in dataclasses.fields(cls) if each.name == key), None)
        if dataclasses.is_dataclass(cls)
        else None
    )
    if field is None:
        return ()
    try:
        hint = eval(field.type, vars(sys.modules[cls.__module__])) if isinstance(field.type, str) else field.type
    except Exception:  # noqa: BLE001
        return ()
    return (
        typing.get_args(hint)
        if not isinstance(hint, type) and typing.get_origin(hint) is not typing.Literal
        else (hint,)
    )


def _literals(allowed: tuple[Any, ...]) -> list[str]:
    found = []
    for each in allowed:
        if typing.get_origin(each) is typing.Literal:
            found += [value for value in typing.get_args(each) if isinstance(value, str)]
    return found


@cache
def _compared(cls: type, key: str) -> tuple[str, ...]:
    """The strings that the modeling code compares this key with."""
    module = cls.__module__.replace("configuration_", "modeling_")
    try:
        __import__(module)
        text = inspect.getsource(sys.modules[module])
    except Exception:  # noqa: BLE001 - no modeling file of that name
        return ()
    found = re.findall(rf"\.{re.escape(key)}\s*[!=]=\s*[\"']([^\"']+)[\"']", text)
    for group in re.findall(rf"\.{re.escape(key)}\s+(?:not )?in\s*[\[\(\{{]([^\]\)\}}]*)", text):
        found += re.findall(r"[\"']([^\"']+)[\"']", group)
    return tuple(dict.fromkeys(found))
