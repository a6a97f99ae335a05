"""Which tables of names there are, and which of them a checkpoint needs."""

import subprocess
import sys
import tomllib

from ln_audit.families.names_index import DATA, container, index, of_architecture
from ln_audit.families.recognise import index as families

ARCHITECTURES = sorted(index()["gguf"])
LAYOUTS = sorted(path.stem for path in (DATA / "layouts").glob("*.toml"))


def test_a_format_without_a_table_has_the_hubs_names():
    assert container("safetensors") is None
    assert container("npy") is container("npz") or container("npy").format == "npz"  # type: ignore[union-attr]


def test_keys_of_an_architecture_carry_its_name():
    found = of_architecture("gguf", "nemotron")
    assert found is not None
    assert found.config == {
        "hidden_size": "nemotron.embedding_length",
        "num_hidden_layers": "nemotron.block_count",
        "norm_eps": "nemotron.attention.layer_norm_epsilon",
    }
    assert found.weight_offset == 0.0
    assert found.theirs("layers.7.input_layernorm.bias") == "blk.7.attn_norm.bias"
    assert found.ours("blk.7.attn_norm.bias") == "layers.7.input_layernorm.bias"
    assert of_architecture("gguf", "acme") is None
    assert of_architecture("gguf", "../gguf") is None
    assert of_architecture("safetensors", "llama") is None


def test_the_index_lists_what_lies_there():
    variants = {file: architecture for architecture, rows in index()["variants"]["gguf"].items() for _, file in rows}
    assert sorted([*ARCHITECTURES, *variants]) == sorted(path.stem for path in (DATA / "gguf").glob("*.toml"))
    assert sorted(index()["layouts"]) == LAYOUTS
    for file in (*ARCHITECTURES, *variants):
        rows = tomllib.loads((DATA / "gguf" / f"{file}.toml").read_text(encoding="utf-8"))
        architecture = variants.get(file, file)
        assert (rows["architecture"], rows["family"]) == (architecture, index()["gguf"][architecture])
        assert rows["family"] in families()["families"]
    assert index()["families"]["gguf"]["llama"] == "llama"


def test_a_variant_of_an_architecture_is_told_by_a_tensor_that_only_it_has():
    one = of_architecture("gguf", "falcon", {"blk.0.attn_norm.weight"})
    two = of_architecture("gguf", "falcon", {"blk.0.attn_norm.weight", "blk.0.attn_norm_2.weight"})
    assert one is not None
    assert two is not None
    assert (one.ours("blk.3.attn_norm.bias"), two.ours("blk.3.attn_norm.bias")) == (
        "h.3.input_layernorm.bias",
        "h.3.ln_mlp.bias",
    )
    assert two.ours("blk.3.attn_norm_2.bias") == "h.3.ln_attn.bias"
    assert one.config == two.config


def test_a_format_with_the_hubs_names_reads_no_table_of_names():
    code = (
        "import sys; from ln_audit.families.names_index import container; container('safetensors');"
        "print('ln_audit.families.names_table' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False\n"
