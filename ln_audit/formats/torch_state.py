"""Which of the mappings inside a saved object is the model's state dict, and what its tensors are called.

Training checkpoints wrap it (`model`, `state_dict`, `module`, …) and put an optimizer beside it, whose state is kept by
number, not by name. So: of the mappings reached through names, the one with the most tensors. A module whose own
tensors have plain names (`weight`) among others of that kind is one of several of a nested state dict: they are joined
with dots, as modules are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ln_audit.errors import FormatError, UnsupportedError
from ln_audit.formats.pickle_stack import Group, Pairs, described
from ln_audit.formats.shown import shown
from ln_audit.formats.torch_views import View

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_TENSORS = 131_072  # as in safetensors
MAX_NAME = 1_000  # letters of one tensor's name or of the path to it
MAX_NAMES = 20_000_000  # letters of all names together: a long path before many names is many letters
MAX_DEPTH = 32  # mappings in mappings; a nested state dict has as many as its modules
ALONE = "tensor"  # what a file is called to hold that holds a tensor and nothing around it

Path = tuple[str, ...]


class StateDict(NamedTuple):
    """The tensors by name, and the keys that led to them (none where the file's object is the state dict itself)."""

    path: Path
    tensors: dict[str, View]


class _Place(NamedTuple):
    """A mapping on the way: its key, where in the list of places the one around it stands, how many tensors it holds."""

    key: str
    parent: int
    depth: int
    mapping: Pairs
    own: int


def find_state(root: object, file: str) -> StateDict:
    """The state dict. Raises `FormatError` where there is no tensor, or one name has two."""
    if isinstance(root, View):
        return StateDict((), {ALONE: root})
    if not isinstance(root, Pairs):
        return StateDict((), every_tensor(root, file))
    places = _places(root)
    best = max(range(len(places)), key=lambda index: places[index].own)
    if not places[best].own:
        raise FormatError(
            f"{file}: expected a mapping of names to tensors, found {_keys(root)}",
            hint="name the file that holds the model's state dict",
        )
    if any("." in key for key, _ in _own(places[best].mapping)):
        return StateDict(_path(places, best), _named(_own(places[best].mapping), file))
    modules = _modules(places)
    while places[best].parent >= 0 and modules[places[best].parent] > 1:
        best = places[best].parent
    return StateDict(_path(places, best), _named(_below(places[best].mapping, file, plain=True), file))


def every_tensor(root: object, file: str) -> dict[str, View]:
    """All tensors of the object by the keys and numbers that lead to them, joined with dots. Raises `FormatError`."""
    if isinstance(root, View):
        return {ALONE: root}
    found = _named(_below(root, file, plain=False), file)
    if not found:
        raise FormatError(f"{file}: expected tensors, found {_keys(root)}")
    return found


def _places(root: Pairs) -> list[_Place]:
    """The mappings reached through names, each once, the outermost first."""
    places = [_Place("", -1, 0, root, _count(root))]
    seen = {id(root)}
    for index, place in enumerate(places):  # grows while it is walked
        if place.depth >= MAX_DEPTH:
            continue
        for key, value in place.mapping:
            if isinstance(key, str) and isinstance(value, Pairs) and id(value) not in seen and len(key) <= MAX_NAME:
                seen.add(id(value))
                places.append(_Place(key, index, place.depth + 1, value, _count(value)))
    return places


def _path(places: list[_Place], index: int) -> Path:
    """The keys that lead to a place."""
    keys: list[str] = []
    while places[index].parent >= 0:
        keys.append(places[index].key)
        index = places[index].parent
    return tuple(reversed(keys))


def _modules(places: list[_Place]) -> list[int]:
    """For each place, how many of the mappings in it hold tensors, themselves or further down."""
    counts = [0] * len(places)
    for index in range(len(places) - 1, 0, -1):  # what is inside stands behind what it is in
        if places[index].own or counts[index]:
            counts[places[index].parent] += 1
    return counts


def _own(mapping: Pairs) -> Iterator[tuple[str, View]]:
    return ((key, value) for key, value in mapping if isinstance(key, str) and isinstance(value, View))


def _count(mapping: Pairs) -> int:
    return sum(1 for _ in _own(mapping))


def _below(root: object, file: str, *, plain: bool) -> Iterator[tuple[str, View]]:
    """Tensors of containers in containers by their dotted path; each container once. `plain`: through names alone.

    Raises `UnsupportedError` where they lie too deep to be named: none is left out in silence.
    """
    waiting: list[tuple[str, object, int]] = [("", root, 0)]
    seen = {id(root)}
    while waiting:
        path, container, depth = waiting.pop()
        inner: list[tuple[str, object, int]] = []
        for key, value in _items(container, plain=plain):
            if isinstance(value, View):
                yield f"{path}{key}", value
            elif isinstance(value, list | tuple) and id(value) not in seen:
                if depth >= MAX_DEPTH or len(path) + len(key) > MAX_NAME:
                    raise UnsupportedError(
                        f"{file}: {shown(f'{path}{key}')}: expected at most {MAX_DEPTH} containers in each other with "
                        f"names of {MAX_NAME:,} letters, found more"
                    )
                seen.add(id(value))
                inner.append((f"{path}{key}.", value, depth + 1))
        waiting += reversed(inner)


def _items(container: object, *, plain: bool) -> Iterator[tuple[str, object]]:
    if isinstance(container, Pairs):
        for key, value in container:
            if isinstance(key, str):
                yield key, value
            elif type(key) is int and not plain:
                yield str(key), value
    elif isinstance(container, list | tuple) and not plain and not isinstance(container, Group):
        yield from ((str(number), value) for number, value in enumerate(container))


def _named(tensors: Iterator[tuple[str, View]], file: str) -> dict[str, View]:
    """By name. Raises `FormatError` where one name has two tensors, `UnsupportedError` where there are too many."""
    found: dict[str, View] = {}
    letters = 0
    for name, view in tensors:
        letters += len(name)
        if len(found) >= MAX_TENSORS or letters > MAX_NAMES or len(name) > MAX_NAME:
            raise UnsupportedError(
                f"{file}: expected at most {MAX_TENSORS:,} tensors with names of {MAX_NAME:,} letters, found more",
                hint="save it in shards",
            )
        if found.setdefault(name, view) is not view:
            raise FormatError(f"{file}: {shown(name)}: expected one tensor of that name, found two")
    return found


def _keys(root: object) -> str:
    """What an object without tensors holds instead."""
    if not isinstance(root, Pairs) or not root:
        return "an empty mapping" if isinstance(root, Pairs) else described(root)
    more = f" and {len(root) - 6:,} more" if len(root) > 6 else ""
    return f"a mapping of {', '.join(described(key) for key, _ in root[:6])}{more}"
