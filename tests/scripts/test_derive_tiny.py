"""Tiny models of every type: small, seeded, with norm parameters far from their start values."""

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")
from scripts.derive import tiny  # noqa: E402

pytestmark = pytest.mark.peers


def test_every_causal_type_can_be_built_on_meta():
    failed = []
    for name in tiny.causal_types():
        try:
            tiny.build(name, meta=True)
        except Exception as error:  # the list is what the test says
            failed.append(f"{name}: {error}")
    assert failed == []
    assert len(tiny.causal_types()) >= 196


def test_the_same_model_twice():
    one, other = tiny.build("llama").state_dict(), tiny.build("llama").state_dict()
    assert all(torch.equal(one[name], other[name]) for name in one)


def test_norm_parameters_are_disturbed_and_no_other():
    model = tiny.build("opt")
    gain, bias = model.model.decoder.final_layer_norm.weight, model.model.decoder.final_layer_norm.bias
    assert 0.1 < (gain - 1).abs().max() <= 0.3
    assert 0.1 < bias.abs().max() <= 0.3
    assert model.model.decoder.layers[0].fc1.bias.abs().max() == 0


@pytest.mark.parametrize(("name", "kinds"), [("qwen3_next", 2), ("jamba", 2), ("llama", 1)])
def test_hybrids_keep_a_layer_of_every_kind(name, kinds):
    layers = tiny.build(name, meta=True).model.layers
    shapes = {
        tuple(sorted(key for key, _ in layer.named_parameters() if "mlp" not in key and "feed" not in key))
        for layer in layers
    }
    assert len(shapes) == kinds


def test_token_ids_are_inside_the_vocabulary_and_different():
    config = tiny.tiny_config("gemma3")
    ids = [config.boi_token_index, config.eoi_token_index, config.image_token_index]
    assert len(set(ids)) == 3
    assert max(ids) < 99


def test_an_encoder_decoder_is_built_with_both_stacks():
    assert type(tiny.build("mbart", meta=True)).__name__ == "MBartForConditionalGeneration"


def test_a_type_that_nobody_knows():
    with pytest.raises(KeyError, match="acme"):
        tiny.tiny_config("acme")
