"""What makes a gate stricter: rules that must be decided, and warnings that fail. It only ever adds."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from ln_audit import checks
from ln_audit.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ln_audit.report import Finding


def required(names: Iterable[str]) -> frozenset[str]:
    """The ids of the rules that --require names; `all` is every rule. Raises `UsageError` for an unknown one."""
    ids: set[str] = set()
    for name in names:
        ids.update(check.RULE.id for check in checks.CHECKS) if name == "all" else ids.add(checks.find(name).RULE.id)
    return frozenset(ids)


def apply(findings: Iterable[Finding], require: frozenset[str], *, strict: bool) -> tuple[Finding, ...]:
    """The findings under the policy: a skip of a required rule becomes required, with `strict` a warning fails."""
    return tuple(_held(finding, require, strict=strict) for finding in findings)


def _held(finding: Finding, require: frozenset[str], *, strict: bool) -> Finding:
    if finding.status == "skip" and finding.rule in require:
        return replace(finding, required=True)
    if finding.status == "warn" and strict:
        return replace(
            finding, status="fail", reason=f"{finding.reason}; a warning, failed by --strict".removeprefix("; ")
        )
    return finding


def refuse_policy_files(folder: str) -> None:
    """Raise `UsageError` if the working directory holds a policy: this version reads none, and ignoring one would weaken a gate."""
    hint = "this version reads no policy: use --require and --strict"
    if os.path.lexists(os.path.join(folder, "ln-audit.toml")):  # noqa: PTH118 - a folder that is gone has no Path
        raise UsageError("ln-audit.toml: expected no policy file, found one", hint=hint)
    if _has_policy(os.path.join(folder, "pyproject.toml")):  # noqa: PTH118
        raise UsageError("pyproject.toml: expected no [tool.ln-audit], found one", hint=hint)


def _has_policy(project: str) -> bool:
    """Whether a pyproject.toml has a table for us; one that cannot be read might, and is refused."""
    if not os.path.lexists(project):
        return False
    try:
        text = Path(project).read_bytes()
        if b"ln-audit" not in text and b"\\u" not in text:  # what most projects cost: one search
            return False
        import tomllib

        tool = tomllib.loads(text.decode()).get("tool", {})
    except (OSError, ValueError, RecursionError) as error:
        raise UsageError(f"pyproject.toml: expected TOML that can be read for a policy, found: {error}") from error
    return isinstance(tool, dict) and "ln-audit" in tool
