"""Which modules are listened at: the family's norms under the names that a checkpoint has for them, or the caller's."""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from ln_audit.core import Norm
from ln_audit.errors import RecordingError, UsageError
from ln_audit.numerics.parameters import value_sha256
from ln_audit.record import tensors
from ln_audit.record.located import Located, Wanted, located, promised
from tests.peers.torch_models import tiny

pytestmark = pytest.mark.peers
torch: Any = pytest.importorskip("torch")
transformers: Any = pytest.importorskip("transformers")


def norm(name: str, gain: str | None = None, promised: str = "") -> Norm:
    return Norm(name, "final", "decoder", None, "rms_norm", gain, None, 32, "", 1e-6, "", promised=promised or name)


def test_the_final_norm_of_the_family():
    model = tiny("nemotron")
    (found,) = located(model, Wanted())
    assert found == Located("model.norm", model.model.norm, "layer_norm", 1e-5, 1.0)


def test_the_base_model_alone_has_names_without_the_prefix():
    model = tiny("gpt2").transformer
    assert [each.name for each in located(model, Wanted())] == ["ln_f"]
    assert {each.promised for each in promised(model)} >= {"ln_f", "h.1.ln_2"}


def test_what_the_caller_says_counts_more():
    model = tiny("llama")
    (found,) = located(model, Wanted(("norm",), kind="layer_norm", eps=0.5, offset=1.0))
    assert (found.name, found.kind, found.eps, found.offset) == ("model.norm", "layer_norm", 0.5, 1.0)


def test_names_of_the_targets_checkpoint_lead_to_the_same_modules():
    model = tiny("llama")
    other = [norm("language_model.norm", "language_model.norm.weight", "norm")]
    (found,) = located(model, Wanted(), other)
    assert (found.name, found.module) == ("language_model.norm", model.model.norm)


def test_a_norm_of_another_name_is_known_by_its_values():
    model = tiny("llama")
    other = [norm("last", "last.weight")]
    digest = value_sha256(tensors.array(model.model.norm.weight), 0.0)
    assert digest is not None
    (found,) = located(model, Wanted(digests={"last": frozenset({digest})}), other)
    assert found.module is model.model.norm
    with pytest.raises(
        RecordingError, match="LlamaForCausalLM: last: expected a module of that name in the loaded model"
    ):
        located(model, Wanted(), other)


def test_a_family_without_a_final_norm_is_heard_at_its_blocks():
    model = tiny("llama")
    blocks = [replace(norm(f"model.layers.{i}.input_layernorm"), role="block") for i in (0, 1)]
    tower = replace(norm("model.norm"), role="other")
    assert [each.name for each in located(model, Wanted(), [*blocks, tower])] == [each.name for each in blocks]
    with pytest.raises(
        RecordingError, match="expected a norm to record, found a family without a norm of its own"
    ) as caught:
        located(model, Wanted(), [tower])
    assert "--norm NAME" in caught.value.hint


def test_an_unknown_family_asks_which_and_offers_what_is_called_a_norm():
    model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.LayerNorm(4))
    with pytest.raises(
        RecordingError, match="Sequential: expected a norm to record, found a model of no family that is known"
    ):
        located(model, Wanted())
    model.config = SimpleNamespace(to_dict=lambda: {"model_type": "nobody-knows"})
    with pytest.raises(RecordingError, match="found an unknown family, model_type 'nobody-knows'"):
        located(model, Wanted())
    (found,) = located(model, Wanted(all_norms=True))
    assert found == Located("1", model[1], "layer_norm", 1e-5, 0.0, guessed=True)
    with pytest.raises(RecordingError, match="found no module whose class is called one"):
        located(model[:1], Wanted(all_norms=True))


def test_a_name_that_is_none_shows_its_neighbours():
    with pytest.raises(
        UsageError, match=r"--norm lnf: expected a module of the model, found none of that name; near: \S*ln_f"
    ):
        located(tiny("gpt2").transformer, Wanted(("lnf",)))


def test_a_family_that_the_caller_names(monkeypatch):
    model = tiny("llama")
    monkeypatch.setattr(transformers.LlamaConfig, "model_type", "mine")
    with pytest.raises(RecordingError, match="model_type 'mine'"):
        located(model, Wanted())
    (found,) = located(model, Wanted(family="llama"))
    assert found.module is model.model.norm
