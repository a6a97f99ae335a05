"""The policy of a gate: what must be decided, warnings that fail, families of one's own, and waivers, which alone take away, and end."""

from __future__ import annotations

import hashlib
import os
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING

from ln_audit import checks, waivers
from ln_audit.demand import Policy
from ln_audit.errors import FamilyError, UsageError
from ln_audit.formats.shown import shown

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ln_audit.result import Finding

_KEYS = {"family", "waiver"}
_LARGEST = 10_000_000  # bytes of a policy; one of a company with a thousand families would have a third of that


def required(names: Iterable[str]) -> frozenset[str]:
    """The ids of the rules that --require names; `all` is every rule. Raises `UsageError` for an unknown one."""
    ids: set[str] = set()
    for name in names:
        ids.update(check.RULE.id for check in checks.CHECKS) if name == "all" else ids.add(checks.find(name).RULE.id)
    return frozenset(ids)


def apply(findings: Iterable[Finding], require: frozenset[str], *, strict: bool) -> tuple[Finding, ...]:
    """The findings under the policy: a skip of a required rule becomes required, with `strict` a warning fails.

    A warning that a waiver accepts does not.
    """
    return tuple(_held(finding, require, strict=strict) for finding in findings)


def _held(finding: Finding, require: frozenset[str], *, strict: bool) -> Finding:
    if finding.status == "skip" and finding.rule in require:
        return replace(finding, required=True)
    if finding.status == "warn" and strict and not waivers.waived(finding):
        return replace(
            finding, status="fail", reason=f"{finding.reason}; a warning, failed by --strict".removeprefix("; ")
        )
    return finding


def read(folder: str) -> Policy | None:
    """The policy of the working directory: ln-audit.toml, else [tool.ln-audit] of pyproject.toml; None where there is none.

    This version takes families of one's own and waivers from it and nothing else. Raises `UsageError` for every other key: to ignore one
    would weaken a gate.
    """
    own = os.path.join(folder, "ln-audit.toml")  # noqa: PTH118 - a folder that is gone has no Path
    if os.path.lexists(own):
        data = _bytes(own, "ln-audit.toml")
        return _policy("ln-audit.toml", data, _toml(data, "ln-audit.toml"))
    project = os.path.join(folder, "pyproject.toml")  # noqa: PTH118
    if not os.path.lexists(project):
        return None
    data = _bytes(project, "pyproject.toml")
    if b"ln-audit" not in data and b"\\u" not in data:  # what most projects cost: one search
        return None
    tool = _toml(data, "pyproject.toml").get("tool")
    table = tool.get("ln-audit") if isinstance(tool, dict) else None
    return None if table is None else _policy("pyproject.toml: tool.ln-audit", data, table)


def _policy(where: str, data: bytes, table: object) -> Policy:
    from ln_audit.families.table import build

    if not isinstance(table, dict) or set(table) - _KEYS:
        found = shown(min(set(table) - _KEYS) if isinstance(table, dict) else table)
        hint = "this version reads families and waivers from a policy and nothing else: use --require and --strict"
        raise UsageError(f"{where}: expected only [family.NAME] and [[waiver]], found {found}", hint=hint)
    families = {}
    rows = table.get("family", {})
    for name, row in rows.items() if isinstance(rows, dict) else [("", rows)]:
        told = f"{where}: family.{name}"
        if not isinstance(row, dict) or row.get("name", name) != name:
            raise UsageError(f"{told}: expected a table of that name, found {shown(row)}")
        try:
            families[name] = build({"name": name, **row}, told)
        except FamilyError as error:
            raise UsageError(error.message) from error
    accepted = waivers.read(table.get("waiver", []), f"{where}: waiver")
    today = datetime.now().astimezone().date()
    return Policy(where.partition(":")[0], hashlib.sha256(data).hexdigest(), families, accepted, today)


def _bytes(path: str, name: str) -> bytes:
    """A policy's bytes; one that cannot be read might hold something, and is refused."""
    try:
        if not os.path.isfile(path):  # noqa: PTH113
            raise UsageError(f"{name}: expected a file, found none that can be read")
        with open(path, "rb") as file:  # noqa: PTH123
            data = file.read(_LARGEST + 1)
    except (OSError, ValueError) as error:
        raise UsageError(f"{name}: expected a policy that can be read, found: {error}") from error
    if len(data) > _LARGEST:
        raise UsageError(f"{name}: expected at most {_LARGEST:,} bytes, found more")
    return data


def _toml(data: bytes, name: str) -> dict[str, object]:
    from ln_audit.formats import bounded_toml

    try:
        return bounded_toml.loads(data.decode())
    except ValueError as error:
        raise UsageError(f"{name}: expected TOML that can be read for a policy, found: {error}") from error
