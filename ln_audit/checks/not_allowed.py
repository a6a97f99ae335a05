"""The artifact is of a family or a revision that the policy does not allow.

What it does: with `families` in the policy, looks whether the family that was recognised is among them, as this version or the
policy itself describes it. With `revisions`, looks whether a model on the Hub was named by its commit ("pinned"), or whether
the commit that was read is among those listed for the target. A source given by --against must be named by its commit too.

Why it matters: a branch or a tag can be moved to other weights after the review, and nothing in the call changes. A family that
nobody reviewed comes with conventions that nobody looked at.

Example: `org/name: revision: expected a commit as ln-audit.toml says, found main`

How to mend: name the commit, which the failure tells; or allow the family or the commit in the policy, where it is reviewed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ln_audit.errors import LnAuditError
from ln_audit.families import recognise
from ln_audit.result import Finding, Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ln_audit.checks.subject import Subject
    from ln_audit.demand import Policy

RULE = Rule("LN304", "not-allowed")
_MOST_NAMED = 8


def check(subject: Subject) -> Iterator[Finding]:
    """One finding for the family, one for each revision; nothing where the policy does not speak of them."""
    policy = subject.demand.policy
    if policy is None:
        return
    if policy.rules.families is not None:
        yield _family(subject, policy, policy.rules.families)
    if policy.rules.pinned:
        yield from _pinned(subject, policy)
        yield from _source_pinned(subject, policy)
    if policy.rules.commits:
        yield _listed(subject, policy)


def _family(subject: Subject, policy: Policy, allowed: tuple[str, ...]) -> Finding:
    family = subject.family
    if family is None:
        return RULE.skipped("family", f"it is not known, and {policy.path} allows only some", required=True)
    told = f"{subject.checkpoint.files[0]}: family: expected {_listing(allowed)} as {policy.path} says"
    if family.name not in allowed:
        return RULE.failed("family", f"{told}, found {family.name}", "allow it in the policy, if it was reviewed")
    if family != recognise.given(family.name, policy.families):
        reason = "a table that only bears the name was given with --family"
        return RULE.failed("family", f"{told}, found another table of the name {family.name}", reason)
    return RULE.passed("family", f"{family.name} is allowed")


def _pinned(subject: Subject, policy: Policy) -> Iterator[Finding]:
    """What is on this machine has no revision; what a web server gives has none that could be named."""
    if subject.kind == "http" and not (subject.demand.lock or policy.rules.file_digests):
        reason = "a web address has no commit: hold it to a lock, or to the digest of the file"
        yield RULE.skipped("revision", reason, required=True)
    if subject.kind != "hub":
        return
    from ln_audit.sources.hub_cache import COMMIT

    asked, now = subject.asked, subject.revision
    if asked is not None and COMMIT.fullmatch(asked) and asked == now:
        yield RULE.passed("revision", f"named by its commit {now}")
        return
    told = f"{subject.identity}: revision: expected a commit as {policy.path} says, found {asked or 'none'}"
    yield RULE.failed("revision", told, _way_out(subject.identity, now))


def _source_pinned(subject: Subject, policy: Policy) -> Iterator[Finding]:
    """The same for the source that it is held to."""
    from ln_audit.sources import hub_target, local
    from ln_audit.sources.hub_cache import COMMIT

    label = subject.demand.against
    if label is None or label == "sample" or local.accepts(label):
        return
    what = "revision of --against"
    if not hub_target.looks_like_hub(label):
        yield RULE.skipped(what, f"{label}: a web address has no commit", required=True)
        return
    try:
        asked = hub_target.parse(label, None).revision
    except LnAuditError as error:
        yield RULE.skipped(what, error.message, required=True)
        return
    if asked is not None and COMMIT.fullmatch(asked):
        yield RULE.passed(what, f"named by its commit {asked}")
        return
    now = None if subject.twin is None or subject.twin.report is None else subject.twin.report.revision
    told = f"--against {label}: expected a commit as {policy.path} says, found {asked or 'none'}"
    yield RULE.failed(what, told, _way_out(label.partition("@")[0], now))


def _listed(subject: Subject, policy: Policy) -> Finding:
    """The commit that was read, whatever it was named by."""
    commits = policy.rules.commits
    if subject.kind == "hub" and subject.revision is None:
        return RULE.skipped("commit", "the server does not tell which commit it gave", required=True)
    if subject.revision in commits:
        return RULE.passed("commit", f"{subject.revision} is allowed")
    found = subject.revision or f"what has no commit ({subject.kind})"
    told = f"{subject.identity}: expected commit {_listing(commits)} as {policy.path} says, found {found}"
    return RULE.failed("commit", told, "" if subject.revision else "hf://org/name is always the model on the Hub")


def _way_out(name: str, commit: str | None) -> str:
    moves = "a branch or a tag can be moved"
    return moves if commit is None else f"{moves}: write {name}@{commit}, what it is now"


def _listing(words: tuple[str, ...]) -> str:
    more = f" or {len(words) - _MOST_NAMED} more" if len(words) > _MOST_NAMED else ""
    return f"{' or '.join(words[:_MOST_NAMED])}{more}"
