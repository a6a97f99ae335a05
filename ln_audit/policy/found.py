"""Where the policy is: the file that the call names, else that of the working directory; never one that lies beside a target."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from ln_audit.errors import UsageError

if TYPE_CHECKING:
    from ln_audit.demand import Policy

OWN, PROJECT = "ln-audit.toml", "pyproject.toml"
TOOL = ("tool", "ln-audit")
_TELLING = (b"ln-audit", b"ln_audit", b"\\u", b"\\U", b"\\x")  # its name, or an escape that may spell it
_LARGEST = 10_000_000  # bytes of a policy; one of a company with a thousand families would have a third of that


class Document(NamedTuple):
    """A policy's text. `root` is the table of it that is the policy; file names in it are relative to `folder`."""

    path: str
    folder: str
    data: bytes
    text: str
    root: tuple[str, ...]
    table: object


def read(folder: str, file: str | None = None) -> Policy | None:
    """The policy that `file` is; without one ln-audit.toml of the folder, else [tool.ln-audit] of its pyproject.toml.

    None where there is none. Raises `UsageError` that names the file, the line and the key of what is wrong in it.
    """
    document = find(folder, file)
    if document is None:
        return None
    from ln_audit.policy.reading import policy

    return policy(document)


def find(folder: str, file: str | None = None) -> Document | None:
    """The policy as it is written. Raises `UsageError` for one that is named and not there, or no TOML."""
    if file is not None:
        root = TOOL if os.path.basename(file) == PROJECT else ()  # noqa: PTH119
        found = _document(file, file, os.path.dirname(file), root)  # noqa: PTH120
        if found is None:
            raise UsageError(f"{file}: expected a table [tool.ln-audit], found none")
        return found
    own = os.path.join(folder, OWN)  # noqa: PTH118 - a folder that is gone has no Path
    if os.path.lexists(own):
        return _document(own, OWN, "", ())
    project = os.path.join(folder, PROJECT)  # noqa: PTH118
    return _document(project, PROJECT, "", TOOL) if os.path.lexists(project) else None


def _document(path: str, name: str, folder: str, root: tuple[str, ...]) -> Document | None:
    """The document at a path, called `name` in messages; None where its root is no part of it."""
    data = _bytes(path, name)
    if root and not any(word in data for word in _TELLING):  # what most projects cost: one search
        return None
    from ln_audit.formats import bounded_toml

    try:
        text = data.decode()
        table: object = bounded_toml.loads(text)
    except ValueError as error:
        raise UsageError(f"{name}: expected TOML that can be read for a policy, found: {error}") from error
    for word in root:
        if word == TOOL[1] and _misspelt(table):
            raise UsageError(f"{name}: expected the table [tool.ln-audit], found it written otherwise")
        if not isinstance(table, dict) or word not in table:
            return None
        table = table[word]
    return Document(name, folder, data, text, root, table)


def _misspelt(tool: object) -> bool:
    """Whether somebody meant a policy that no reader would find: [tool.ln_audit], or a table inside of [[tool]]."""
    rows = tool if isinstance(tool, list) else ()
    return (isinstance(tool, dict) and "ln_audit" in tool) or any(
        TOOL[1] in row for row in rows if isinstance(row, dict)
    )


def _bytes(path: str, name: str) -> bytes:
    """A policy's bytes; one that cannot be read might hold something, and is refused."""
    try:
        if not os.path.isfile(path):  # noqa: PTH113
            raise UsageError(f"{name}: expected a file, found none that can be read")
        with open(path, "rb") as file:  # noqa: PTH123
            data = file.read(_LARGEST + 1)
    except (OSError, ValueError) as error:
        raise UsageError(f"{name}: expected a policy that can be read, found: {error}") from error
    if len(data) > _LARGEST:
        raise UsageError(f"{name}: expected at most {_LARGEST:,} bytes, found more")
    return data
