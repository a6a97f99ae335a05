"""Files that are not there: what lies beside them under a name that is close."""

from __future__ import annotations

import os
import re

from ln_audit.sources.file_names import printable

_MOST = 2_000  # names of a folder that are looked at
_SHOWN = 4  # that are listed
_LONGEST = 100  # characters of a name
_MEANT = "did you mean "
_WORD = re.compile(r"[\w-][\w.-]*")  # gpt2 on the Hub, and as well a folder here
_PLAIN = re.compile(r"[\w-][\w.-]*/[\w.-]+")  # org/name on the Hub, and as well a folder in a folder


def hint(spec: str) -> str:
    """`did you mean model.safetensors?`, where the folder of a path holds something close; else what that folder holds."""
    told, name = os.path.split(spec.rstrip("/\\"))
    folder = os.path.expanduser(told)  # noqa: PTH111 - never raises
    names = listed(folder)
    if names is None:
        return f"there is no folder {printable(told)} either"
    from difflib import get_close_matches  # only after something went wrong

    of_any_case = {each.casefold(): each for each in names}
    near = [of_any_case[each] for each in get_close_matches(name[:_LONGEST].casefold(), of_any_case, n=2)]
    where = "the working directory" if told in ("", ".") else printable(told)
    if near:
        return f"{_MEANT}{' or '.join(printable(os.path.join(told, each)) for each in near)}?"  # noqa: PTH118
    shown = [printable(each, _LONGEST) for each in sorted(names) if not each.startswith(".")]
    more = ", …" if len(shown) > _SHOWN else ""
    return f"{where} holds {', '.join(shown[:_SHOWN])}{more}" if shown else f"{where} is empty"


def local_hint(spec: str) -> str:
    """What to say of a word taken for a model on the Hub that may have been meant as a path; empty where nothing tells that."""
    if _WORD.fullmatch(spec) and not os.path.lexists(spec):
        meant = hint(spec)
        return f"no such path on this machine: {meant}" if meant.startswith(_MEANT) else ""
    beside = _PLAIN.fullmatch(spec) is not None and os.path.isdir(spec.partition("/")[0])  # noqa: PTH112
    if not beside or os.path.lexists(spec):
        return ""
    return f"no such path on this machine: {hint(spec)}"


def listed(folder: str, at_most: int = _MOST) -> list[str] | None:
    """Names in a folder, the first that the system gives; None where it cannot be listed."""
    try:
        with os.scandir(folder or ".") as entries:
            return [entry.name for entry, _ in zip(entries, range(at_most), strict=False)]
    except (OSError, ValueError):
        return None
