"""Targets and files as a policy names them: paths are relative to the policy's own folder, wherever the program is called."""

from __future__ import annotations

import os
import posixpath
from urllib.parse import quote, unquote, urlsplit

from ln_audit.sources import hub_target
from ln_audit.sources.near_names import listed

_PATH_STARTS = (".", "/", "~", "\\")  # what nobody writes who means a model's name
_PACKAGED = "sample"


def file(name: str, folder: str) -> str:
    """A file's path from the working directory."""
    return os.path.join(folder, name) if folder else name  # noqa: PTH118 - a string that messages repeat


def target(word: str, folder: str) -> str:
    """A target as a call from the working directory would write it. A path that exists wins over a Hub name, as there."""
    if not folder or "://" in word or word == _PACKAGED:
        return word
    path = word if word.startswith("~") else os.path.join(folder, word)  # noqa: PTH118
    if word.startswith(_PATH_STARTS) or os.path.lexists(path) or not hub_target.looks_like_hub(word):
        # A word may not turn into a Hub's name: `ci/model` is a path here, and stays one where it is missing.
        return path if os.path.isabs(path) or path.startswith(_PATH_STARTS) else os.path.join(".", path)  # noqa: PTH117, PTH118
    return f"hf://{word}" if os.path.lexists(word) else word  # a folder of the working directory is not meant


def same(one: str, other: str) -> bool:
    """Whether two targets are the same: the same word, path, web address, or file of the same repository."""
    if one == other or _address(one) == _address(other) is not None:
        return True
    places = _place(one), _place(other)
    if places != (None, None):  # what exists here is no model on the Hub, whatever it is called
        return places[0] == places[1]
    return _repository(one) == _repository(other) is not None


def same_place(one: str, other: str) -> bool:
    """Whether two words name the same file or folder of this machine, which is there."""
    return _place(one) == _place(other) is not None


def within(file: str, folder: str) -> bool:
    """Whether `file` names a file of what `folder` names whole: it lies in that folder, or at the top of that repository.

    What lies further down is read only where it is named, and is a model of its own. A link to a file lies where it is, and
    where it leads.
    """
    places = _place(file), _place(folder)
    if places != (None, None):
        given = os.path.abspath(os.path.expanduser(file))  # noqa: PTH100, PTH111
        parents = {os.path.realpath(os.path.dirname(given)), os.path.dirname(places[0] or "")}  # noqa: PTH120
        return places[0] is not None and places[1] in parents and not os.path.isdir(places[0])  # noqa: PTH112
    inner, outer = _repository(file), _repository(folder)
    if inner is None or outer is None or inner[1] is None:
        return False
    return inner[0] == outer[0] and outer[1] is None and "/" not in inner[1]


def linked(folder: str, target: str) -> bool:
    """Whether all weights at the top of `folder` are those of `target`, a folder or a file that lies elsewhere: by links."""
    if within(target, folder) or not os.path.isdir(os.path.expanduser(folder)):  # noqa: PTH111, PTH112
        return False
    found = _weights(folder)
    return bool(found) and found <= _weights(target)


def _weights(target: str) -> frozenset[str]:
    """Where the weights at the top of a folder, or those of one file, are in the end; none for what is not on this machine."""
    from ln_audit.formats import SUFFIXES
    from ln_audit.formats.unread import holds_weights

    place = _place(target)
    if place is None or not os.path.isdir(place):  # noqa: PTH112
        return frozenset() if place is None else frozenset({place})
    names = listed(place) or ()
    paths = (os.path.join(place, name) for name in names if name.lower().endswith(SUFFIXES) and holds_weights(name))  # noqa: PTH118
    return frozenset(os.path.realpath(path) for path in paths)


def of_called(file: str, called: str) -> str:
    """A file as the policy names it, of the revision of a repository that a call names whole."""
    if _place(file) is not None or _repository(file) is None:
        return file
    inner, outer = hub_target.parse(file, None), hub_target.parse(called, None)
    revision = outer.revision or inner.revision
    at = "" if revision is None else f"@{quote(revision, safe='')}"
    return f"hf://{inner.repo}{at}/{inner.path}"


def _place(word: str) -> str | None:
    """Where something of that name is on this machine."""
    path = os.path.expanduser(word)  # noqa: PTH111
    return os.path.realpath(path) if "://" not in word and word != _PACKAGED and os.path.lexists(path) else None


def _address(word: str) -> tuple[str, str, int | None, str, str] | None:
    """A web address in one spelling: scheme, host, port, path and query; None for what is none."""
    if not word.lower().startswith(("http://", "https://")):
        return None
    try:
        parts = urlsplit(word)
        port = parts.port or {"http": 80, "https": 443}[parts.scheme]
    except ValueError:
        return None
    path = posixpath.normpath("/" + unquote(parts.path).lstrip("/"))
    return parts.scheme, (parts.hostname or "").rstrip("."), port, path, parts.query


def _repository(word: str) -> tuple[str, str | None] | None:
    """The repository on the Hub and the file in it, whatever the revision; None for what is not written as one.

    The Hub redirects a name in other letter case to its repository.
    """
    from ln_audit.errors import LnAuditError

    if not hub_target.looks_like_hub(word):
        return None
    try:
        found = hub_target.parse(word, None)
    except LnAuditError:
        return None
    repo = found.repo.lower()
    return hub_target.SHORT_NAMES.get(repo, repo), found.path
