"""`verify --record`: the model is run in this process and what it computed is judged at once."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from ln_audit.audit import audit

if TYPE_CHECKING:
    from collections.abc import Callable

    from ln_audit.demand import Demand
    from ln_audit.record.recipe import Recipe
    from ln_audit.result import Report


def verified(target: str, demand: Demand, recipe: Recipe, progress: Callable[[int, int], None]) -> tuple[Report, ...]:
    """The reports on a target with a recording made of it now. A model that cannot be run makes them incomplete."""
    from ln_audit.record.run import record

    if demand.norm is not None:  # by --norm, or by the policy for this target
        recipe = replace(recipe, norms=(demand.norm,))
    with TemporaryDirectory(prefix="ln-audit-") as folder:

        @cache  # one run, however many artifacts the target has
        def made() -> tuple[str, str]:
            path = str(Path(folder) / "run.safetensors")
            found = record(target, path, recipe, demand, progress)
            return path, f"recorded in this process by {found.framework}, {recipe.reads}"

        return audit(target, replace(demand, record=made))
