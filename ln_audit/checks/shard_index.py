"""A sharded checkpoint's index does not describe its shards.

What it does: compares the index's weight_map and total_size with what the shards' headers really hold. A norm
tensor that two shards hold is read from both, where values are read.

Why it matters: a loader follows the index. A tensor that is not where the index says is re-initialised or taken from
another shard; two shards with different values make the result depend on the order of loading. A stale total_size is
harmless to loaders but misleads everyone who counts parameters from it.

Example: `model.safetensors.index.json: model.norm.weight: expected in model-00002-of-00002.safetensors, found in
model-00001-of-00002.safetensors`

How to mend: write the index anew from the shards (save_pretrained does), after finding out which copy is the right one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ln_audit.result import Finding, Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ln_audit.checks.subject import Subject
    from ln_audit.core import ShardIndex

RULE = Rule("LN006", "shard-index")
_MOST_NAMED = 20  # findings of one kind; the rest is counted


def check(subject: Subject) -> Iterator[Finding]:
    """Failures for misplaced and contradicting tensors, a warning for a stale total_size, else one pass."""
    index = subject.checkpoint.index
    if index is None:
        return
    found = [*_misplaced(index), *_doubled(subject, index), *_unnamed(index)]
    whole = all(finding.status != "fail" for finding in found)
    if whole and index.total_size is not None and index.total_size != index.actual_size:
        found.append(
            RULE.warned(
                index.file,
                f"{index.file}: total_size: expected {index.actual_size:,} bytes, found {index.total_size:,}",
                "stale: never count from it; write the index anew",
            )
        )
    yield from found
    if not any(finding.status == "fail" for finding in found):
        yield RULE.passed(index.file, f"{len(index.weight_map):,} tensors are in the shards that the index names")


def _misplaced(index: ShardIndex) -> Iterator[Finding]:
    holding = {shard for shards in index.holders.values() for shard in shards}
    for shard in sorted(set(index.weight_map.values()) - holding):
        promised = sum(each == shard for each in index.weight_map.values())
        told = f"{index.file}: {shard}: expected {promised:,} tensors, found none"
        yield RULE.failed(shard, told, "an empty shard was published: save or upload it again; the index is right")
    wrong = [
        (name, shard)
        for name, shard in index.weight_map.items()
        if shard in holding and shard not in index.holders.get(name, ())
    ]
    for name, shard in wrong[:_MOST_NAMED]:
        where = " and ".join(index.holders.get(name, ())) or "no shard"
        yield RULE.failed(name, f"{index.file}: {name}: expected in {shard}, found in {where}", "write the index anew")
    if len(wrong) > _MOST_NAMED:
        more = len(wrong) - _MOST_NAMED
        yield RULE.failed(
            index.file, f"{index.file}: {more:,} more tensors: expected in the shard that the index names"
        )


def _unnamed(index: ShardIndex) -> Iterator[Finding]:
    unnamed = [name for name in index.holders if name not in index.weight_map]
    if unnamed:
        more = f" and {len(unnamed) - 1:,} more" if len(unnamed) > 1 else ""
        told = f"{index.file}: {unnamed[0]}{more}: expected in the index, found only in a shard"
        yield RULE.warned(index.file, told, "a loader that follows the index leaves it out: write the index anew")


def _doubled(subject: Subject, index: ShardIndex) -> Iterator[Finding]:
    promised = {name for _, name in subject.present()}
    doubled = [(name, shards) for name, shards in index.holders.items() if len(shards) > 1]
    doubled.sort(
        key=lambda each: each[0] not in promised
    )  # norms first: the listing is cut, the comparison must not be
    for at, (name, shards) in enumerate(doubled):
        if at >= _MOST_NAMED and name not in promised:
            break
        both = " and ".join(shards)
        if name not in promised or name not in subject.values or subject.checkpoint.read_from is None:
            yield RULE.warned(
                name, f"{index.file}: {name}: expected in one shard, found in {both}", "values not compared"
            )
            continue
        copies = {subject.checkpoint.read_from(shard, name) for shard in shards}
        if len(copies) > 1:
            yield RULE.failed(
                name,
                f"{index.file}: {name}: expected one value, found different ones in {both}",
                "what a loader takes depends on the order of loading: find out which is right",
            )
        else:
            yield RULE.warned(name, f"{index.file}: {name}: expected in one shard, found the same values in {both}")
