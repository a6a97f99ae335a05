"""The callback in real training: every checkpoint is verified, and a broken one stops the run."""

import logging
import re
from pathlib import Path
from typing import Any

import pytest

from ln_audit.errors import UsageError
from ln_audit.in_process import VerdictError
from tests.peers.torch_models import tiny
from tests.shared import FIXTURES

torch: Any = pytest.importorskip("torch")
transformers: Any = pytest.importorskip("transformers")
pytest.importorskip("accelerate")

from ln_audit import trainer as callbacks  # noqa: E402
from ln_audit.trainer import NormCallback  # noqa: E402

pytestmark = [pytest.mark.peers, pytest.mark.filterwarnings("ignore")]


class Tampering(transformers.Trainer):  # type: ignore[misc]
    """A Trainer whose first checkpoint is changed between being written and being announced."""

    tamper: Any = None

    def _save_checkpoint(self, model: Any, trial: Any) -> None:
        super()._save_checkpoint(model, trial)
        folder = Path(self._get_output_dir(trial)) / f"checkpoint-{self.state.global_step}"
        if self.tamper is not None and self.state.global_step == 1:
            self.tamper(folder)


def shifted(folder: Path) -> None:
    """One gain less 1: what a wrong convention does."""
    from safetensors.torch import load_file, save_file

    tensors = load_file(folder / "model.safetensors")
    tensors["model.norm.weight"] -= 1
    save_file(tensors, folder / "model.safetensors", {"format": "pt"})


def lost(folder: Path) -> None:
    (folder / "model.safetensors").write_bytes(b"")


def trained(tmp_path: Path, callback: Any, tamper: Any = None, **more: Any) -> Any:
    """A run of three steps that saves after each."""
    data = [{"input_ids": list(range(8)), "labels": list(range(8))}] * 3
    settings = transformers.TrainingArguments(
        output_dir=str(tmp_path), max_steps=3, save_steps=1, save_strategy="steps", per_device_train_batch_size=1,
        report_to=[], disable_tqdm=True, use_cpu=True, learning_rate=0.01, logging_strategy="no", **more,
    )  # fmt: skip
    made = Tampering(tiny("llama").train(), settings, train_dataset=data, callbacks=[callback])
    made.tamper = tamper
    return made


def test_every_checkpoint_is_held_to_the_model_in_memory(tmp_path):
    seen = []

    class Listening(NormCallback):
        def on_save(self, *args: Any, **kwargs: Any) -> Any:
            control = super().on_save(*args, **kwargs)
            (report,) = self.reports
            assert report.against is not None
            seen.append((Path(report.source.spec).name, report.verdict.word, report.against.source.identity))
            return control

    run = trained(tmp_path, Listening())
    run.train()
    assert run.state.global_step == 3
    assert seen == [(f"checkpoint-{step}", "pass", "the model in memory") for step in (1, 2, 3)]


@pytest.mark.parametrize(("tamper", "word"), [(shifted, "FAIL"), (lost, "INCOMPLETE")])
def test_a_checkpoint_that_is_broken_or_cannot_be_read_stops_training(tmp_path, caplog, tamper, word):
    callback = NormCallback()
    run = trained(tmp_path, callback, tamper)
    with caplog.at_level(logging.WARNING, logger="ln_audit"):
        run.train()
    assert run.state.global_step == 1
    told = [record.getMessage() for record in caplog.records if record.name == "ln_audit"]
    assert told[0].startswith(f"ln-audit: {word} {tmp_path / 'checkpoint-1'}: ")
    assert told[0].endswith(f" → {VerdictError(callback.reports).hint}")
    assert told[1:] == ["ln-audit: training stops after step 1"]


