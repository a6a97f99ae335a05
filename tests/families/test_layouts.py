"""Checkpoints under other releases' names: told by names that only they have, and read as the Hub's."""

import numpy as np
import pytest
from safetensors.numpy import save_file

from ln_audit.audit import audit
from ln_audit.core import Declared
from ln_audit.demand import Demand
from ln_audit.families import containers, layouts
from ln_audit.families.recognise import load
from ln_audit.formats.config import Config
from tests.families.model import checkpoint, config, promised

META = {
    "tok_embeddings.weight": (16, 8),
    "layers.0.attention_norm.weight": (8,),
    "layers.0.ffn_norm.weight": (8,),
    "norm.weight": (8,),
    "output.weight": (16, 8),
}
MEGATRON = {
    "embedding.word_embeddings.weight": (16, 8),
    "decoder.layers.0.self_attention.linear_qkv.layer_norm_weight": (8,),
    "decoder.layers.0.self_attention.linear_qkv.layer_norm_bias": (8,),
    "decoder.layers.0.self_attention.linear_qkv.weight": (24, 8),
    "decoder.layers.0.mlp.linear_fc1.layer_norm_weight": (8,),
    "decoder.layers.0.mlp.linear_fc1.layer_norm_bias": (8,),
    "decoder.final_layernorm.weight": (8,),
    "decoder.final_layernorm.bias": (8,),
}
NEMO = {
    "model.language_model.embedding.word_embeddings.weight": (16, 8),
    "model.language_model.encoder.layers.0.input_layernorm.weight": (8,),
    "model.language_model.encoder.layers.0.post_attention_layernorm.weight": (8,),
    "model.language_model.encoder.final_layernorm.weight": (8,),
}
QWEN = {
    "transformer.wte.weight": (16, 8),
    "transformer.h.0.ln_1.weight": (8,),
    "transformer.h.0.ln_2.weight": (8,),
    "transformer.h.0.mlp.w1.weight": (8, 8),
    "transformer.ln_f.weight": (8,),
}
FLAX = {"params/transformer/h/0/ln_1/scale": (8,), "params/transformer/wte/embedding": (16, 8)}
KERAS = {
    "transformer/tfgpt2lm_head_model/transformer/h_._0/ln_1/gamma:0": (8,),
    "transformer/tfgpt2lm_head_model/transformer/h_._0/ln_1/beta:0": (8,),
    "transformer/tfgpt2lm_head_model/transformer/h_._0/attn/c_attn/weight:0": (8, 24),
    "transformer/tfgpt2lm_head_model/transformer/wte/weight:0": (16, 8),
}


@pytest.mark.parametrize(
    ("shapes", "name"),
    [
        (META, "meta"),
        (MEGATRON, "megatron_core"),
        ({f"module.{name}": shape for name, shape in MEGATRON.items()}, "megatron_core"),
        (NEMO, "megatron_lm"),
        (QWEN, "qwen1"),
        (FLAX, "flax"),
        (KERAS, "keras"),
        ({"transformer.wte.weight": (16, 8), "transformer.h.0.ln_1.weight": (8,)}, None),
        ({"model.norm.weight": (8,), "model.layers.0.input_layernorm.weight": (8,)}, None),
        ({"a/b.weight": (8,)}, None),
        ({}, None),
    ],
)
def test_a_layout_is_told_by_its_names(shapes, name):
    found = layouts.find(checkpoint(shapes))
    assert (None if found is None else found.name) == name
    assert containers.view(checkpoint(shapes), "llama").layout == name


def test_metas_release_gives_llamas_norms():
    made = checkpoint(META)
    assert layouts.family(made, None) == (
        "llama",
        "names of Meta's and Mistral's own releases (tok_embeddings.weight, layers.0.attention_norm.weight, …)",
    )
    params = Config({"dim": 8, "n_layers": 1, "n_heads": 2, "norm_eps": 1e-5}, "params.json")
    told = layouts.translated(made, "llama", params)
    assert told is not None
    assert (told.get("rms_norm_eps"), told.get("num_hidden_layers"), told.get("dim")) == (1e-5, 1, 8)
    norms = promised(load("llama"), told, made, Demand())
    assert (norms[-1].eps_source, norms[-1].width_source) == ("params.json: norm_eps", "params.json: dim")
    assert [(n.name, n.promised, n.gain, n.width, n.eps) for n in norms] == [
        ("layers.0.attention_norm", "layers.0.input_layernorm", "layers.0.attention_norm.weight", 8, 1e-5),
        ("layers.0.ffn_norm", "layers.0.post_attention_layernorm", "layers.0.ffn_norm.weight", 8, 1e-5),
        ("norm", "norm", "norm.weight", 8, 1e-5),
    ]


def test_a_norm_that_is_missing_is_named_as_the_release_would_name_it():
    made = checkpoint({name: shape for name, shape in META.items() if "ffn" not in name})
    norms = promised(load("llama"), config(hidden_size=8, num_hidden_layers=1), made, Demand())
    assert norms[1].gain == "layers.0.ffn_norm.weight"


