"""A lockfile as text: TOML that people can read in a review, the same bytes for the same model."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ln_audit.lock.schema import DIGESTS, FORMAT

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ln_audit.lock.schema import Lock, LockedNorm, Parameter

_HEAD = """\
# What the norms of this model are: `ln-audit verify TARGET --lock FILE` holds an artifact to it, in whatever container.
# Written by `ln-audit lock`; run it again to renew the file, and review what changed.
"""


def text(lock: Lock) -> str:
    """The whole file, ending with a line's end."""
    return "\n".join(_lines(lock)) + "\n"


def _lines(lock: Lock) -> Iterator[str]:
    yield _HEAD
    yield f"format = {string(FORMAT)}"
    yield ""
    yield "[model]"
    yield f"identity = {string(lock.identity)}"
    if lock.revision is not None:
        yield f"revision = {string(lock.revision)}"
    yield f"container = {string(lock.container)}"
    if lock.family is not None:
        yield f"family = {string(lock.family)}"
    if lock.data is not None:
        yield f"family_data = {string(lock.data)}"
    for file in lock.files:
        yield from ("", "[[file]]", f"name = {string(file.name)}", f"sha256 = {string(file.sha256)}")
    for norm in lock.norms:
        yield ""
        yield from _norm(norm)


def _norm(norm: LockedNorm) -> Iterator[str]:
    yield "[[norm]]"
    yield f"name = {string(norm.name)}"
    if norm.nth != 1:
        yield f"nth = {norm.nth}"
    yield f"role = {string(norm.role)}"
    if norm.stack is not None:
        yield f"stack = {string(norm.stack)}"
    if norm.layer is not None:
        yield f"layer = {norm.layer}"
    yield f"kind = {string(norm.kind)}"
    if norm.width is not None:
        yield f"width = {norm.width}"
    if norm.epsilon is not None:
        yield f"epsilon = {norm.epsilon!r}"
    yield f"parameters = {norm.parameters}"
    for role, part in norm.parts:
        if part is not None:
            yield from _part(role, part)


def _part(role: str, part: Parameter) -> Iterator[str]:
    yield f"[norm.{role}]"
    yield f"elements = {part.elements}"
    for name in DIGESTS:
        if name in part.digests:
            yield f"{name} = {string(part.digests[name])}"


def string(value: str) -> str:
    """A TOML basic string on one line; what cannot be printed is escaped, half a surrogate shown as its escape."""
    return '"' + "".join(_character(c) for c in value) + '"'


def _character(c: str) -> str:
    if c in '"\\':
        return f"\\{c}"
    if c.isprintable():
        return c
    code = ord(c)
    if 0xD800 <= code <= 0xDFFF:  # no character, and no TOML; file systems give such names
        return f"\\\\u{code:04x}"
    return f"\\u{code:04X}" if code <= 0xFFFF else f"\\U{code:08X}"