def test_or_raises_or_only_warns(tmp_path, caplog):
    with pytest.raises(VerdictError, match="LN301 differs-from-source"):
        trained(tmp_path / "a", NormCallback("raise"), shifted).train()
    caplog.clear()
    with caplog.at_level(logging.INFO, logger="ln_audit"):
        trained(tmp_path / "c", NormCallback()).train()
    said = [record.getMessage() for record in caplog.records if record.name == "ln_audit"]
    assert said == [f"ln-audit: PASS {tmp_path / 'c' / f'checkpoint-{step}'}" for step in (1, 2, 3)]
    caplog.clear()
    run = trained(tmp_path / "b", NormCallback("warn"), shifted)
    with caplog.at_level(logging.WARNING, logger="ln_audit"):
        run.train()
    assert (run.state.global_step, len(caplog.records)) == (3, 1)


def test_without_the_model_in_memory_the_checkpoint_is_held_to_its_own_config_alone(tmp_path):
    callback = NormCallback(against_model=False)
    run = trained(tmp_path, callback, shifted)
    run.train()
    assert run.state.global_step == 3  # no value of a gain is wrong by itself
    assert callback.reports[0].against is None


def test_another_source_takes_the_place_of_the_model(tmp_path):
    tiny("llama").save_pretrained(tmp_path / "base")
    callback = NormCallback(against=str(tmp_path / "base"), expect="derived", strict=True)
    run = trained(tmp_path / "out", callback)
    run.train()
    (report,) = callback.reports
    assert report.against is not None
    assert (run.state.global_step, report.against.source.spec) == (3, str(tmp_path / "base"))


def test_checkpoints_saved_in_half_precision_are_the_rounded_model(tmp_path):
    run = trained(tmp_path, NormCallback("raise"), bf16=True)
    run.train()
    assert run.state.global_step == 3


def test_a_call_that_makes_no_sense_is_said_before_training():
    with pytest.raises(UsageError, match="on_failure: expected stop, warn or raise, found 'ignore'"):
        NormCallback("ignore")  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="against_model: expected a switch, found 'no'"):
        NormCallback(against_model="no")  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="option: expected the model in its own place, found live among the options"):
        NormCallback(live=tiny("llama"))
    with pytest.raises(UsageError, match="found thorough"):
        NormCallback(thorough=True)
    with pytest.raises(UsageError, match=r"found stict: did you mean strict\?"):
        NormCallback(stict=True)


