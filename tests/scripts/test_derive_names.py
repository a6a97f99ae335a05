"""The GGUF names are what the script makes of the gguf package and the family tables today."""

import tomllib

import gguf
import pytest

from ln_audit.families.table import parse
from scripts import derive_names

TABLE = """
name = "acme"
model_types = ["acme"]
prefixes = ["model.", ""]
tied = [["embed_tokens.weight", "lm_head.weight"]]
[sizes.hidden_size]
[sizes.num_hidden_layers]
[sizes.head_dim]
product = ["hidden_size"]
over = [4]
[epsilon]
keys = ["rms_norm_eps", "eps"]
[[norm]]
name = "layers.{layer}.input_layernorm"
role = "block"
kind = "rms_norm"
shape = ["hidden_size"]
layers = "num_hidden_layers"
[[norm]]
name = "layers.{layer}.self_attn.q_norm"
role = "qk"
kind = "rms_norm"
shape = ["head_dim"]
layers = "num_hidden_layers"
beside = "layers.{layer}.self_attn."
[[norm]]
name = "layers.{layer}.self_attn.norms.{head}"
role = "qk"
kind = "rms_norm"
shape = ["head_dim"]
layers = "num_hidden_layers"
beside = "layers.{layer}.self_attn.norms.{head}."
[[norm]]
name = "norm"
role = "final"
kind = "rms_norm"
shape = ["hidden_size"]
"""


def rows(table=TABLE, arch=gguf.MODEL_ARCH.QWEN3, **row):
    row = {"model_types": ["acme"], "source": "acme.py"} | row
    return tomllib.loads(derive_names._architecture("qwen3", arch, parse(table, "acme.toml"), row))


def test_what_lies_in_the_package_is_up_to_date():
    files, _ = derive_names.build()
    if files["gguf/gpt2.toml"].partition("\n")[0] not in (derive_names.NAMES / "gguf" / "gpt2.toml").read_text(
        encoding="utf-8"
    ):
        pytest.skip("they were derived from another version of the gguf package")
    written = {str(p.relative_to(derive_names.NAMES)): p for p in (derive_names.NAMES / "gguf").glob("*.toml")}
    assert sorted(written) == sorted(name for name in files if name != "index.json")
    for name, text in files.items():
        assert (derive_names.NAMES / name).read_text(encoding="utf-8") == text, name


def test_names_come_from_the_packages_tables_and_keys_from_the_converters():
    found = rows()
    assert found["config"] == {
        "hidden_size": "embedding_length", "num_hidden_layers": "block_count", "rms_norm_eps": "attention.layer_norm_rms_epsilon",
    }  # fmt: skip
    assert found["optional"] == {"head_dim": "attention.key_length"}
    assert found["without"] == ["layers.{layer}.self_attn.norms.{head}"]
    assert "weight_offset" not in found
    names = found["names"]
    assert (names["layers.{layer}.input_layernorm"], names["norm"]) == ("blk.{layer}.attn_norm", "output_norm")
    assert names["layers.{layer}.self_attn.q_norm"] == "blk.{layer}.attn_q_norm"
    assert names["layers.{layer}.self_attn.k_proj"] == "blk.{layer}.attn_k"  # tells that the layer has attention


def test_gains_without_their_one_need_a_converter_that_adds_it():
    table = TABLE.replace('name = "norm"', 'name = "norm"\nweight_offset = 1.0')
    with pytest.raises(derive_names.LeftOutError, match="acme stores gains without their 1"):
        rows(table)
    assert rows(table, adds_one=True)["weight_offset"] == 0.0


def test_next_token_blocks_are_counted_as_layers():
    assert rows(arch=gguf.MODEL_ARCH.GLM4_MOE)["less"] == {"num_hidden_layers": "nextn_predict_layers"}


def test_an_epsilon_that_the_code_fixes_is_still_written_by_the_container():
    table = TABLE.replace('keys = ["rms_norm_eps", "eps"]', "default = 1e-5")
    assert rows(table)["epsilon"] == "attention.layer_norm_rms_epsilon"
    assert rows(table, epsilon="layer_norm")["epsilon"] == "attention.layer_norm_epsilon"


def test_a_family_of_other_names_is_left_out():
    table = TABLE.replace('"layers.{layer}.', '"stages.{layer}.').replace('name = "norm"', 'name = "ending"')
    with pytest.raises(derive_names.LeftOutError, match="gguf has none of the names of acme"):
        rows(table)
