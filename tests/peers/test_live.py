"""A checkpoint is held to the torch model in memory, as it would be to its folder."""

from typing import Any

import pytest

from ln_audit.errors import UsageError
from ln_audit.in_process import VerdictError, verified
from ln_audit.saving import verify_saved
from tests.peers.torch_models import saved, tiny

torch: Any = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

pytestmark = [pytest.mark.peers, pytest.mark.filterwarnings("ignore")]


def finding(report: Any, rule: str = "LN301") -> list[str]:
    return [f"{each.status} {each.subject}" for each in report.findings if each.rule == rule and each.status != "pass"]


@pytest.mark.parametrize("family", ["gpt2", "llama", "nemotron"])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
def test_what_was_saved_in_whatever_dtype_is_the_model_in_memory(family, dtype, tmp_path):
    tiny(family).to(getattr(torch, dtype)).save_pretrained(tmp_path)
    (report,) = verify_saved(tmp_path, tiny(family))
    assert report.against is not None
    assert (report.against.source.identity, report.against.family, report.against.pairs) == (
        "the model in memory",
        family,
        5,
    )


@pytest.mark.parametrize("name", ["model.norm.weight", "model.layers.1.input_layernorm.weight"])
def test_one_element_of_one_gain_is_seen(name, tmp_path):
    folder, model = saved("llama", tmp_path), tiny("llama")
    with torch.no_grad():
        model.get_parameter(name)[3] += 2**-20
    with pytest.raises(VerdictError, match=f"LN301 differs-from-source: model.safetensors: {name}") as raised:
        verify_saved(folder, model)
    assert finding(raised.value.reports[0]) == [f"fail {name.removesuffix('.weight')}"]


def test_an_epsilon_is_that_of_the_module_and_not_of_the_config(tmp_path):
    folder, model = saved("llama", tmp_path), tiny("llama")
    model.config.rms_norm_eps = 1e-5  # with which nothing computes
    assert verify_saved(folder, model)[0].verdict == 0
    model.model.norm.variance_epsilon = 1e-5
    (report,) = verified(folder, live=model)
    assert (report.verdict.word, finding(report)) == ("fail", ["fail model.norm"])
    told = "expected epsilon 1e-05 (the model in memory: its own module), found 1e-06"
    assert told in next(each.message for each in report.findings if each.status == "fail")
    model.save_pretrained(tmp_path / "again")  # its config says 1e-5, which two layers do not have
    assert finding(verified(tmp_path / "again", live=model)[0]) == ["fail epsilon of 4 norms"]


class _Own(torch.nn.Module):  # type: ignore[misc]
    """A norm of one's own, as people write them, with its epsilon under the name that is given."""

    def __init__(self, gain: Any, **said: Any) -> None:
        super().__init__()
        self.weight = gain
        for name, value in said.items():
            setattr(self, name, value)


class _OwnNorm(_Own):
    """The same, called a norm."""


def _with(model: Any, norm: Any) -> Any:
    """The model with another final norm of the very same gain."""
    norm.weight = model.model.norm.weight
    model.model.norm = norm
    return model


@pytest.mark.parametrize(
    "value",
    [float("nan"), float("inf"), None, "1e-6", torch.tensor([1e-3, 1e-3])],
    ids=["nan", "inf", "None", "word", "2"],
)
def test_an_epsilon_in_memory_that_is_no_number_cannot_be_told(value, tmp_path):
    folder, model = saved("llama", tmp_path), tiny("llama")
    model.model.norm.variance_epsilon = value
    (report,) = verified(folder, live=model)
    assert (report.verdict.word, finding(report)) == ("incomplete", ["skip model.norm"])


@pytest.mark.parametrize(
    ("made", "said", "found"),
    [
        (_OwnNorm, {"my_eps": 1e-2}, "skip model.norm"),
        (_Own, {}, "skip model.norm"),
        (_Own, {"eps": 1e-2}, "fail model.norm"),
        (_OwnNorm, {"eps": 1e-2, "inner": torch.nn.Identity()}, "fail model.norm"),
        (_OwnNorm, {"eps": 1e-6}, None),
        (_Own, {"eps": 1e-6, "inner": torch.nn.Identity()}, None),
    ],
)
def test_the_epsilon_of_a_module_of_ones_own_is_read_or_cannot_be_told(made, said, found, tmp_path):
    folder, model = saved("llama", tmp_path), tiny("llama")
    (report,) = verified(folder, live=_with(model, made(model.model.norm.weight, **said)))
    assert finding(report) == ([] if found is None else [found])


