from __future__ import annotations

import pytest

from ln_audit.errors import FormatError
from ln_audit.formats.loader_order import Choice, choose, each_alone, listed, standard, standing_alone

SET = ["model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"]
INDEX = "model.safetensors.index.json"


@pytest.mark.parametrize(
    ("names", "files", "beside"),
    [
        (["config.json", "model.safetensors"], ["model.safetensors"], []),
        (["model.safetensors", INDEX, *SET], ["model.safetensors"], [INDEX]),
        ([INDEX, *SET], [INDEX], []),
        ([INDEX, *SET, "consolidated.safetensors"], [INDEX], ["consolidated.safetensors"]),
        (["model.safetensors", "pytorch_model.bin", "training_args.bin"], ["model.safetensors"], ["pytorch_model.bin"]),
        (["model.safetensors", "adapter_model.safetensors"], ["model.safetensors"], ["adapter_model.safetensors"]),
        (["model.safetensors", *SET], ["model.safetensors"], SET),
        (["weights.safetensors", "README.md"], ["weights.safetensors"], []),
        (["adapter_model.safetensors"], ["adapter_model.safetensors"], []),
        (["consolidated.safetensors"], ["consolidated.safetensors"], []),
        (["a.safetensors", "adapter_model.safetensors"], ["a.safetensors"], ["adapter_model.safetensors"]),
        (["a.safetensors", "b.safetensors"], ["a.safetensors", "b.safetensors"], []),
        (["model-00001-of-00001.safetensors"], ["model-00001-of-00001.safetensors"], []),
        (["model.fp16.safetensors.index.json", "model.fp16-00001-of-00002.safetensors"], ["model.fp16.safetensors.index.json"], []),
        (["sub/model.safetensors", "w.safetensors"], ["w.safetensors"], []),
        (["sub/model.safetensors"], [], []),
        (["pytorch_model.bin"], [], ["pytorch_model.bin"]),
        ([], [], []),
    ],
)  # fmt: skip
def test_the_loaders_choice(names, files, beside):
    assert choose(names, "model.safetensors", (".safetensors",), (".bin", ".gguf")) == Choice(
        tuple(files), tuple(beside)
    )


@pytest.mark.parametrize(
    ("names", "files", "beside"),
    [
        (["b-Q8_0.gguf", "b-Q4_0.gguf", "README.md"], ["b-Q8_0.gguf", "b-Q4_0.gguf"], []),
        (["m-00001-of-00003.gguf", "m-00002-of-00003.gguf", "m-00003-of-00003.gguf"], ["m-00001-of-00003.gguf"], []),
        (["m.gguf", "mmproj-m-f16.gguf", "imatrix.gguf"], ["m.gguf"], ["mmproj-m-f16.gguf", "imatrix.gguf"]),
        (["mmproj.gguf"], ["mmproj.gguf"], []),
        (["m.gguf", "model.bin"], ["m.gguf"], ["model.bin"]),
        (["sub/m.gguf"], [], []),
    ],
)
def test_files_that_stand_alone_are_an_artifact_each(names, files, beside):
    assert each_alone(names, (".gguf",), (".bin",)) == Choice(tuple(files), tuple(beside))


@pytest.mark.parametrize(
    ("names", "files", "beside"),
    [
        (["data.npz", "weights.npz"], ["weights.npz"], ["data.npz"]),
        (["other.npz", "state_dict.npz", "MODEL.npz"], ["state_dict.npz", "MODEL.npz"], ["other.npz"]),
        (["a.npz", "b.npz"], ["a.npz", "b.npz"], []),
        (["data.npz"], ["data.npz"], []),
        (["ema.npz", "model.npz"], ["ema.npz", "model.npz"], []),
        (["schema.npz", "model.npz"], ["model.npz"], ["schema.npz"]),
        (["last.npz", "model.npz", "blast.npz"], ["last.npz", "model.npz"], ["blast.npz"]),
    ],
)
def test_where_a_suffix_is_that_of_data_too_names_decide(names, files, beside):
    assert each_alone(names, (".npz",), only_models=False) == Choice(tuple(files), tuple(beside))
    assert each_alone(names, (".npz",)) == Choice(tuple(names), ())


@pytest.mark.parametrize(
    ("names", "data", "files", "beside"),
    [
        (["model.pt", "train_tokens.pt"], [], ["model.pt"], ["train_tokens.pt"]),
        (["ckpt.pt", "train.bin"], ["train.bin"], ["ckpt.pt"], ["train.bin"]),
        (["epoch=3.ckpt", "model.pt", "x.pt"], [], ["epoch=3.ckpt", "model.pt"], ["x.pt"]),
        (["x.pt", "x.bin.index.json", "x-00001-of-00002.bin"], [], ["x.bin.index.json"], ["x.pt"]),
        (["consolidated.00.pth", "x.pt"], [], ["x.pt"], ["consolidated.00.pth"]),
        (["train.bin"], ["train.bin"], [], ["train.bin"]),
        (["pytorch_model.bin", "model.pt"], ["pytorch_model.bin"], ["pytorch_model.bin"], ["model.pt"]),
    ],
)
def test_data_beside_a_checkpoint_is_left_aside_and_told(names, data, files, beside):
    assert choose(names, "pytorch_model.bin", (".bin", ".pt", ".pth", ".ckpt"), (), data) == Choice(
        tuple(files), tuple(beside)
    )


def test_the_name_that_is_asked_for_is_the_file_before_its_index():
    assert standard([INDEX, "model.safetensors"], "model.safetensors") == "model.safetensors"
    assert standard([INDEX], "model.safetensors") == INDEX
    assert standard(["sub/model.safetensors"], "model.safetensors") is None
    assert standard(["", ".index.json"], "") is None


def test_neither_shards_nor_what_training_leaves_stand_alone():
    names = ["a.bin", "sub/b.bin", "optimizer.bin", "m-00001-of-00002.bin", "c.pt"]
    assert standing_alone(names, ".bin") == ["a.bin"]


def test_shards_without_an_index_are_refused():
    with pytest.raises(FormatError) as caught:
        choose(["lora.safetensors", *SET], "model.safetensors", (".safetensors",))
    assert caught.value.message == f"{SET[0]}: expected {INDEX} beside it, found 2 shards without an index"


def test_a_long_listing_is_cut():
    assert listed([]) == "no file"
    assert listed(["a", "b"]) == "a, b"
    assert listed([str(i) for i in range(8)]) == "0, 1, 2, 3, 4, 5, 6, 7"
    assert listed([str(i) for i in range(1_009)]) == "0, 1, 2, 3, 4, 5, 6, 7 and 1,001 more"
