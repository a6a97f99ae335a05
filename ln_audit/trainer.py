"""A callback for transformers' `Trainer`: each checkpoint that it saves is verified before training goes on.

from ln_audit.trainer import NormCallback

Trainer(model, args, train_dataset=data, callbacks=[NormCallback()]).train()
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from ln_audit.errors import UsageError
from ln_audit.formats.shown import shown
from ln_audit.in_process import VerdictError, demand, passed, verified
from ln_audit.saving import LOG, warn

try:
    from transformers import TrainerCallback
except ImportError as error:
    _WAY = 'ln_audit.trainer: expected the transformers package, found it not installed: pip install "ln-audit[record]"'
    raise ImportError(_WAY) from error

if TYPE_CHECKING:
    from ln_audit.result import Report

__all__ = ["NormCallback"]


class NormCallback(TrainerCallback):  # type: ignore[misc]
    """Verifies `checkpoint-N` as soon as the Trainer has saved it.

    `on_failure`, where the verdict is not "pass" (nobody can tell is no pass either): "stop" ends training after this step,
    "raise" raises `VerdictError`, "warn" goes on; each says to the logger `ln_audit` what was found. With `against_model` the
    norms of the checkpoint must be those of the model in memory, in its dtype or rounded to the one that was saved. `options`
    are those of `ln-audit verify`: `lock`, `against` (instead of the model), `strict`, `require`, `family`, …

    The process of world rank 0 verifies, and the others do as it says. `reports` are those of the last checkpoint, empty
    elsewhere. Raises `UsageError` for a call that contradicts itself.
    """

    def __init__(
        self, on_failure: Literal["stop", "warn", "raise"] = "stop", *, against_model: bool = True, **options: Any
    ) -> None:
        if on_failure not in ("stop", "warn", "raise"):
            raise UsageError(f"on_failure: expected stop, warn or raise, found {shown(on_failure)}")
        demand("checkpoint-0", **options)  # what is wrong with the call is said now, and not after an hour of training
        self.on_failure = on_failure
        self.against_model = against_model and options.get("against") is None
        self.options = options
        self.reports: tuple[Report, ...] = ()

    def on_save(self, args: Any, state: Any, control: Any, model: Any = None, **_: Any) -> Any:
        """Verify the checkpoint of this step. Raises `VerdictError` with `on_failure="raise"`."""
        good = True
        if state.is_world_process_zero:
            if self.against_model and model is None:
                raise UsageError("model: expected the model that is trained, found none", hint="against_model=False")
            folder = Path(args.output_dir) / f"checkpoint-{state.global_step}"
            self.reports = verified(folder, live=model if self.against_model else None, **self.options)
            good = passed(self.reports)
            if not good:
                warn(self.reports)
        if _agreed(good) or self.on_failure == "warn":
            return control
        if self.on_failure == "raise":
            raise VerdictError(self.reports)
        LOG.warning("ln-audit: training stops after step %d", state.global_step)
        control.should_training_stop = True
        return control


def _agreed(good: bool) -> bool:
    """What world rank 0 found, in every process: one that stopped alone would leave the others waiting for it."""
    import torch.distributed as processes

    if not (processes.is_available() and processes.is_initialized()):
        return good
    found = [good]
    processes.broadcast_object_list(found, src=0)
    return bool(found[0])