def test_norms_fused_into_the_linear_layer_behind_them_are_found():
    norms = promised(load("nemotron"), config(hidden_size=8, num_hidden_layers=1), checkpoint(MEGATRON), Demand())
    assert [(n.gain, n.bias, n.weight_offset) for n in norms] == [
        ("decoder.layers.0.self_attention.linear_qkv.layer_norm_weight", "decoder.layers.0.self_attention.linear_qkv.layer_norm_bias", 1.0),
        ("decoder.layers.0.mlp.linear_fc1.layer_norm_weight", "decoder.layers.0.mlp.linear_fc1.layer_norm_bias", 1.0),
        ("decoder.final_layernorm.weight", "decoder.final_layernorm.bias", 1.0),
    ]  # fmt: skip
    gpt2 = promised(load("gpt2"), config(n_embd=8, n_layer=1), checkpoint(MEGATRON), Demand())
    assert [n.gain for n in gpt2] == [norm.gain for norm in norms]


def test_nemos_names_are_read_behind_the_module_that_holds_the_model():
    norms = promised(load("llama"), config(hidden_size=8, num_hidden_layers=1), checkpoint(NEMO), Demand())
    assert [n.gain for n in norms] == [name for name in NEMO if "layernorm" in name]


@pytest.mark.parametrize(
    ("config_", "found"),
    [
        (None, "llama"),
        (config(model_type="qwen"), "llama"),
        (config(model_type="gpt2"), None),
        (config(hidden_size=8), "llama"),
    ],
)
def test_a_config_that_names_another_family_is_believed(config_, found):
    told = layouts.family(checkpoint(QWEN), config_)
    assert (None if told is None else told[0]) == found


def test_a_layout_that_stands_for_no_family_says_none():
    assert layouts.family(checkpoint(MEGATRON), None) is None
    assert layouts.family(checkpoint({"a": (1,)}), None) is None


def test_a_config_in_the_hubs_own_keys_stays_as_it_is():
    told = config(hidden_size=8)
    assert layouts.translated(checkpoint(META), "llama", told) is told
    assert layouts.translated(checkpoint({"a": (1,)}), "llama", told) is told
    assert layouts.translated(checkpoint(META), "llama", None) is None


@pytest.mark.parametrize(
    ("shapes", "own"),
    [
        (FLAX, ["transformer.h.0.ln_1.weight", "transformer.wte.weight"]),
        (KERAS, ["transformer.h.0.ln_1.weight", "transformer.h.0.ln_1.bias", "transformer.h.0.attn.c_attn.weight", "transformer.wte.weight"]),
    ],
)  # fmt: skip
def test_flax_and_keras_names_read_as_the_hubs(shapes, own):
    assert list(containers.view(checkpoint(shapes), "gpt2").actual) == own


def test_mlx_keeps_the_hubs_names_and_does_not_say_whether_gains_lack_their_one():
    made = checkpoint({"model.norm.weight": (8,)})
    mlx = type(made)(made.format, made.files, made.tensors, made.read, (Declared("__metadata__.format", "mlx", "x"),))
    seen = containers.view(mlx, "nemotron")
    assert (dict(seen.actual), seen.offset_unknown, seen.layout) == (
        {"model.norm.weight": "model.norm.weight"},
        True,
        "mlx",
    )
    assert not containers.view(made, "nemotron").offset_unknown


def test_a_release_as_mistral_publishes_it_passes_with_the_epsilon_of_its_own_file(tmp_path):
    rng = np.random.default_rng(3)
    tensors = {name: (1 + rng.normal(size=shape) / 8).astype(np.float32) for name, shape in META.items()}
    save_file(tensors, tmp_path / "consolidated.safetensors", metadata={"format": "pt"})
    (tmp_path / "params.json").write_text('{"dim": 8, "n_layers": 1, "n_heads": 2, "norm_eps": 2e-5}')
    (report,) = audit(str(tmp_path), Demand())
    assert report.family is not None
    assert report.family.name == "llama"
    assert [(each.norm.name, each.norm.eps) for each in report.norms] == [
        ("layers.0.attention_norm", 2e-5),
        ("layers.0.ffn_norm", 2e-5),
        ("norm", 2e-5),
    ]
    assert [finding.message for finding in report.findings if finding.status == "fail"] == []


@pytest.mark.parametrize(
    ("more", "found"),
    [
        ({}, ("layer_norm", 0.0, "final_layernorm.bias")),
        ({"apply_layernorm_1p": True}, ("layer_norm", 1.0, "final_layernorm.bias")),
        ({"normalization": "RMSNorm"}, ("rms_norm", 0.0, None)),
    ],
)
def test_a_merged_megatron_checkpoint_has_the_norms_that_its_arguments_say(more, found):
    told = config(model_type="megatron_gpt", hidden_size=8, num_layers=1, **more)
    norms = promised(load("megatron_gpt"), told, checkpoint({"layers.0.input_layernorm.weight": (8,)}))
    assert [(norm.kind, norm.weight_offset, norm.bias) for norm in norms][-1] == found
    assert [norm.name for norm in norms] == [
        "layers.0.input_layernorm",
        "layers.0.post_attention_layernorm",
        "final_layernorm",
    ]
