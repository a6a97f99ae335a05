"""Change one operator at a time in the mathematics, and see that a test fails: what survives is not tested.

    python scripts/mutate.py [MODULE ...]     # default: reference, tolerance, cells, judge and verdict of ln_audit/numerics

Works on a copy; prints every survivor with its line, and a last line with the count. Takes minutes: no part of `make test`.
"""

from __future__ import annotations

import ast
import copy
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parent.parent
DEFAULT = ("reference", "tolerance", "cells", "judge", "verdict")
SWAPS: dict[type[ast.AST], type[ast.AST]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.Pow: ast.Mult,
    ast.Lt: ast.GtE, ast.LtE: ast.Gt, ast.Gt: ast.LtE, ast.GtE: ast.Lt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.And: ast.Or, ast.Or: ast.And, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd,
}  # fmt: skip


def mutants(source: str) -> Iterator[tuple[int, str, str]]:
    """(line, what was changed, the changed source), one operator at a time."""
    tree = ast.parse(source)
    types = _annotations(tree)
    for position, node in enumerate(ast.walk(tree)):
        operators = getattr(node, "ops", None) or [getattr(node, "op", None)]
        for at, operator in enumerate(operators):
            swap = SWAPS.get(type(operator))
            if swap is None or not hasattr(node, "lineno") or position in types:
                continue
            changed = copy.deepcopy(tree)
            twin = next(each for i, each in enumerate(ast.walk(changed)) if i == position)
            if hasattr(twin, "ops"):
                twin.ops[at] = swap()
            else:
                twin.op = swap()  # type: ignore[attr-defined]
            yield node.lineno, f"{type(operator).__name__} → {swap.__name__}", ast.unparse(changed)


def _annotations(tree: ast.AST) -> set[int]:
    """The positions of nodes that only say which type something has."""
    inside: set[int] = set()
    for node in ast.walk(tree):
        for each in (getattr(node, "annotation", None), getattr(node, "returns", None)):
            if each is not None:
                inside.update(id(part) for part in ast.walk(each))
    return {position for position, node in enumerate(ast.walk(tree)) if id(node) in inside}


def main(modules: list[str]) -> int:
    """The number of survivors."""
    survivors = total = 0
    with tempfile.TemporaryDirectory() as scratch:
        work = Path(scratch) / "work"
        for part in ("ln_audit", "tests", "fixtures", "pyproject.toml", "README.md", "docs"):
            source = ROOT / part
            shutil.copytree(source, work / part) if source.is_dir() else shutil.copy(source, work / part)
        tests = [str(work / "tests" / "numerics"), str(work / "tests" / "test_testing.py")]
        command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *tests]
        for module in modules:
            path = work / "ln_audit" / "numerics" / f"{module}.py"
            original = path.read_text(encoding="utf-8")
            for line, what, text in mutants(original):
                path.write_text(text, encoding="utf-8")
                try:
                    run = subprocess.run(command, cwd=work, capture_output=True, timeout=300, check=False)
                    survived = run.returncode == 0
                except subprocess.TimeoutExpired:
                    survived = False  # a loop that never ends is noticed
                total += 1
                if survived:
                    survivors += 1
                    print(
                        f"survived: {module}.py:{line}: {what}: {original.splitlines()[line - 1].strip()}", flush=True
                    )
            path.write_text(original, encoding="utf-8")
    print(f"{total - survivors} of {total} mutants were noticed")
    return survivors


if __name__ == "__main__":
    sys.exit(1 if main(sys.argv[1:] or list(DEFAULT)) else 0)