def test_what_a_call_names_and_nobody_will_find_is_said_before_training(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("words.safetensors").write_text("no recording")
    for options, message in (
        ({"family": "nofam"}, "family 'nofam': expected one of "),
        ({"family": "own.toml"}, "--family own.toml: expected a family table, found no such file"),
        ({"recording": "x"}, "x: "),
        ({"recording": "words.safetensors"}, "words.safetensors: "),
        ({"before": "b.npy", "after": "a.npy"}, "b.npy: "),
        ({"against": "./base"}, "./base: "),
    ):
        with pytest.raises(UsageError, match=f"^{re.escape(message)}"):
            NormCallback(**options)  # type: ignore[arg-type]
    Path("ln-audit.toml").write_text('output_dtype = "float32"\n')
    with pytest.raises(UsageError, match=r"^--output-dtype: expected float32, as ln-audit\.toml says, found bfloat16"):
        NormCallback(output_dtype="bfloat16")
    Path("ln-audit.toml").unlink()
    NormCallback(
        family="llama",
        against="org/model-on-the-hub",
        recording=FIXTURES / "good" / "gpt2-recorded" / "run.safetensors",
    )


def searched(tmp_path: Path, callback: Any, tamper: Any = None, hp_name: Any = None, trials: int = 3) -> Any:
    """A search for hyperparameters whose trials all try the same value."""
    pytest.importorskip("optuna", reason="optuna is not installed")
    run = trained(tmp_path, callback, tamper)
    run.model_init, run.eval_dataset = lambda: tiny("llama").train(), run.train_dataset
    run.hyperparameter_search(
        lambda trial: {"learning_rate": trial.suggest_categorical("learning_rate", [0.01])},
        compute_objective=lambda _: 0.0, n_trials=trials, backend="optuna", hp_name=hp_name,
    )  # fmt: skip
    return run


@pytest.mark.parametrize("hp_name", [None, lambda trial: f"try/{trial.number}"], ids=["numbered", "named"])
def test_in_a_search_for_hyperparameters_the_checkpoint_of_the_trial_at_hand_is_verified(tmp_path, hp_name):
    seen = []

    class Listening(NormCallback):
        def on_save(self, *args: Any, **kwargs: Any) -> Any:
            control = super().on_save(*args, **kwargs)
            (report,) = self.reports
            seen.append((report.source.spec.removeprefix(f"{tmp_path}/"), report.verdict.word))
            return control

    searched(tmp_path, Listening(), hp_name=hp_name)
    run = "run-" if hp_name is None else "try/"
    assert seen == [(f"{run}{trial}/checkpoint-{step}", "pass") for trial in range(3) for step in (1, 2, 3)]


def test_and_one_that_is_broken_ends_its_trial(tmp_path, caplog):
    with caplog.at_level(logging.WARNING, logger="ln_audit"):
        searched(tmp_path, NormCallback(), shifted, trials=2)
    told = [record.getMessage() for record in caplog.records if record.name == "ln_audit"]
    assert [line.partition(": LN")[0] for line in told] == [
        line
        for trial in (0, 1)
        for line in (f"ln-audit: FAIL {tmp_path}/run-{trial}/checkpoint-1", "ln-audit: training stops after step 1")
    ]


def test_a_trial_whose_folder_nobody_finds_cannot_be_told(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for run, said in (("run-1", "{"), ("run-2", '{"trial_name": null, "trial_params": {"a": 2}}'), ("run-3", "[]")):
        (Path("org") / run / "checkpoint-1").mkdir(parents=True)
        (Path("org") / run / "checkpoint-1" / "trainer_state.json").write_text(said)
    state = type("State", (), {
        "is_world_process_zero": True, "global_step": 1, "is_hyper_param_search": True, "trial_name": None,
        "trial_params": {"a": 1},
    })()  # fmt: skip
    callback = NormCallback("warn", against_model=False)
    callback.on_save(type("Args", (), {"output_dir": "org"})(), state, None)
    (report,) = callback.reports
    # It is a path, and never a model of that name on the Hub.
    assert (report.source.spec, report.source.kind, report.verdict.word) == (
        "./org/checkpoint-1",
        "local",
        "incomplete",
    )


class _State:
    is_world_process_zero, global_step = False, 1


def test_other_processes_read_nothing(tmp_path):
    class _Control:
        should_training_stop = False

    control = _Control()
    callback = NormCallback()
    assert callback.on_save(None, _State(), control) is control
    assert (callback.reports, control.should_training_stop) == ((), False)


def _process(rank: int, folder: str) -> None:
    torch.distributed.init_process_group("gloo", f"file://{folder}/meet", rank=rank, world_size=2)
    Path(folder, str(rank)).write_text(str(callbacks._agreed(rank == 1)))
    torch.distributed.destroy_process_group()


def test_all_processes_do_as_the_first_one_says(tmp_path):
    torch.multiprocessing.spawn(_process, (str(tmp_path),), nprocs=2)
    assert [(tmp_path / str(rank)).read_text() for rank in (0, 1)] == ["False", "False"]


def test_without_transformers_the_import_says_what_is_missing():
    import subprocess
    import sys

    code = "import sys; sys.modules['transformers'] = None; import ln_audit.trainer"
    made = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert made.returncode == 1
    told = 'ImportError: ln_audit.trainer: expected the transformers package, found it not installed: pip install "ln-audit[record]"'
    assert made.stderr.splitlines()[-1] == told


def test_a_trainer_that_hands_over_no_model_is_no_comparison():
    state = type("State", (), {"is_world_process_zero": True, "global_step": 1})()
    with pytest.raises(UsageError, match="model: expected the model that is trained, found none"):
        NormCallback().on_save(type("Args", (), {"output_dir": "out"})(), state, None)
