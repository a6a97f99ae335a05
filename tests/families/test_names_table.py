"""The tables of names are what the code takes them for, and hold nothing that no family has."""

import tomllib

import pytest

from ln_audit.families import layouts
from ln_audit.families.names_table import DATA, container, index, layout, names, of_architecture, plain
from ln_audit.families.recognise import index as families
from ln_audit.families.recognise import load
from ln_audit.formats.config import Config
from tests.families.model import checkpoint

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


def test_several_spellings_of_a_name_read_as_the_same_and_the_first_is_written():
    found = names({"names": {"norm": ["a.final", "b.final"], "h.{layer}.ln": "x.{layer}.ln"}})
    assert [found.ours(name) for name in ("a.final.weight", "b.final.weight", "x.3.ln.bias")] == [
        "norm.weight",
        "norm.weight",
        "h.3.ln.bias",
    ]
    assert found.theirs("norm.weight") == "a.final.weight"


def test_plain_names_lose_what_stands_in_front_and_behind():
    rename = plain(
        {"separators": ["_._", "/"], "ends": [":0"], "scope": "tf", "leaves": {"weight": ["gamma"], "bias": ["beta"]}}
    )
    assert (
        rename("bert/tf_bert_for_masked_lm/bert/encoder/layer_._3/LayerNorm/gamma:0")
        == "bert.encoder.layer.3.LayerNorm.weight"
    )
    assert rename("ln_f/beta:0") == "ln_f.bias"


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_an_architectures_names_are_names_of_its_family_there_and_back(architecture):
    found, family = of_architecture("gguf", architecture), load(index()["gguf"][architecture])
    assert found is not None
    assert found.theirs.whole("") is None
    required = [norm.name for norm in family.norms if norm.gain == "required" and norm.name not in found.without]
    for name in required:
        spelt = name.replace("{layer}", "11") + ".weight"
        theirs = found.theirs(spelt)
        assert theirs is not None
        assert found.ours(theirs) == spelt
    assert set(found.without) <= {norm.name for norm in family.norms}
    assert all(key in family.epsilon_keys or "." in key or key in _keys(family) for key in found.config)


def _keys(family):
    return {*family.sizes, *(condition.key for norm in family.norms for condition in norm.when)}


@pytest.mark.parametrize("name", LAYOUTS)
def test_a_layouts_names_are_names_of_its_families(name):
    """Every final norm of a family that has a table is spelt, but one that is there only under a condition."""
    table = layout(name)
    assert name in index()["layouts"]
    assert (table.stands_for or "llama") in {*table.families, "llama"}
    for family_name, found in table.families.items():
        if family_name not in families()["families"]:
            continue
        family = load(family_name)
        for norm in family.norms:
            if norm.gain == "required" and not norm.when and norm.beside is None and norm.role == "final":
                spelt = norm.name.replace("{layer}", "2") + ".weight"
                assert found.ours(str(found.theirs(spelt))) == spelt, (family_name, norm.name)


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


@pytest.mark.parametrize("name", families()["families"])
def test_no_layout_takes_a_checkpoint_of_the_hub_for_its_own(name):
    family = load(name)
    prefixes = ("", *family.prefixes)
    tensors = {f"{prefix}{norm.name.replace('{layer}', '0')}.weight" for prefix in prefixes for norm in family.norms}
    tensors |= {prefix + each for prefix in prefixes for each in family.recognised_by}
    for layout_name, telling in index()["layouts"].items():
        spelt = [{root + each for each in some} for root in telling["roots"] for some in telling["names"]]
        if any(some <= tensors for some in spelt):  # harmless where nothing is read differently then (megatron_gpt)
            told = layout(layout_name)
            assert (name in told.families, told.plain) == (False, None), layout_name
            facts = Config({"model_type": family.model_types[0]} if family.model_types else {}, "config.json")
            assert layouts.family(checkpoint(dict.fromkeys(sorted(tensors), (8,))), facts) is None, layout_name