def test_torchs_rms_norm_without_an_epsilon_has_that_of_its_dtype(tmp_path):
    folder = saved("llama", tmp_path)
    (report,) = verified(folder, live=_with(tiny("llama"), torch.nn.RMSNorm(32)))
    assert (report.verdict.word, finding(report)) == ("fail", ["fail model.norm"])
    told = next(each.message for each in report.findings if each.status == "fail")
    assert "expected epsilon 1.1920929e-07 (the model in memory: its own module), found 1e-06" in told
    half = _with(tiny("llama"), torch.nn.RMSNorm(32)).to(torch.bfloat16)  # where torch adds another one than it says
    half.save_pretrained(tmp_path / "half")
    assert finding(verified(tmp_path / "half", live=half)[0]) == ["skip model.norm"]


def test_a_layer_norm_in_memory_is_no_rms_norm_of_the_file(tmp_path):
    folder = saved("llama", tmp_path)
    (report,) = verified(folder, live=_with(tiny("llama"), torch.nn.LayerNorm(32, eps=1e-6, bias=False)))
    assert (report.verdict.word, finding(report)) == ("fail", ["fail model.norm"])
    told = next(each.message for each in report.findings if each.status == "fail")
    assert told == "model.safetensors: model.norm: expected layer_norm as the model in memory says, found rms_norm"
    assert finding(verified(folder, live=_with(tiny("llama"), torch.nn.RMSNorm(32, eps=1e-6)))[0]) == []


def test_two_norms_that_share_a_gain_each_have_their_own_bias_in_the_file(tmp_path):
    from safetensors.torch import load_file, save_file

    model = tiny("llama")
    first, second = (torch.nn.LayerNorm(32) for _ in range(2))
    second.weight = first.weight
    with torch.no_grad():
        second.bias += 1
    saved("llama", tmp_path)
    model.model.layers[0].extra_norm, model.model.layers[1].extra_norm = first, second
    file, name = tmp_path / "model.safetensors", "model.layers.{}.extra_norm.{}"
    held = load_file(file) | {name.format(0, each): getattr(first, each).detach() for each in ("weight", "bias")}
    save_file(held, file, {"format": "pt"})
    (report,) = verified(tmp_path, live=model)
    assert (report.verdict.word, finding(report)) == ("fail", ["fail 1 norms of the model in memory"])
    assert "(model.layers.1.extra_norm.bias)" in next(each.message for each in report.findings if each.status == "fail")
    save_file(held | {name.format(1, "bias"): second.bias.detach()}, file, {"format": "pt"})
    assert finding(verified(tmp_path, live=model)[0]) == []


def test_a_layer_that_weights_and_config_lack_is_missed(tmp_path):
    model = tiny("llama")
    dropped = tiny("llama")
    dropped.model.layers, dropped.config.num_hidden_layers = dropped.model.layers[:1], 1
    dropped.save_pretrained(tmp_path)
    model.config = dropped.config
    (report,) = verified(tmp_path, live=model)
    assert (report.verdict.word, finding(report)) == ("fail", ["fail 2 norms of the model in memory"])
    told = next(each.message for each in report.findings if each.status == "fail")
    assert "model.layers.1.input_layernorm.weight, model.layers.1.post_attention_layernorm.weight" in told


def test_a_norm_that_no_family_promises_must_be_there_and_be_the_same(tmp_path):
    model = tiny("llama")
    model.model.layers[0].extra = torch.nn.LayerNorm(32, eps=0.25)
    model.save_pretrained(tmp_path / "with")
    model.model.layers[0].no_parameters = torch.nn.LayerNorm(32, elementwise_affine=False)
    (report,) = verified(tmp_path / "with", live=model)
    assert finding(report) == []
    (lost,) = verified(saved("llama", tmp_path / "without"), live=model)
    assert (lost.verdict.word, finding(lost)) == ("fail", ["fail 2 norms of the model in memory"])
    with torch.no_grad():
        model.model.layers[0].extra.bias[3] = 1
    assert finding(verified(tmp_path / "with", live=model)[0]) == ["fail model.layers.0.extra.bias"]


