"""`ln-audit record`: a folder becomes a recording that its own `verify` passes; what cannot be run says why."""

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ln_audit import cli, output
from ln_audit.demand import Demand
from ln_audit.errors import RecordingError, UsageError
from ln_audit.record.recipe import Recipe
from ln_audit.record.run import record
from tests.peers.torch_models import FINAL, read, saved, tiny

pytestmark = pytest.mark.peers
torch: Any = pytest.importorskip("torch")
transformers: Any = pytest.importorskip("transformers")


def run(*words: Any) -> int:
    return cli.main([str(word) for word in words])


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    return {family: saved(family, tmp_path_factory.mktemp(family)) for family in FINAL}


@pytest.fixture
def folder(folders, tmp_path):
    return shutil.copytree(folders["gpt2"], tmp_path / "gpt2")


def recorded(folder, path, recipe, **demand):
    return record(str(folder), str(path), recipe, Demand(**demand), output.no_progress)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize("family", FINAL)
def test_what_record_writes_verify_passes(folders, tmp_path, capsys, family, dtype):
    path = tmp_path / "run.safetensors"
    assert run("record", folders[family], "--random", 100, "--dtype", dtype, "-o", path) == 0
    told = capsys.readouterr()
    assert told.out.startswith(f"{path}: 100 positions of {FINAL[family]}, {path.stat().st_size:,} bytes (torch ")
    assert told.out.endswith(f"  → ln-audit verify {folders[family]} --recording {path}\n")
    assert told.err == ""
    tensors, metadata = read(path)
    assert (tensors["before"].dtype, len(tensors["tokens"].reshape(-1))) == (getattr(torch, dtype), 100)
    assert metadata["model"] == Path(folders[family]).name
    assert "record on 100 random tokens" in metadata["made_with"]
    assert run("verify", folders[family], "--recording", path, "--require", "all", "--strict") in (0, 3)
    assert run("verify", folders[family], "--recording", path) == 0


def test_a_sharded_checkpoint(tmp_path):
    tiny("llama").save_pretrained(tmp_path / "llama", max_shard_size="10KB")
    assert len(list((tmp_path / "llama").glob("*.safetensors"))) > 2
    path = tmp_path / "run.safetensors"
    recorded(tmp_path / "llama", path, Recipe(random=20, all_norms=True))
    assert run("verify", tmp_path / "llama", "--recording", path) == 0


def test_all_norms_and_hidden_states(folders, tmp_path):
    path = tmp_path / "run.safetensors"
    made = recorded(folders["gpt2"], path, Recipe(random=50, all_norms=True, hidden_states=True))
    assert (made.positions, made.size, len(made.norms)) == (50, path.stat().st_size, 5)
    tensors, metadata = read(path)
    assert {f"hidden_states.{i}" for i in range(3)} < set(tensors)
    assert metadata["note"].startswith("hidden_states.N is what transformers returns")
    assert torch.equal(tensors["hidden_states.2"], tensors["transformer.ln_f/after"])
    assert run("verify", folders["gpt2"], "--recording", path) == 0
    state, after = f"{path}:hidden_states.2", f"{path}:transformer.ln_f/after"
    assert run("verify", folders["gpt2"], "--before", state, "--after", after) == 1


def test_norms_by_name(folders, tmp_path):
    path = tmp_path / "run.safetensors"
    made = recorded(folders["gpt2"], path, Recipe(random=50, norms=("transformer.h.0.ln_1", "h.1.ln_2")))
    assert made.norms == ("transformer.h.0.ln_1", "transformer.h.1.ln_2")
    with pytest.raises(UsageError, match="--norm h.9: expected a module of the model, found none of that name"):
        recorded(folders["gpt2"], path, Recipe(random=50, norms=("h.9",)))


def test_tokens_of_a_file(folders, tmp_path):
    ids = np.random.default_rng(0).integers(0, 50, (3, 31))
    np.save(tmp_path / "ids.npy", ids)
    recorded(folders["llama"], tmp_path / "run.safetensors", Recipe(tokens=str(tmp_path / "ids.npy")))
    assert read(tmp_path / "run.safetensors")[0]["tokens"].reshape(-1).tolist() == ids.reshape(-1).tolist()


def test_a_text_through_the_models_own_tokenizer(folder, tmp_path):
    from tokenizers import Tokenizer, models, pre_tokenizers

    with pytest.raises(RecordingError, match="gpt2: expected a tokenizer for --text, found: ") as caught:
        recorded(folder, tmp_path / "run.safetensors", Recipe(text="to be or not to be"))
    assert "--random N" in caught.value.hint
    words = Tokenizer(models.WordLevel({"to": 3, "be": 4, "or": 5, "not": 6, "?": 7}, unk_token="?"))
    words.pre_tokenizer = pre_tokenizers.Whitespace()
    transformers.PreTrainedTokenizerFast(tokenizer_object=words, unk_token="?").save_pretrained(folder)
    recorded(folder, tmp_path / "run.safetensors", Recipe(text="to be or not to be"))
    tensors, metadata = read(tmp_path / "run.safetensors")
    assert (tensors["tokens"].tolist(), metadata["text"]) == ([[3, 4, 5, 6, 3, 4]], "to be or not to be")
    with pytest.raises(UsageError, match="--text: expected a text of at least one token"):
        recorded(folder, tmp_path / "run.safetensors", Recipe(text=""))


