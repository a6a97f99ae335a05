"""`ln-audit explain`: the rules' own documents, and what a norm computes, on one token of eight features."""

from __future__ import annotations

import inspect

from ln_audit import checks
from ln_audit.printable import one_line
from ln_audit.worked_token import text


def rule_document(rule: str) -> str:
    """The document of one rule, by id or name. Raises `UsageError` for an unknown one."""
    check = checks.find(rule)
    return f"{check.RULE.id} {check.RULE.name}\n\n{inspect.cleandoc(check.__doc__ or '')}\n"


def overview() -> str:
    """The formula, one worked token, and the table of rules."""
    rows = [f"  {check.RULE.id}  {check.RULE.name:<20} {summary(check)}" for check in checks.CHECKS]
    return f"{text().rstrip()}\n\nRules (ln-audit explain RULE)\n" + "\n".join(rows) + "\n"


def summary(check: checks.Check) -> str:
    """The first sentence of a rule's document."""
    return one_line(inspect.cleandoc(check.__doc__ or "").split("\n\n")[0].replace("\n", " "))