def test_a_model_that_is_wrapped_or_compiled_is_the_model(tmp_path):
    folder = saved("llama", tmp_path)
    assert verify_saved(folder, torch.nn.DataParallel(tiny("llama")))[0].verdict == 0
    assert verify_saved(folder, torch.compile(tiny("llama")))[0].verdict == 0


@pytest.mark.parametrize("given", [{"ln_f.weight": None}, "gpt2"])
def test_what_is_no_model_is_refused(given, tmp_path):
    with pytest.raises(UsageError, match="model: expected a torch.nn.Module, found "):
        verify_saved(saved("llama", tmp_path), given)


def test_a_model_that_does_not_say_what_it_is_cannot_be_told(tmp_path):
    folder = saved("llama", tmp_path)
    plain = torch.nn.Module()
    plain.model = tiny("llama").model  # no config, and names that many families have
    (report,) = verified(folder, live=plain)
    assert report.verdict.word == "incomplete"
    assert finding(report) == ["skip the model in memory"]


@pytest.mark.parametrize("how", ["meta", "deepspeed", "fsdp"])
def test_what_this_process_does_not_hold_whole_cannot_be_told(how, tmp_path):
    folder, model = saved("llama", tmp_path), tiny("llama")
    if how == "meta":
        model.model.norm.to("meta")
    elif how == "deepspeed":
        model.model.norm.weight.ds_id, model.model.norm.weight.ds_shape = 1, (32,)
        model.model.norm.weight.data = torch.empty(0)
    else:
        model.model._modules["norm"] = torch.nn.ModuleDict({"_fsdp_wrapped_module": model.model.norm})
    (report,) = verified(folder, live=model)
    assert report.verdict.word == "incomplete"
    told = next(each.reason for each in report.findings if each.rule == "LN301")
    assert told.startswith("the source was not compared: the model in memory: model.norm")


def test_a_model_and_another_source_are_one_too_many(tmp_path):
    with pytest.raises(UsageError, match="live and against: expected one of them, found both"):
        verify_saved(tmp_path, tiny("llama"), against="sample")


def test_a_derived_model_may_have_moved(tmp_path):
    folder, model = saved("llama", tmp_path), tiny("llama")
    with torch.no_grad():
        model.model.norm.weight += 0.01 * torch.randn(32)
    assert verify_saved(folder, model, expect="derived")[0].verdict == 0


@pytest.mark.parametrize("model_type", ["bert", "t5", "gemma3", "qwen2_vl", "whisper", "mamba", "qwen3_next", "clip"])
def test_every_norm_of_models_of_other_shapes_is_found_in_both(model_type, tmp_path):
    from scripts.derive import tiny as built

    model: Any = built.build(model_type)
    built.disturb(model)
    model.save_pretrained(tmp_path)
    (report,) = verify_saved(tmp_path, model)
    assert report.against is not None
    assert report.against.pairs == len(report.norms) > 0
    from ln_audit.record.names import tensors

    held = tensors(model)
    for norm in (report.norms[0], report.norms[-1]):
        gain = held[norm.tensors[0].name]
        with torch.no_grad():
            gain[0] += 0.25
        assert finding(verified(tmp_path, live=model)[0]) == [f"fail {norm.norm.name}"]
        with torch.no_grad():
            gain[0] -= 0.25


@pytest.mark.parametrize("model_type", ["diffusion_gemma", "zamba", "gemma3n_audio", "albert", "clap", "resnet"])
def test_tied_norms_and_those_beside_the_stack_are_no_surplus(model_type, tmp_path):
    from scripts.derive import tiny as built

    model: Any = built.build(model_type)
    built.disturb(model)
    model.save_pretrained(tmp_path)
    (report,) = verified(tmp_path, live=model)
    assert (report.verdict.word, finding(report)) == ("pass", [])