def test_a_long_run_goes_in_segments_and_tells_its_progress(folders, tmp_path):
    told = []
    recipe = Recipe(random=100)
    record(folders["gpt2"], str(tmp_path / "run.safetensors"), recipe, Demand(), lambda *done: told.append(done))
    assert told == [(38, 100), (76, 100), (100, 100)]  # 40 positions, less the two that some models count from


def test_an_interrupted_run_leaves_nothing(folders, tmp_path):
    def interrupt(done, _):
        if done > 50:
            raise KeyboardInterrupt

    path = tmp_path / "run.safetensors"
    path.write_bytes(b"the last one")
    with pytest.raises(KeyboardInterrupt):
        record(folders["gpt2"], str(path), Recipe(random=100), Demand(), interrupt)
    assert [(each.name, each.read_bytes()) for each in tmp_path.iterdir()] == [("run.safetensors", b"the last one")]


def test_an_encoder_decoder_records_the_stack_that_is_asked_for(tmp_path):
    config = transformers.T5Config(
        d_model=32,
        d_kv=16,
        d_ff=32,
        num_layers=1,
        num_decoder_layers=1,
        num_heads=2,
        vocab_size=50,
        decoder_start_token_id=0,
    )
    model = transformers.T5ForConditionalGeneration(config)
    model.save_pretrained(tmp_path / "t5")
    recipe = Recipe(random=20, norms=("decoder.final_layer_norm",), hidden_states=True)
    recorded(tmp_path / "t5", tmp_path / "run.safetensors", recipe)
    tensors, _ = read(tmp_path / "run.safetensors")
    assert (tensors["before"].shape, tensors["tokens"][0, 0].item()) == ((1, 20, 32), 0)
    assert torch.equal(tensors["hidden_states.1"], tensors["after"])


def test_a_norm_that_the_files_do_not_hold_is_not_recorded(folder, tmp_path):
    from safetensors.torch import load_file, save_file

    tensors = load_file(folder / "model.safetensors")
    del tensors["transformer.ln_f.weight"]
    save_file(tensors, folder / "model.safetensors", {"format": "pt"})
    with pytest.raises(
        RecordingError, match=r"gpt2: transformer\.ln_f\.weight: expected in the checkpoint, found none"
    ):
        recorded(folder, tmp_path / "run.safetensors", Recipe(random=50))


def test_models_that_read_no_tokens_or_need_their_own_code(folder, tmp_path):
    small = transformers.ViTConfig(
        hidden_size=32, num_hidden_layers=1, num_attention_heads=2, intermediate_size=32, image_size=8, patch_size=4
    )
    transformers.ViTModel(small).save_pretrained(tmp_path / "vit")
    recipe = Recipe(random=50, norms=("layernorm",))
    with pytest.raises(
        RecordingError, match="vit: expected a model that reads tokens, found one that reads pixel_values"
    ):
        recorded(tmp_path / "vit", tmp_path / "run.safetensors", recipe)
    config = json.loads((folder / "config.json").read_text())
    config |= {"model_type": "own-code", "auto_map": {"AutoConfig": "own.Config"}}
    (folder / "config.json").write_text(json.dumps(config))
    with pytest.raises(RecordingError, match="gpt2: expected transformers to load it, found: ") as caught:
        recorded(folder, tmp_path / "run.safetensors", Recipe(random=50))
    assert "ln_audit.capture" in caught.value.hint


def test_a_device_that_is_none(folders, tmp_path):
    with pytest.raises(UsageError, match="--device: expected a device that torch knows, found 'gpu'"):
        recorded(folders["gpt2"], tmp_path / "run.safetensors", Recipe(random=50, device="gpu"))
    with pytest.raises(RecordingError, match="expected transformers to load it, found: "):
        recorded(folders["gpt2"], tmp_path / "run.safetensors", Recipe(random=50, device="cuda:99"))


def test_the_command_says_what_it_needs(folders, tmp_path, capsys):
    assert run("record", folders["gpt2"], "--random", 5) == 2
    assert capsys.readouterr().err.startswith(
        "ln-audit: --output: expected a file to write the recording to, found none"
    )
    assert run("record", folders["gpt2"], "-o", tmp_path / "run.safetensors") == 2
    assert "--text, --tokens and --random: expected one of them, found none" in capsys.readouterr().err
    assert run("record", tmp_path / "none", "--random", 5, "-o", tmp_path / "run.safetensors") == 3
    assert run("record", folders["gpt2"], "--random", 5, "-o", tmp_path / "run.safetensors", "--quiet") == 0
    assert capsys.readouterr().out == ""
