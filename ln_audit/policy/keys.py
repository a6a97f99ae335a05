"""The keys of a policy: each once, with its type and its meaning. The reader, the JSON Schema and docs/policy.md are made of this."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from ln_audit.demand import DTYPES

if TYPE_CHECKING:
    from collections.abc import Mapping

Type = Literal[
    "name", "text", "switch", "day", "choice", "rule", "rules", "names", "paths", "revisions", "digests", "table", "tables", "families"
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Key:
    """One key: the type of its value, what it means, and whether its table must have it, or one that it belongs to.

    `choices` are the words that a choice may be, `least` is how many items a list must have; `keys` are those of a table, or
    of each of several.
    """

    type: Type
    means: str
    needed: bool = False
    needs: str | None = None
    least: int = 0
    choices: tuple[str, ...] = ()
    keys: Mapping[str, Key] | None = None


DIGESTS = {
    "values": Key(
        "digests",
        "a norm's gain or bias → its `value_sha256` of the JSON report; named as the tensor is, "
        "or as the norm with `.gain` or `.bias` behind it",
    ),
    "files": Key("digests", "a file of the target → the SHA-256 of its whole content, which is read for that"),
}

# What may be asked of every artifact, and of one target alone.
_BOTH = {
    "require": Key("rules", "rules of which a skip makes the verdict incomplete; `all` for every rule"),
    "strict": Key("switch", "warnings fail, but those that a waiver accepts"),
    "values": Key("choice", "the values of all norms are read, of remote targets too", choices=("all",)),
    "output_dtype": Key("choice", "dtype in which the recorded runs stored their results", choices=DTYPES),
    "before_rounded": Key("choice", "dtype to which `before` was rounded after the norm read it", choices=DTYPES),
    "digests": Key("table", "known-good digests: one that differs fails (LN305)", keys=DIGESTS),
}

TARGET = {
    "target": Key("name", "what is verified, written as for `ln-audit verify`", needed=True),
    "revision": Key("name", "branch, tag or commit of a model on the Hub"),
    "revisions": Key(
        "revisions", '"pinned": it must be given by its commit; or the list of commits that are allowed (LN304)'
    ),
    "against": Key("name", "the source whose norms it must hold"),
    "expect": Key(
        "choice", "the same values, or a model trained further", needs="against", choices=("same", "derived")
    ),
    "lock": Key("name", "the lockfile that its norms must be those of"),
    "recordings": Key("paths", "recorded hidden states that it is compared with"),
    "norm": Key("name", "the norm that the recordings belong to"),
    "family": Key("name", "the family that it is held to: a name, or a table's FILE.toml"),
    "config": Key("name", "a config.json for an artifact that has none beside it"),
    **_BOTH,
}

WAIVER = {
    "rule": Key("rule", "the rule's id or name", needed=True),
    "norm": Key("name", "the norm, with `{layer}` for any number, or the finding's subject", needed=True),
    "reason": Key("text", "why it is accepted", needed=True),
    "until": Key("day", "the last day on which it counts", needed=True),
}

POLICY = {
    "targets": Key("names", "what `ln-audit verify` verifies when it is given no target"),
    "target": Key("tables", "the same, each with what is asked of it alone", keys=TARGET),
    "families": Key("names", "the only families that are allowed (LN304)", least=1),
    "revisions": Key("choice", "every model on the Hub must be given by its commit (LN304)", choices=("pinned",)),
    **_BOTH,
    "waiver": Key("tables", "findings that were looked at and are accepted until a day", keys=WAIVER),
    "family": Key("families", "families of one's own, as docs/families.md describes them"),
}
