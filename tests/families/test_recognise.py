"""By model_type, then architectures, then names; and it says by what."""

import pytest

from ln_audit.core import Recognised
from ln_audit.errors import FamilyError, UsageError
from ln_audit.families import recognise
from tests.families.model import checkpoint, config, gpt2


@pytest.mark.parametrize(
    ("shapes", "given", "recognised"),
    [
        ({}, config(model_type="gpt2"), Recognised("gpt2", 'model_type "gpt2" in config.json')),
        ({}, config(model_type="mistral"), Recognised("llama", 'model_type "mistral" in config.json')),
        (
            {},
            config(architectures=["X", "NemotronForCausalLM"]),
            Recognised("nemotron", 'architecture "NemotronForCausalLM" in config.json'),
        ),
        (gpt2("transformer."), None, Recognised("gpt2", "tensor names (wte.weight, wpe.weight, …)")),
        (gpt2("module."), config(n_embd=8), Recognised("gpt2", "tensor names (wte.weight, wpe.weight, …)")),
    ],
)
def test_a_family_is_recognised_and_says_by_what(shapes, given, recognised):
    found = recognise.identify(checkpoint(shapes), given)
    assert found is not None
    assert (found[0].name, found[1]) == (recognised.name, recognised)


@pytest.mark.parametrize("given", [None, config(model_type="acme"), config(architectures=["Acme"])])
def test_what_fits_nothing_is_unknown(given):
    assert recognise.identify(checkpoint({"core.closing_scale": (8,)}), given) is None


@pytest.mark.parametrize("value", [["gpt2"], 5, None, True])
def test_a_model_type_that_is_no_string_cannot_be_told(value):
    with pytest.raises(FamilyError, match="config.json: model_type: expected a string, found "):
        recognise.identify(checkpoint(gpt2()), config(model_type=value))


def test_a_model_that_names_another_type_is_not_guessed_from_its_tensors():
    assert recognise.identify(checkpoint(gpt2()), config(model_type="acme")) is None


def test_candidates_are_flat_tensors_of_the_models_width():
    shapes = {"a.norm": (8,), "b.closing": (8,), "c.norm": (4,), "d.weight": (8, 8)}
    assert recognise.candidates(checkpoint(shapes), config(hidden_size=8)) == ["a.norm [8]"]
    assert recognise.candidates(checkpoint({"core.closing_scale": (8,)}), config(hidden_size=8)) == [
        "core.closing_scale [8]"
    ]


def test_an_unknown_family_name_says_which_is_meant():
    with pytest.raises(
        UsageError, match=r"family 'gpt22': expected one of \d+ families, found none of that name"
    ) as caught:
        recognise.given("gpt22")
    assert caught.value.hint.startswith("did you mean gpt2")


@pytest.mark.parametrize("name", ["mistral", "Mistral"])
def test_a_family_is_found_by_the_model_types_that_it_is_for(name):
    assert "mistral" in recognise.given(name).model_types


def test_a_family_is_found_by_a_class_that_is_its_own():
    assert recognise.given("NemotronForCausalLM").name == "nemotron"


def test_a_table_of_ones_own_is_read(tmp_path):
    table = tmp_path / "acme.toml"
    table.write_text(
        'name = "acme"\n[sizes.d]\n[[norm]]\nname = "n"\nrole = "final"\nkind = "rms_norm"\nshape = ["d"]\n'
    )
    assert recognise.given(str(table)).name == "acme"
    with pytest.raises(UsageError, match="expected a family table"):
        recognise.given(str(tmp_path / "absent.toml"))
