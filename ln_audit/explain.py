"""`ln-audit explain`: the rules' own documents, and what a norm computes, on one token of eight features."""

from __future__ import annotations

from ln_audit import checks
from ln_audit.worked_token import text


def rule_document(rule: str) -> str:
    """The document of one rule, by id or name. Raises `UsageError` for an unknown one."""
    check = checks.find(rule)
    return f"{check.RULE.id} {check.RULE.name}\n\n{checks.document(check)}\n"


def overview() -> str:
    """The formula, one worked token, and the table of rules."""
    rows = [f"  {check.RULE.id}  {check.RULE.name:<20} {checks.summary(check)}" for check in checks.CHECKS]
    return f"{text().rstrip()}\n\nRules (ln-audit explain RULE)\n" + "\n".join(rows) + "\n"
