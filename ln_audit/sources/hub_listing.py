"""The names of a repository's files, by the Hub's tree API; asked for only when a caller wants a listing."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from ln_audit.errors import SourceError
from ln_audit.sources import hub_faults
from ln_audit.sources.wire import Answer, Ask, origin

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ln_audit.sources.hub_faults import Asked
    from ln_audit.sources.wire import Wire

ACCOUNT = "(list of files)"  # the name under which its bytes stand in the account
_MOST_PAGES = 50  # of a thousand entries each
_NEXT = re.compile(r'<([^<>]+)>\s*;\s*rel="?next"?')


def files(wire: Wire, asked: Asked) -> Sequence[str]:
    """All file names at the revision. Raises `SourceError`."""
    url = f"{asked.endpoint}/api/models/{asked.repo}/tree/{quote(asked.revision, safe='')}?recursive=true"
    names: list[str] = []
    for _ in range(_MOST_PAGES):
        answer = wire.follow(url, Ask(asked.label, ACCOUNT))[-1]
        if answer.status != 200:
            raise hub_faults.refused(asked, answer)
        names += _names(asked, answer)
        following = _NEXT.search(answer.headers.get("link", ""))
        if following is None:
            return sorted(names)
        if origin(following[1]) != origin(asked.endpoint):
            raise SourceError(f"{asked.label}: list of files: expected its next page on the Hub, found it elsewhere")
        url = following[1]
    raise SourceError(f"{asked.label}: list of files: expected at most {_MOST_PAGES} pages, found more")


def _names(asked: Asked, answer: Answer) -> list[str]:
    try:
        entries: Any = json.loads(answer.body) if answer.whole else None
    except (ValueError, RecursionError):
        entries = None
    if not isinstance(entries, list):
        raise SourceError(f"{asked.label}: list of files: expected a JSON array, found something else")
    files = (entry for entry in entries if isinstance(entry, dict) and entry.get("type") == "file")
    return [entry["path"] for entry in files if isinstance(entry.get("path"), str)]
