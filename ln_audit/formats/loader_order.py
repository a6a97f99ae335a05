"""Which files of a folder a loader would take. Names only, no bytes."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from ln_audit.errors import FormatError
from ln_audit.formats.assembly import INDEX_SUFFIX
from ln_audit.formats.unread import holds_weights, unread_format

if TYPE_CHECKING:
    from collections.abc import Sequence

# model-00001-of-00002.safetensors; a set of one shard is a whole model.
_SHARD = re.compile(r"(?P<stem>.+)-\d{5}-of-(?!00001\b)\d{5}(?P<rest>[^/]*)")
_ONLY_IN_COMPANY = re.compile(
    r"consolidated.*|adapter_model\.\w+"
)  # Meta's own layout beside transformers'; LoRA weights
_LATER_PART = re.compile(r"-(?!00001\b)\d{5}-of-\d{5}\.")
_NO_MODEL = re.compile(r"(?:^|[-_.])(?:mmproj|imatrix)\b|^(?:mmproj|imatrix)", re.IGNORECASE)
_LISTED = 8


class Choice(NamedTuple):
    """The files to read, one artifact each (a weights file or an index), and the weights that are left aside."""

    files: tuple[str, ...]
    beside: tuple[str, ...]


def choose(names: Sequence[str], first: str, suffixes: tuple[str, ...], others: tuple[str, ...] = ()) -> Choice:
    """What transformers' `from_pretrained` takes: `first`, else its index, else whatever stands there by itself.

    Only the folder itself counts, not what lies further down. `others` are the suffixes of other formats, whose files are
    left aside. Raises `FormatError` for shards without an index.
    """
    top = [name for name in names if "/" not in name]
    indices = [name for name in top if name.endswith(tuple(suffix + INDEX_SUFFIX for suffix in suffixes))]
    weights = [name for name in top if name.endswith(suffixes) and holds_weights(name)]
    shards = [name for name in weights if _SHARD.fullmatch(name)]
    alone = [name for name in weights if name not in shards]
    chosen: list[str] = next(([name] for name in (first, first + INDEX_SUFFIX) if name in top), [])
    if not chosen:
        if shards and not indices:
            expected = _SHARD.sub(rf"\g<stem>\g<rest>{INDEX_SUFFIX}", shards[0])
            raise FormatError(
                f"{shards[0]}: expected {expected} beside it, found {len(shards)} shards without an index",
                hint="download the index too, or name one shard to read it alone",
            )
        whole = indices + alone
        chosen = [name for name in whole if not _ONLY_IN_COMPANY.fullmatch(name)] or whole
    indexed = {name.removesuffix(INDEX_SUFFIX) for name in indices}
    beside = [
        name
        for name in indices + alone + [name for name in shards if _SHARD.sub(r"\g<stem>\g<rest>", name) not in indexed]
        if name not in chosen
    ]
    return Choice(tuple(chosen), (*beside, *_of_others(top, weights, others)))


def each_alone(names: Sequence[str], suffixes: tuple[str, ...], others: tuple[str, ...] = ()) -> Choice:
    """Formats whose files stand alone: every one is an artifact of its own, a set of parts by its first part.

    Vision projectors and importance matrices of llama.cpp are no models.
    """
    top = [name for name in names if "/" not in name]
    weights = [name for name in top if name.endswith(suffixes)]
    parts = [name for name in weights if _LATER_PART.search(name)]
    aside = [name for name in weights if name not in parts and _NO_MODEL.search(name)]
    chosen = [name for name in weights if name not in parts and name not in aside]
    return Choice(tuple(chosen or aside), (*(aside if chosen else ()), *_of_others(top, weights, others)))


def _of_others(top: Sequence[str], weights: Sequence[str], others: tuple[str, ...]) -> list[str]:
    """Checkpoints of other formats in the same folder."""
    return [
        name
        for name in top
        if name not in weights
        and ((others and name.endswith(others) and holds_weights(name)) or unread_format(name) is not None)
    ]


def listed(names: Sequence[str]) -> str:
    """A few file names for a message."""
    more = f" and {len(names) - _LISTED:,} more" if len(names) > _LISTED else ""
    return ", ".join(names[:_LISTED]) + more if names else "no file"
