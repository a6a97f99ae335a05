"""A model whose norms are published is damaged: almost, but not quite, the published values.

What it does: compares the SHA-256 of every norm tensor read with the published ones (of GPT-2 small: OpenAI's own
checkpoint and the Hub's agree). The package holds digests and one check byte per element, not the values.

Why it matters: downloads end with the right size and wrong content; a single flipped bit is in no header. A fine-tune moves
every element of every norm, so a tensor that differs in less than one in a hundred elements was damaged, not trained.

Example: `model.safetensors: ln_f.weight: expected the published values (openai-community/gpt2 607a30d7), found 1 of 768
elements different, first at [9]`

How to mend: download again, and compare the file's SHA-256 (--full does).
"""

from __future__ import annotations

import hashlib
from math import prod
from typing import TYPE_CHECKING

from ln_audit.families.known import folded
from ln_audit.result import Finding, Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ln_audit.checks.subject import Subject
    from ln_audit.core import Stored
    from ln_audit.families.known import Known

RULE = Rule("LN107", "known-values")
_DAMAGE = 0.01  # of the elements; training moves practically all of them


def check(subject: Subject) -> Iterator[Finding]:
    """Nothing where no published values are known; else a failure per damaged tensor, one pass, or one note."""
    known = subject.known
    if known is None:
        return
    read = {bare: subject.values[name] for name, bare in _published(subject, known).items() if name in subject.values}
    if not read:
        yield RULE.skipped(known.repo, "no norm values were read")
        return
    different = {name: _changed(stored, known, name) for name, stored in read.items() if not _same(stored, known, name)}
    this_commit = subject.identity == known.repo and subject.revision == known.revision
    damaged = different and all(len(where) < _DAMAGE * _size(read[name]) for name, where in different.items())
    if not different:
        yield RULE.passed(
            known.repo, f"bit for bit the published values ({len(read)} of {len(known.tensors)} tensors read)"
        )
    elif this_commit or damaged:
        for name, where in different.items():
            yield RULE.failed(
                name,
                f"{subject.checkpoint.files[0]}: {name}: expected the published values ({known.repo} {known.revision[:8]}),"
                f" found {len(where)} of {_size(read[name])} elements different, first at [{where[0]}]",
                "damaged in transfer or on disk: download again",
                different=len(where),
            )
    else:
        yield RULE.skipped(known.repo, f"not the published weights: {len(different)} of {len(read)} tensors differ")


def _published(subject: Subject, known: Known) -> dict[str, str]:
    """Tensor name in this checkpoint → its published name."""
    bare = {}
    for norm, name in subject.present():
        published = f"{norm.promised}.{'weight' if name == norm.gain else 'bias'}"
        if published in known.tensors:
            bare[name] = published
    return bare


def _size(stored: Stored) -> int:
    return max(1, prod(stored.shape))


def _same(stored: Stored, known: Known, name: str) -> bool:
    return stored.dtype == "F32" and hashlib.sha256(stored.data).hexdigest() == known.tensors[name]["sha256"]


def _changed(stored: Stored, known: Known, name: str) -> list[int]:
    """Channels whose check byte differs; all of them when dtype or shape do. Never empty: the digest does differ."""
    fold = bytes.fromhex(known.tensors[name]["fold"])
    if stored.dtype != "F32" or len(stored.data) != 4 * len(fold):
        return list(range(_size(stored)))
    found = folded(stored.data)
    return [channel for channel, (a, b) in enumerate(zip(found, fold, strict=True)) if a != b] or [0]
