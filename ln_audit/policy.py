"""What makes a gate stricter: rules that must be decided, and warnings that fail. It only ever adds."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ln_audit import checks
from ln_audit.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

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


def refuse_policy_files(folder: Path) -> None:
    """Raise `UsageError` if the working directory holds a policy: this version reads none, and ignoring one would weaken a gate."""
    if (folder / "ln-audit.toml").exists():
        raise UsageError(
            "ln-audit.toml: expected no policy file, found one",
            hint="this version reads no policy: use --require and --strict",
        )
    project = folder / "pyproject.toml"
    if project.is_file() and b"[tool.ln-audit" in project.read_bytes():
        raise UsageError(
            "pyproject.toml: expected no [tool.ln-audit], found one",
            hint="this version reads no policy: use --require and --strict",
        )
