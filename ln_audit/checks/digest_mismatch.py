"""A norm's parameter or a file is not the known-good one of the policy.

What it does: compares what `digests` in the policy names with what is there: a gain or bias by the digest of its effective values
(`value_sha256` of the JSON report, the same in every container), a file by the SHA-256 of its whole content. The values that it
names are always read, of remote targets too.

Why it matters: a digest in a reviewed file is the shortest proof that these are the very values that were looked at. A lockfile is
the same for all norms at once.

Example: `model.safetensors: ln_f.weight: expected value_sha256 3f2a91c06d11 as ln-audit.toml says, found 91c4d07be2a5`

How to mend: take the artifact that was reviewed; or review this one, and write its digest into the policy.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ln_audit.result import Finding, Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ln_audit.checks.subject import Subject
    from ln_audit.core import Norm

RULE = Rule("LN305", "digest-mismatch")
_SHORT = 12  # digits of a digest: enough for people to compare


def check(subject: Subject) -> Iterator[Finding]:
    """One finding per digest of the policy; what could not be compared is a required skip."""
    policy = subject.demand.policy
    if subject.requires(RULE) and (policy is None or not (policy.rules.value_digests or policy.rules.file_digests)):
        yield RULE.skipped(subject.checkpoint.files[0], "required, and no policy has digests of it", required=True)
    if policy is None:
        return
    for name, digest in policy.rules.value_digests.items():
        yield _value(name, digest, subject, policy.path)
    for name, digest in policy.rules.file_digests.items():
        found = subject.hashes.get(name)
        if found is None:
            yield RULE.skipped(name, "no file of that name was read whole", required=True)
        elif found != digest:
            yield _differs(f"{name}: expected SHA-256", name, digest, found, policy.path)
        else:
            yield RULE.passed(name, "SHA-256 as the policy says")


def _value(name: str, digest: str, subject: Subject, where: str) -> Finding:
    found = subject.called(name)
    if len({tensor for _, tensor in found}) != 1:
        told = (
            f"{len(found)} parameters of norms are called that"
            if found
            else "no norm here has a parameter of that name"
        )
        return RULE.skipped(name, told, required=True)
    norm, tensor = found[0]
    stored = subject.values.get(tensor)
    if stored is None or not stored.exact:
        there = tensor in subject.checkpoint.tensors
        why = "is quantized, so no value is exact" if stored else "was not read" if there else "is not there"
        return RULE.skipped(name, f"{tensor} {why}", required=True)
    digests = [each for each in _digests(norm, tensor, subject) if each is not None]
    if not digests:
        return RULE.skipped(name, f"float32 does not hold the values of {tensor}", required=True)
    if digest in digests:
        return RULE.passed(name, "values as the policy says")
    file = subject.checkpoint.files[0]
    return _differs(f"{file}: {tensor}: expected value_sha256", name, digest, digests[0], where)


def _digests(norm: Norm, tensor: str, subject: Subject) -> Iterator[str | None]:
    """The digest of the effective values; of both readings where the artifact does not say what is added (MLX)."""
    from ln_audit.formats.dtypes import array
    from ln_audit.lock.holding import in_doubt
    from ln_audit.numerics.parameters import value_sha256

    values = array(subject.values[tensor])
    offset = norm.weight_offset if tensor == norm.gain else 0.0
    yield value_sha256(values, offset)
    if offset and in_doubt(subject):
        yield value_sha256(values, 0.0)


def _differs(told: str, name: str, digest: str, found: str, where: str) -> Finding:
    digits = _SHORT if digest[:_SHORT] != found[:_SHORT] else len(digest)  # a mistyped one: the same beginning
    return RULE.failed(
        name,
        f"{told} {digest[:digits]} as {where} says, found {found[:digits]}",
        "not what was reviewed: take that, or review this and write its digest into the policy",
    )
