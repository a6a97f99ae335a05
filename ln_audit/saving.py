"""After `save_pretrained`: what was written is verified, and held to the model that was to be written."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, Literal

from ln_audit import arguments
from ln_audit.in_process import VerdictError, passed, told, verified, way_out, without_model
from ln_audit.sources.local import only_path

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    from ln_audit.result import Report

LOG = logging.getLogger("ln_audit")


def verify_saved(
    folder: str | os.PathLike[str],
    model: Any = None,
    *,
    on_failure: Literal["raise", "warn"] = "raise",
    **options: Any,
) -> tuple[Report, ...]:
    """Verify what was just saved to `folder`; the last line of a script that trains, merges or converts.

        model.save_pretrained(folder)
        verify_saved(folder, model)

    With `model`, a torch model in memory, each of its norm modules must be in the folder with its values (bit for bit, or rounded
    to nearest as the dtype it was saved in implies), its kind and its own epsilon, whatever its config says. `options` are
    those of `ln-audit verify`: `against` (instead of a model), `lock`, `strict`, `require`, `family`, … Returns the reports.

    Raises `VerdictError` where the verdict is not "pass", so also where nobody can tell; with `on_failure="warn"` the logger
    `ln_audit` says so instead. Raises `UsageError` for a call that contradicts itself.
    """
    arguments.choice("on_failure", on_failure, ("raise", "warn"))
    without_model(options)
    reports = verified(only_path(arguments.word("folder", folder)), live=model, **options)
    if on_failure == "raise" and not passed(reports):
        raise VerdictError(reports)
    say(reports)
    return reports


def say(reports: Sequence[Report]) -> None:
    """Tell the logger what was found: at INFO what passed, as a warning what did not, with the way out."""
    if passed(reports):
        LOG.info("ln-audit: %s", told(reports))
    else:
        LOG.warning("ln-audit: %s → %s", told(reports), way_out(reports))
