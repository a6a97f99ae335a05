"""Where the policy is: the file that the call names, else that of the working directory; never one that lies beside a target."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from ln_audit.errors import UsageError
from ln_audit.printable import one_line
from ln_audit.sources.near_names import listed

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ln_audit.demand import Policy

OWN, PROJECT = "ln-audit.toml", "pyproject.toml"
TOOL = ("tool", "ln-audit")
_TELLING = (
    b"ln-audit",
    b"ln_audit",
    b"lnaudit",
    b"ln audit",
    b"\\u",
    b"\\x",
)  # its name in lower case, or an escape that may spell it
_NEAR = ("ln_audit.toml", ".ln-audit.toml", ".ln_audit.toml", "lnaudit.toml", "LN-AUDIT.toml", "LN-AUDIT.TOML")
_MOST_NAMES = 500  # of a folder that are looked at for other spellings: under a millisecond
_LARGEST = 10_000_000  # bytes of a policy; one of a company with a thousand families would have a third of that


class Document(NamedTuple):
    """A policy's text. `root` is the table of it that is the policy; file names in it are relative to `folder`.

    `instead_of` is the other policy of its folder, which is not read because this one goes before it.
    """

    path: str
    folder: str
    data: bytes
    text: str
    root: tuple[str, ...]
    table: object
    instead_of: str = ""


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
        if found.table == {}:
            raise UsageError(f"{file}: expected a policy, found no key in it")
        return found
    own = os.path.join(folder, OWN)  # noqa: PTH118 - a folder that is gone has no Path
    project = os.path.join(folder, PROJECT)  # noqa: PTH118
    if os.path.lexists(own):
        return _before(_document(own, OWN, "", ()), project)
    _refuse_near(folder)
    return _document(project, PROJECT, "", TOOL) if os.path.lexists(project) else None


def _refuse_near(folder: str) -> None:
    """Raises `UsageError` for a file that somebody meant as ln-audit.toml: no reader would find it."""
    near = next((name for name in _NEAR if os.path.lexists(os.path.join(folder, name))), None)  # noqa: PTH118
    if near is None:
        names = (
            listed(folder, _MOST_NAMES) or ()
        )  # of a folder that cannot be listed, what has the right name was looked for
        near = next((name for name in names if name[-9:].lower() == "udit.toml" and _is_ours(name[:-5])), None)
    if near is not None:
        told = f"{one_line(near)}: expected a policy to be called {OWN}, found it called otherwise, which nothing reads"
        raise UsageError(told, hint=f"rename it, or name it: --policy {one_line(near)}")


def _before(own: Document | None, project: str) -> Document | None:
    """The policy of ln-audit.toml, which goes before that of pyproject.toml. Raises `UsageError` where it is empty beside one."""
    try:
        other = os.path.lexists(project) and _document(project, PROJECT, "", TOOL) is not None
    except UsageError:
        other = True  # whatever is wrong with it, somebody meant a policy
    if own is None or not other:
        return own
    if not own.table:
        told = f"{OWN}: expected a policy, found no key in it, and [tool.ln-audit] in {PROJECT}, which it takes the place of"
        raise UsageError(told, hint="delete one of them")
    return own._replace(instead_of=f"[tool.ln-audit] of {PROJECT}")


def _document(path: str, name: str, folder: str, root: tuple[str, ...]) -> Document | None:
    """The document at a path, called `name` in messages; None where its root is no part of it."""
    data = _bytes(path, name)
    letters = data.replace(
        b"\0", b""
    ).lower()  # also of UTF-16, which is no TOML and must not pass for one without a policy
    if root and not any(word in letters for word in _TELLING):  # what most projects cost: one search
        return None
    from ln_audit.formats import bounded_toml

    try:
        text = data.decode()
        table: object = bounded_toml.loads(text)
    except ValueError as error:
        hint = "save it as UTF-8" if isinstance(error, UnicodeDecodeError) or b"\0" in data else ""
        raise UsageError(f"{name}: expected TOML that can be read for a policy, found: {error}", hint=hint) from error
    if root and _misspelt(table):
        raise UsageError(f"{name}: expected the table [tool.ln-audit], found it written otherwise")
    for word in root:
        if not isinstance(table, dict) or word not in table:
            return None
        table = table[word]
    return Document(name, folder, data, text, root, table)


def _misspelt(table: object) -> bool:
    """Whether somebody meant a policy that no reader would find: [tool.ln_audit], [ln-audit], [tools.ln-audit], or in [[tool]]."""
    top = table if isinstance(table, dict) else {}
    tool = top.get(TOOL[0])
    below = tool if isinstance(tool, dict) else {}
    rows = [row for row in tool if isinstance(row, dict)] if isinstance(tool, list) else []
    otherwise = [word for word in below if word != TOOL[1]]
    elsewhere = [key for table in _like_tool(top) for key in table]
    return any(_is_ours(word) for word in (*top, *otherwise, *elsewhere, *(word for row in rows for word in row)))


def _like_tool(top: dict[str, object]) -> Iterator[dict[str, object]]:
    """The tables that are called like [tool] and are not: [Tool], [tools], [project.tool]."""
    for table in (top, top.get("project"), top.get(TOOL[0])):
        for word, value in table.items() if isinstance(table, dict) else ():
            called = word.strip().lower() in ("tool", "tools")
            if called and isinstance(value, dict) and not (table is top and word == TOOL[0]):
                yield value


def _is_ours(word: str) -> bool:
    """Whether a word is our name, in whatever letters and with whatever between its two halves."""
    return "".join(letter for letter in word.lower() if letter not in " \t-_.") == "lnaudit"


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
