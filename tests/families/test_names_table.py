"""The tables of names are what the code takes them for, and hold nothing that no family has."""

import pytest

from ln_audit.families import layouts
from ln_audit.families.names_index import DATA, index, layout, of_architecture
from ln_audit.families.names_table import names, plain
from ln_audit.families.recognise import index as families
from ln_audit.families.recognise import load
from ln_audit.formats.config import Config
from tests.families.model import checkpoint

ARCHITECTURES = sorted(index()["gguf"])
LAYOUTS = sorted(path.stem for path in (DATA / "layouts").glob("*.toml"))


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
