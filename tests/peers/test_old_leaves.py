"""Which modules' `gamma` and `beta` transformers still reads: what wrong.toml says of it is what it does."""

import pytest

from ln_audit.families.containers import View
from ln_audit.families.spelling import spelling

pytestmark = pytest.mark.peers

_SMALL = {
    "hidden_size": 16,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "intermediate_size": 32,
    "vocab_size": 50,
}
_OLD = {"weight": "gamma", "bias": "beta"}
MODELS = {
    "BertModel": {**_SMALL},
    "ElectraModel": {**_SMALL, "embedding_size": 16},
    "DebertaV2Model": {**_SMALL},
    "AlbertModel": {**_SMALL, "embedding_size": 16},
    "DistilBertModel": {"dim": 16, "n_layers": 1, "n_heads": 2, "hidden_dim": 32, "vocab_size": 50},
    "GPT2Model": {"n_embd": 16, "n_layer": 1, "n_head": 2, "vocab_size": 50, "n_positions": 8},
    "LlamaModel": {**_SMALL},
    "PhiModel": {**_SMALL},
}


@pytest.mark.parametrize("name", MODELS)
def test_gamma_and_beta_are_read_where_we_say_so(name, tmp_path):
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    from safetensors.torch import load_file, save_file

    torch.set_num_threads(1)
    torch.manual_seed(1)
    cls = getattr(transformers, name)
    model = cls(cls.config_class(**MODELS[name]))
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_()
    model.save_pretrained(tmp_path)
    file = tmp_path / "model.safetensors"
    renamed, norms = {}, []
    for key, value in load_file(file).items():
        module, _, leaf = key.rpartition(".")
        is_norm = any(word in module.rpartition(".")[2].lower() for word in ("norm", "ln_"))
        renamed[f"{module}.{_OLD[leaf]}" if is_norm else key] = value
        norms += [key] if is_norm else []
    save_file(renamed, file, metadata={"format": "pt"})
    _, told = cls.from_pretrained(tmp_path, output_loading_info=True)
    spelt = spelling(norms, ("",), View({key: key for key in renamed}))
    assert norms
    assert {key for key in norms if spelt.find(key)[1] is not None} == set(told["missing_keys"])
