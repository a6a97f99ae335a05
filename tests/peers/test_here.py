"""`verify --record`: run and verified in one go, and said so; what cannot be run is incomplete, never a pass."""

import json
import shutil
from typing import Any

import pytest

from ln_audit import cli
from ln_audit.demand import Demand
from ln_audit.output import no_progress
from ln_audit.record.here import verified
from ln_audit.record.recipe import Recipe
from tests.peers.torch_models import saved

pytestmark = pytest.mark.peers
torch: Any = pytest.importorskip("torch")
transformers: Any = pytest.importorskip("transformers")


def test_it_passes_and_says_who_ran_it(tmp_path):
    folder = saved("llama", tmp_path / "llama")
    (report,) = verified(folder, Demand(), Recipe(random=64, dtype="bfloat16"), no_progress)
    (comparison,) = report.comparisons
    assert (report.verdict.word, comparison.status, comparison.positions) == ("pass", "pass", 64)
    assert comparison.recording == "the recording made in this process"
    assert comparison.provenance.startswith(f"recorded in this process by torch {torch.__version__}, transformers ")
    assert comparison.provenance.endswith(", 64 random tokens")
    assert comparison.output_dtype == "bfloat16"


def test_the_command(tmp_path, capsys):
    folder = saved("gpt2", tmp_path / "gpt2")
    assert cli.main(["verify", folder, "--record", "--norm", "h.0.ln_1", "--random", "10"]) == 0
    assert "10 positions" in capsys.readouterr().out
    assert cli.main(["verify", folder, folder, "--record", "--format", "json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert [len(report["comparisons"]) for report in document["reports"]] == [1, 1]


def test_what_cannot_be_run_is_incomplete_and_what_is_missing_still_fails(tmp_path, capsys):
    from safetensors.torch import load_file, save_file

    folder = tmp_path / "gpt2"
    saved("gpt2", folder)
    whole = load_file(folder / "model.safetensors")
    save_file(
        {name: tensor for name, tensor in whole.items() if name != "transformer.ln_f.bias"},
        folder / "model.safetensors",
        {"format": "pt"},
    )
    (report,) = verified(str(folder), Demand(), Recipe(random=64), no_progress)
    assert report.verdict.word == "fail"
    assert report.error is not None
    assert "transformer.ln_f.bias: expected in the checkpoint, found none" in report.error.message
    shutil.rmtree(folder)
    saved("gpt2", folder)
    (folder / "config.json").write_text((folder / "config.json").read_text().replace('"n_head": 2', '"n_head": 5'))
    assert cli.main(["verify", str(folder), "--record"]) == 3
    assert "expected transformers to load it, found: " in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--random", "5"], "--random: expected --record, which it belongs to, found none"),
        (["--record", "--random", "0"], "--random: expected a whole number of tokens above 0, found '0'"),
        (
            ["--record", "--random", "5", "--text", "x"],
            "--text, --tokens and --random: expected one of them, found --text and --random",
        ),
        (["--record", "--dtype", "int8"], "--dtype: expected one of float32, bfloat16, float16, found 'int8'"),
    ],
)
def test_a_call_that_contradicts_itself(words, told, capsys):
    assert cli.main(["verify", "sample", *words]) == 2
    assert capsys.readouterr().err.startswith(f"ln-audit: {told}")


def test_a_recording_needs_a_target_to_be_made_of(capsys):
    assert cli.main(["verify", "--record"]) == 2
    assert "expected" in capsys.readouterr().err


def test_the_norm_that_a_policy_names_for_a_target_is_the_one_that_is_recorded(tmp_path, monkeypatch, capsys):
    saved("gpt2", tmp_path / "gpt2")
    (tmp_path / "ln-audit.toml").write_text(
        '[[target]]\ntarget = "gpt2"\nnorm = "h.0.ln_1"\n[[target]]\ntarget = "./gpt2"\n'
    )
    monkeypatch.chdir(tmp_path)
    assert cli.main(["verify", "--record", "--format", "json"]) == 0
    document = json.loads(capsys.readouterr().out)
    norms = [comparison["norm"] for report in document["reports"] for comparison in report["comparisons"]]
    assert norms == ["transformer.h.0.ln_1", "transformer.ln_f"]
