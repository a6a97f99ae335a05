"""A changed file becomes the target that covers it: what a verdict on it alone would get wrong, its model gets right."""

import shutil

import numpy as np
import pytest
from safetensors.numpy import save_file

from ln_audit import cli
from ln_audit.hooks.changed import has_weights, of_checkpoint, targets
from tests.formats import torch_files
from tests.shared import FIXTURES

POINTER = b"version https://git-lfs.github.com/spec/v1\noid sha256:" + b"a" * 64 + b"\nsize 548105171\n"


@pytest.fixture
def repo(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("gpt2-sharded", "gpt2-safetensors"):
        shutil.copytree(FIXTURES / "good" / name, tmp_path / "models" / name)
        (tmp_path / "models" / name / "expected.json").unlink()
    return tmp_path


def test_a_shard_an_index_and_a_config_stand_for_their_model(repo):
    sharded = "models/gpt2-sharded"
    files = ["model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors", "model.safetensors.index.json"]
    assert cli.main(["verify", f"{sharded}/{files[0]}", "--quiet"]) == 1  # what a hook must not say of a good model
    for file in [*files, "config.json"]:
        assert (file, targets([f"{sharded}/{file}"])) == (file, (f"./{sharded}",))
    assert targets([f"{sharded}/{file}" for file in files]) == (f"./{sharded}",)


def test_the_root_of_the_repository_is_a_folder_too(repo, monkeypatch):
    monkeypatch.chdir(repo / "models" / "gpt2-safetensors")
    assert targets(["model.safetensors", "config.json"]) == (".",)


def test_a_folder_called_like_the_sample_is_itself(repo, capsys):
    (repo / "models" / "gpt2-safetensors").rename(repo / "sample")
    assert targets(["sample/model.safetensors"]) == ("./sample",)
    assert cli.main(["verify", "./sample", "--format", "json"]) == 0
    assert '"kind": "local"' in capsys.readouterr().out


def test_what_a_loader_would_leave_aside_is_verified_itself(repo):
    folder = repo / "models" / "gpt2-safetensors"
    for name in ("other.safetensors", "model.fp16-00001-of-00002.safetensors", "stray-00001-of-00002.safetensors"):
        shutil.copy(folder / "model.safetensors", folder / name)
    (folder / "model.fp16.safetensors.index.json").write_text("{}")
    base = "models/gpt2-safetensors"
    assert targets([f"{base}/other.safetensors"]) == (f"./{base}/other.safetensors",)
    assert targets([f"{base}/stray-00001-of-00002.safetensors"]) == (f"./{base}/stray-00001-of-00002.safetensors",)
    index = f"./{base}/model.fp16.safetensors.index.json"
    assert targets([f"{base}/model.fp16-00001-of-00002.safetensors", index]) == (index,)


def test_shards_without_an_index_are_for_the_folder_to_refuse(repo, capsys):
    (repo / "models" / "gpt2-sharded" / "model.safetensors.index.json").unlink()
    assert targets(["models/gpt2-sharded/model-00001-of-00002.safetensors"]) == ("./models/gpt2-sharded",)
    assert cli.main(["verify", "./models/gpt2-sharded"]) == 3
    assert "expected model.safetensors.index.json beside it" in capsys.readouterr().out


def test_files_that_stand_alone_are_targets_by_themselves(repo):
    (repo / "gguf").mkdir()
    for name in ("a-Q4.gguf", "a-Q8.gguf", "big-00001-of-00003.gguf", "big-00003-of-00003.gguf"):
        (repo / "gguf" / name).write_bytes(b"GGUF")
    assert targets(["gguf/a-Q8.gguf"]) == ("./gguf/a-Q8.gguf",)
    assert targets(["gguf/big-00003-of-00003.gguf"]) == ("./gguf/big-00001-of-00003.gguf",)
    assert targets(["x/model.onnx", "x/model.onnx.data", "x/model.onnx_data"]) == ("./x/model.onnx",)


def test_the_config_of_another_program_is_no_models(repo):
    (repo / "web").mkdir()
    (repo / "web" / "config.json").write_text('{"port": 80}')
    assert targets(["web/config.json"]) == ()
    (repo / "web" / "config.json").write_text('{"model_type": "gpt2"}')
    assert targets(["web/config.json"]) == ("./web",)  # of which nothing is there to be checked
    assert cli.main(["verify", "./web", "--quiet"]) == 3
    assert targets(["gone/config.json"]) == ("./gone",)
    assert (has_weights("web"), has_weights("gone"), has_weights("models/gpt2-sharded")) == (False, False, True)


def test_a_bin_that_pytorch_did_not_write_is_data_and_what_training_leaves_is_no_model(repo):
    arrays = {"a": np.zeros(2, np.float32)}
    (repo / "tokens.bin").write_bytes(bytes(range(200)))
    (repo / "weights.bin").write_bytes(torch_files.save(torch_files.tensors(arrays)))
    save_file(arrays, repo / "optimizer.safetensors")
    assert targets(["tokens.bin", "weights.bin", "optimizer.safetensors"]) == (
        ".",
    )  # which a loader reads weights.bin of
    assert targets(["tokens.bin"]) == ()


@pytest.mark.parametrize("name", ["pytorch_model.bin", "pytorch_model-00001-of-00002.bin"])
def test_a_damaged_file_that_a_loader_asks_for_by_its_name_is_no_data(repo, name, capsys):
    (repo / "torn").mkdir()
    (repo / "torn" / name).write_bytes(bytes(range(200)))
    (target,) = targets([f"torn/{name}"])
    assert cli.main(["verify", target]) == 3
    assert capsys.readouterr().out.startswith("INCOMPLETE  ./torn")


@pytest.mark.parametrize("name", ["model.safetensors", "pytorch_model.bin", "x.gguf", "x.bin"])
def test_a_git_lfs_pointer_is_cannot_tell(repo, name, capsys):
    (repo / "lfs").mkdir()
    (repo / "lfs" / name).write_bytes(POINTER)
    (target,) = targets([f"lfs/{name}"])
    assert cli.main(["verify", target]) == 3
    assert "found a Git LFS pointer to a file of 548,105,171 bytes" in capsys.readouterr().out


def test_a_file_that_cannot_be_opened_is_a_target_all_the_same(repo):
    assert targets(["gone.bin"]) == ("./gone.bin",)
    (repo / "link.safetensors").symlink_to("nowhere")
    (target,) = targets(["link.safetensors"])
    assert cli.main(["verify", target, "--quiet"]) == 3


def test_letter_case_and_every_suffix_are_seen(repo):
    folder = repo / "models" / "gpt2-safetensors"
    shutil.copy(folder / "model.safetensors", folder / "MODEL.SAFETENSORS")
    base = "models/gpt2-safetensors"
    (target,) = targets([f"{base}/MODEL.SAFETENSORS"])
    assert target == f"./{base}/MODEL.SAFETENSORS"  # no loader of the folder reads that
    assert cli.main(["verify", target, "--quiet", "--config", f"{base}/config.json"]) == 0
    assert targets([f"{base}/Config.json"]) == (f"./{base}",)
    assert targets(["x/Model.ONNX.DATA"]) == ("./x/Model.ONNX",)
    assert targets(["tf/model.ckpt-1.data-00000-of-00001"]) == ("./tf/model.ckpt-1.index",)
    assert targets(["arrays/h.0.ln_1.weight.npy", "arrays/ln_f.weight.npy"]) == ("./arrays",)
    (repo / "upper").mkdir()
    shutil.copy(folder / "model.safetensors", repo / "upper" / "M.SafeTensors")
    assert has_weights("upper")


def test_a_checkpoint_that_is_not_read_cannot_be_told_and_is_no_pass(repo):
    (repo / "flax_model.msgpack").write_bytes(b"\x81\xa1a\x01")
    (target,) = targets(["flax_model.msgpack"])
    assert cli.main(["verify", target, "--quiet"]) == 3


def test_a_file_of_a_checkpoint_is_told_by_its_name_as_the_hooks_pattern_does():
    names = [
        "config.json",
        "a/params.json",
        "M.SafeTensors",
        "a.gguf",
        "a.onnx_data",
        "x.ckpt.data-00000-of-00001",
        "f.msgpack",
    ]
    assert [of_checkpoint(name) for name in [*names, "pytorch_model.bin.index.json"]] == [True] * 8
    assert not any(
        of_checkpoint(name) for name in ("README.md", "tokenizer.json", "a.lock", "x.py", "data", ".gitignore")
    )
