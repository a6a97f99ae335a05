"""A callback for transformers' `Trainer`: each checkpoint that it saves is verified before training goes on.

from ln_audit.trainer import NormCallback

Trainer(model, args, train_dataset=data, callbacks=[NormCallback()]).train()
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from ln_audit import arguments, policy
from ln_audit.errors import AuditError, UsageError
from ln_audit.families import recognise
from ln_audit.in_process import VerdictError, demand, passed, verified, without_model
from ln_audit.recording import open_pair, open_recording
from ln_audit.saving import LOG, say
from ln_audit.sources import local
from ln_audit.sources.settings import Settings

try:
    from transformers import TrainerCallback
except ImportError as error:
    _WAY = 'ln_audit.trainer: expected the transformers package, found it not installed: pip install "ln-audit[record]"'
    raise ImportError(_WAY) from error

if TYPE_CHECKING:
    from ln_audit.demand import Demand
    from ln_audit.result import Report

__all__ = ["NormCallback"]


class NormCallback(TrainerCallback):  # type: ignore[misc]
    """Verifies `checkpoint-N` as soon as the Trainer has saved it, also in each trial of `hyperparameter_search`.

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
        arguments.choice("on_failure", on_failure, ("stop", "warn", "raise"))
        without_model(options)
        _known_now(demand("./checkpoint-0", **options))  # and not after an hour of training
        self.on_failure = on_failure
        self.against_model = arguments.switch("against_model", against_model) and options.get("against") is None
        self.options = options
        self.reports: tuple[Report, ...] = ()

    def on_save(self, args: Any, state: Any, control: Any, model: Any = None, **_: Any) -> Any:
        """Verify the checkpoint of this step. Raises `VerdictError` with `on_failure="raise"`."""
        good = True
        if state.is_world_process_zero:
            if self.against_model and model is None:
                raise UsageError("model: expected the model that is trained, found none", hint="against_model=False")
            folder = local.only_path(str(_folder(Path(args.output_dir), state)))
            self.reports = verified(folder, live=model if self.against_model else None, **self.options)
            good = passed(self.reports)
            say(self.reports)
        if _agreed(good) or self.on_failure == "warn":
            return control
        if self.on_failure == "raise":
            raise VerdictError(self.reports)
        LOG.warning("ln-audit: training stops after step %d", state.global_step)
        control.should_training_stop = True
        return control


def _known_now(asked: Demand) -> None:
    """Raises `UsageError` for what a call names and nobody will find: a family, a recording, a source on this machine."""
    asked = policy.held(asked)
    if asked.family is not None:
        recognise.given(asked.family, {} if asked.policy is None else asked.policy.families)
    try:
        for path in asked.recordings:
            open_recording(path)
        if asked.before is not None and asked.after is not None:
            open_pair(asked.before, asked.after)
        if asked.against is not None and local.accepts(asked.against):
            local.open_source(asked.against, Settings())
    except AuditError as error:
        raise UsageError(error.message, hint=error.hint) from error


def _folder(output: Path, state: Any) -> Path:
    """Where the Trainer has just saved: `checkpoint-N`; in a search for hyperparameters that of the trial at hand.

    A trial saves below `run-ID`, or the name that `hp_name` gives it. Nobody tells a callback the ID: it is the newest of those
    that say to be of these parameters.
    """
    name = f"checkpoint-{state.global_step}"
    if not getattr(state, "is_hyper_param_search", False):
        return output / name
    runs = output.glob("run-*") if state.trial_name is None else [output / str(state.trial_name)]
    folders = [output / name, *(run / name for run in runs)]
    return max(folders, key=lambda folder: _saved_at(folder, state))


def _saved_at(folder: Path, state: Any) -> int:
    """When a checkpoint of this trial was written there, in nanoseconds; 0 where there is none."""
    file = folder / "trainer_state.json"
    try:
        said = json.loads(file.read_bytes())
        ours = said["trial_name"] == state.trial_name and _spelt(said["trial_params"]) == _spelt(state.trial_params)
        return file.stat().st_mtime_ns if ours else 0
    except (OSError, ValueError, LookupError, TypeError):
        return 0


def _spelt(parameters: Any) -> str:
    """A trial's parameters as the Trainer writes them."""
    return json.dumps(parameters, sort_keys=True)


def _agreed(good: bool) -> bool:
    """What world rank 0 found, in every process: one that stopped alone would leave the others waiting for it."""
    import torch.distributed as processes

    if not (processes.is_available() and processes.is_initialized()):
        return good
    found = [good]
    processes.broadcast_object_list(found, src=0)
    return bool(found[0])
