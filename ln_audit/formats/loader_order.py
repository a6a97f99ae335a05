"""Which files of a folder a loader would take. Names only, no bytes."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from ln_audit.errors import FormatError
from ln_audit.formats.assembly import INDEX_SUFFIX
from ln_audit.formats.unread import holds_weights, unread_format

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

# model-00001-of-00002.safetensors; a set of one shard is a whole model.
_SHARD = re.compile(r"(?P<stem>.+)-\d{5}-of-(?!00001\b)\d{5}(?P<rest>[^/]*)")
_ONLY_IN_COMPANY = re.compile(
    r"consolidated.*|adapter_model\.\w+"
)  # Meta's own layout beside transformers'; LoRA weights
_LATER_PART = re.compile(r"-(?!00001\b)\d{5}-of-\d{5}\.")
_NO_MODEL = re.compile(r"(?:^|[-_.])(?:mmproj|imatrix)\b|^(?:mmproj|imatrix)", re.IGNORECASE)
# What people call a checkpoint. Where a name says so, files of the same suffix whose names do not are taken for data.
SAYS_CHECKPOINT = re.compile(
    r"model|checkpoint|ckpt|weight|state_?dict"
    r"|(?<![a-z])(?:params?|ema|best|last|latest|final|epoch|step|iter)(?![a-z])",
    re.IGNORECASE,
)
_LISTED = 8


class Choice(NamedTuple):
    """The files to read, one artifact each (a weights file or an index), and the weights that are left aside."""

    files: tuple[str, ...]
    beside: tuple[str, ...]


def standard(names: Sequence[str], first: str) -> str | None:
    """The file that a loader asks for by its name, `first` or else its index, if it is there."""
    return next((name for name in (first, first + INDEX_SUFFIX) if first and name in names), None)


def standing_alone(names: Sequence[str], suffix: str) -> list[str]:
    """The folder's files of this suffix that would be read only because they are there: no shards, nothing of training's."""
    return [
        name
        for name in names
        if "/" not in name and name.endswith(suffix) and holds_weights(name) and not _SHARD.fullmatch(name)
    ]


def choose(
    names: Sequence[str],
    first: str,
    suffixes: tuple[str, ...],
    others: tuple[str, ...] = (),
    data: Collection[str] = (),
) -> Choice:
    """What transformers' `from_pretrained` takes: `first`, else its index, else whatever stands there by itself.

    Only the folder itself counts, not what lies further down. `others` are the suffixes of other formats, whose files are
    left aside, as are the files of `data`, which hold something else than their suffix says. Raises `FormatError` for
    shards without an index.
    """
    top = [name for name in names if "/" not in name]
    indices = [name for name in top if name.endswith(tuple(suffix + INDEX_SUFFIX for suffix in suffixes))]
    weights = [name for name in top if name.endswith(suffixes) and holds_weights(name)]
    shards = [name for name in weights if _SHARD.fullmatch(name)]
    alone = [name for name in weights if name not in shards]
    asked_for = standard(top, first)
    chosen = [asked_for] if asked_for is not None else []
    if not chosen:
        if shards and not indices:
            expected = _SHARD.sub(rf"\g<stem>\g<rest>{INDEX_SUFFIX}", shards[0])
            raise FormatError(
                f"{shards[0]}: expected {expected} beside it, found {len(shards)} shards without an index",
                hint="download the index too, or name one shard to read it alone",
            )
        whole = [name for name in indices + alone if name not in data]
        chosen = _called_checkpoints([name for name in whole if not _ONLY_IN_COMPANY.fullmatch(name)] or whole)
    indexed = {name.removesuffix(INDEX_SUFFIX) for name in indices}
    beside = [
        name
        for name in indices + alone + [name for name in shards if _SHARD.sub(r"\g<stem>\g<rest>", name) not in indexed]
        if name not in chosen
    ]
    return Choice(tuple(chosen), (*beside, *of_others(top, weights, others)))


def each_alone(
    names: Sequence[str], suffixes: tuple[str, ...], others: tuple[str, ...] = (), *, only_models: bool = True
) -> Choice:
    """Formats whose files stand alone: every one is an artifact of its own, a set of parts by its first part.

    Vision projectors and importance matrices of llama.cpp are no models. Without `only_models` the suffix is also that of
    data, and names decide.
    """
    top = [name for name in names if "/" not in name]
    weights = [name for name in top if name.endswith(suffixes)]
    parts = [name for name in weights if _LATER_PART.search(name)]
    aside = [name for name in weights if name not in parts and _NO_MODEL.search(name)]
    whole = [name for name in weights if name not in parts and name not in aside] or aside
    chosen = whole if only_models else _called_checkpoints(whole)
    beside = [name for name in weights if name not in parts and name not in chosen]
    return Choice(tuple(chosen), (*beside, *of_others(top, weights, others)))


def _called_checkpoints(whole: list[str]) -> list[str]:
    """Those whose names say that they are checkpoints, if only some do; else all, as nothing tells them apart."""
    return [name for name in whole if name.endswith(INDEX_SUFFIX) or SAYS_CHECKPOINT.search(name)] or whole


def of_others(top: Sequence[str], weights: Sequence[str], others: tuple[str, ...]) -> list[str]:
    """Checkpoints of other formats in the same folder."""
    return [
        name
        for name in top
        if "/" not in name
        and name not in weights
        and ((others and name.endswith(others) and holds_weights(name)) or unread_format(name) is not None)
    ]


def listed(names: Sequence[str]) -> str:
    """A few file names for a message."""
    more = f" and {len(names) - _LISTED:,} more" if len(names) > _LISTED else ""
    return ", ".join(names[:_LISTED]) + more if names else "no file"
