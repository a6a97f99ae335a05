"""`ln_audit.capture` around forward passes: what is recorded is what the norm read and gave, and it verifies."""

from typing import Any

import pytest

import ln_audit
from ln_audit.audit import audit, audit_recording
from ln_audit.demand import Demand
from ln_audit.errors import RecordingError, UsageError
from ln_audit.recording import open_recording
from tests.peers.torch_models import FINAL, read, tiny

pytestmark = pytest.mark.peers
torch: Any = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
IDS = torch.arange(20).reshape(2, 10)


def failed(report):
    return [(f.name, f.status, f.message) for f in report.findings if f.status not in ("pass", "skip")]


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize("family", FINAL)
def test_the_final_norm_is_found_by_the_family_and_verifies(tmp_path, family, dtype):
    model = tiny(family)
    model.save_pretrained(tmp_path / "model")
    model.to(getattr(torch, dtype))
    path = tmp_path / "run.safetensors"
    with ln_audit.capture(model, path) as session, torch.no_grad():
        model(IDS)
        model(IDS[:1])
    assert session.positions == 30
    tensors, metadata = read(path)
    assert tensors["before"].shape == tensors["after"].shape == (3, 10, 32)
    assert tensors["after"].dtype == getattr(torch, dtype)
    assert torch.equal(tensors["tokens"], torch.cat([IDS, IDS[:1]]))
    assert (metadata["norm"], metadata["output_dtype"], metadata["param_dtype"]) == (FINAL[family], dtype, dtype)
    assert metadata["framework"].startswith(f"torch {torch.__version__}, transformers {transformers.__version__}, ")
    (report,) = audit(str(tmp_path / "model"), Demand(recordings=(str(path),)))
    assert (report.verdict.word, failed(report)) == ("pass", [])
    assert report.comparisons[0].weights == "same"
    assert audit_recording(str(path), Demand()).verdict.word == "pass"  # it carries all that it needs


def test_every_norm_under_its_own_name_with_its_own_digests(tmp_path):
    model = tiny("llama")
    model.save_pretrained(tmp_path / "model")
    with ln_audit.capture(model, tmp_path / "run.safetensors", all_norms=True), torch.no_grad():
        model(IDS)
    recording = open_recording(str(tmp_path / "run.safetensors"))
    assert set(recording.norms) == {
        "model.norm",
        *(f"model.layers.{i}.{norm}_layernorm" for i in (0, 1) for norm in ("input", "post_attention")),
    }
    assert {f"{norm}/gain_value_sha256" for norm in recording.norms} <= set(recording.metadata)
    (report,) = audit(str(tmp_path / "model"), Demand(recordings=(str(tmp_path / "run.safetensors"),)))
    assert (report.verdict.word, failed(report)) == ("pass", [])
    assert [c.weights for c in report.comparisons] == ["same"] * 5
    with torch.no_grad():
        model.model.norm.weight.mul_(2)
    model.save_pretrained(tmp_path / "model")
    (report,) = audit(str(tmp_path / "model"), Demand(recordings=(str(tmp_path / "run.safetensors"),)))
    assert {name for name, status, _ in failed(report) if status == "fail"} == {"other-weights"}


@pytest.mark.parametrize("chosen", ["model.layers.1.input_layernorm", "layers.1.input_layernorm", "module"])
def test_a_norm_by_name_or_by_itself(tmp_path, chosen):
    model = tiny("llama")
    norm = model.model.layers[1].input_layernorm if chosen == "module" else chosen
    with ln_audit.capture(model, tmp_path / "run.safetensors", norm), torch.no_grad():
        model(IDS)
    _, metadata = read(tmp_path / "run.safetensors")
    assert (metadata["norm"], metadata["kind"], metadata["eps"]) == (
        "model.layers.1.input_layernorm",
        "rms_norm",
        "1e-06",
    )


class Mine(torch.nn.Module):  # type: ignore[misc]
    """A block that returns a tuple, with a norm that is called by keyword and changes its input in place afterwards."""

    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(8, 8)
        self.last = torch.nn.LayerNorm(8, eps=1e-3)

    def forward(self, x):
        x = self.linear(x)
        normed = self.last(input=x)
        x.mul_(0)
        return normed, x


def test_a_module_of_ones_own_carries_what_verify_needs(tmp_path):
    model, path = Mine(), tmp_path / "run.safetensors"
    torch.nn.init.normal_(model.last.weight)
    with torch.no_grad(), ln_audit.capture(model, path, "last"):
        for rows in (3, 1):
            model(torch.randn(rows, 5, 8))
    report = audit_recording(str(path), Demand())
    assert (report.verdict.word, report.comparisons[0].positions, report.norms[0].norm.eps) == ("pass", 20, 1e-3)


def test_what_a_module_does_not_say_the_caller_says(tmp_path):
    class Plus(torch.nn.Module):  # type: ignore[misc]
        def __init__(self):
            super().__init__()
            self.weight = torch.nn.Parameter(torch.randn(8))

        def forward(self, x):
            return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + 0.01) * (1 + self.weight)

    norm, path = Plus(), tmp_path / "run.safetensors"
    with torch.no_grad(), ln_audit.capture(norm, path, norm, kind="rms_norm", eps=0.01, offset=1.0):
        norm(torch.randn(5, 8))
    assert read(path)[1]["norm"] == "Plus"
    assert audit_recording(str(path), Demand()).verdict.word == "pass"


def test_a_training_step_with_checkpointing_is_recorded_once_and_says_that_the_weights_moved(tmp_path):
    model = tiny("llama").train()
    model.activation_checkpointing_enable()
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    norm, final = "model.layers.0.input_layernorm", "model.norm"
    with ln_audit.capture(model, tmp_path / "run.safetensors", [norm, final]):
        for _ in range(2):
            model(IDS, labels=IDS, use_cache=False).loss.backward()
            optimizer.step()
    tensors, metadata = read(tmp_path / "run.safetensors")
    assert [tensors[f"{name}/before"].shape for name in (norm, final)] == [(4, 10, 32)] * 2
    assert not tensors[f"{norm}/before"].requires_grad
    assert f"{final}: its parameters changed while it was recorded, so they are not here" in metadata["note"]
    assert not [key for key in metadata if key.endswith("sha256")]


def test_hidden_states_that_the_model_returns_are_kept_and_the_last_is_after_the_norm(tmp_path):
    model, path = tiny("gpt2"), tmp_path / "run.safetensors"
    model.save_pretrained(tmp_path / "model")
    with ln_audit.capture(model, path, hidden_states=True), torch.no_grad():
        model(IDS, output_hidden_states=True)
    tensors, _ = read(path)
    assert torch.equal(tensors["hidden_states.2"], tensors["after"])
    assert tensors["hidden_states.0"].shape == tensors["before"].shape
    assert not any(torch.equal(tensors[f"hidden_states.{i}"], tensors["before"]) for i in range(3))
    (report,) = audit(str(tmp_path / "model"), Demand(before=f"{path}:hidden_states.2", after=f"{path}:after"))
    assert report.verdict.word == "fail"
    assert report.comparisons[0].explained_by[0].name == "before already carries the norm: after is the same"


def test_generation_appends_every_step(tmp_path):
    model = tiny("gpt2")
    with ln_audit.capture(model, tmp_path / "run.safetensors"):
        model.generate(IDS, max_new_tokens=4, do_sample=False, pad_token_id=0)
    tensors, _ = read(tmp_path / "run.safetensors")
    assert (tensors["before"].shape, tensors["tokens"].shape) == ((26, 32), (26,))


def test_hooks_are_gone_afterwards_and_a_block_that_raises_leaves_nothing(tmp_path):
    model, path = tiny("gpt2"), tmp_path / "run.safetensors"

    def interrupted():
        with ln_audit.capture(model, path), torch.no_grad():
            model(IDS)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert list(tmp_path.iterdir()) == []
    assert not any(module._forward_hooks or module._forward_pre_hooks for module in model.modules())


def test_a_norm_that_was_never_called_is_no_recording(tmp_path):
    model, path = tiny("gpt2"), tmp_path / "run.safetensors"
    with (
        pytest.raises(RecordingError, match=r"expected a forward pass through transformer\.ln_f, found none"),
        ln_audit.capture(model, path),
    ):
        pass
    with ln_audit.capture(model, path, all_norms=True), torch.no_grad():
        model.transformer.h[0].ln_1(torch.randn(2, 32))
    assert read(path)[1]["note"].startswith("never called: transformer.h.1.ln_1, ")


@pytest.mark.parametrize("way", ["torch.compile", "compile"])
def test_a_compiled_model_is_recorded_as_it_runs(tmp_path, way):
    model = tiny("llama")
    if way == "compile":
        model.compile(backend="eager")
    run = model if way == "compile" else torch.compile(model, backend="eager")
    with torch.no_grad():
        run(IDS)  # compiled before anybody listens
        with ln_audit.capture(run, tmp_path / "run.safetensors"):
            run(IDS)
    assert read(tmp_path / "run.safetensors")[0]["before"].shape == (2, 10, 32)
    torch.compiler.reset()


def test_a_wrapped_model_is_unwrapped(tmp_path):
    model = tiny("gpt2")
    wrapped = torch.nn.DataParallel(model)
    with ln_audit.capture(wrapped, tmp_path / "run.safetensors"), torch.no_grad():
        wrapped(IDS)
    assert read(tmp_path / "run.safetensors")[1]["norm"] == "transformer.ln_f"


def test_a_norm_whose_parameters_are_elsewhere_has_no_digest(tmp_path):
    class Offloaded(torch.nn.Module):  # type: ignore[misc]
        """As an offloaded module is between two calls: its parameter is on the meta device."""

        def __init__(self):
            super().__init__()
            self.weight = torch.nn.Parameter(torch.ones(8, device="meta"))
            self.eps = 1e-6

        def forward(self, x):
            return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + self.eps)

    norm = Offloaded()
    with torch.no_grad(), ln_audit.capture(norm, tmp_path / "run.safetensors", norm, kind="rms_norm"):
        norm(torch.randn(3, 8))
    tensors, metadata = read(tmp_path / "run.safetensors")
    assert sorted(tensors) == ["after", "before"]
    assert "gain_value_sha256" not in metadata


def test_a_path_that_cannot_be_written_is_said_before_the_model_runs(tmp_path):
    with (
        pytest.raises(UsageError, match="expected a file that can be written"),
        ln_audit.capture(tiny("gpt2"), tmp_path / "no" / "run.safetensors"),
    ):
        raise AssertionError


@pytest.mark.parametrize("value", [b"x", 3, -1.5, float("nan"), {}, {1: 2}, ["x", 3], object(), (), "no", range(2)])
@pytest.mark.parametrize(
    "argument",
    ["model", "path", "norm", "all_norms", "hidden_states", "kind", "eps", "offset", "family", "said"],
)
def test_an_odd_argument_is_said_and_leaves_no_file(tmp_path, monkeypatch, argument, value):
    monkeypatch.chdir(tmp_path)
    given = {"model": tiny("gpt2"), "path": "run.safetensors"} | {argument: value}
    fits = {("eps", 3), ("offset", 3), ("offset", -1.5), ("path", "no"), ("norm", ())}
    if (argument, value if isinstance(value, (str, int, float, tuple)) else None) in fits or (argument, value) == (
        "said",
        {},
    ):
        with ln_audit.capture(**given), torch.no_grad():
            given["model"](IDS)
        return
    with pytest.raises(UsageError, match="expected "), ln_audit.capture(**given):
        pytest.fail("it was taken")
    assert list(tmp_path.iterdir()) == []


def test_what_it_was_loaded_from_is_named_without_this_machines_folders(tmp_path):
    model = tiny("gpt2")
    for given, told in (("org/name", "org/name"), (str(tmp_path / "mine"), "mine"), ("", "GPT2LMHeadModel")):
        model.config._name_or_path = given
        with ln_audit.capture(model, tmp_path / "run.safetensors", said={"text": "x", "revision": ""}), torch.no_grad():
            model(IDS)
        metadata = read(tmp_path / "run.safetensors")[1]
        assert (metadata["model"], metadata["text"], "revision" in metadata) == (told, "x", False)


@pytest.fixture
def mesh():
    import torch.distributed as dist

    dist.init_process_group("gloo", rank=0, world_size=1, store=dist.HashStore())
    yield dist.device_mesh.init_device_mesh("cpu", (1,))
    dist.destroy_process_group()


@pytest.mark.filterwarnings("ignore")
def test_a_norm_whose_weights_are_spread_over_processes(tmp_path, mesh):
    from torch.distributed.tensor import Replicate, distribute_tensor

    norm, path = torch.nn.RMSNorm(8, eps=1e-6), tmp_path / "run.safetensors"
    torch.nn.init.normal_(norm.weight)
    norm.weight = torch.nn.Parameter(distribute_tensor(norm.weight.data, mesh, [Replicate()]))
    with torch.no_grad(), ln_audit.capture(norm, path, norm):
        norm(distribute_tensor(torch.randn(4, 8), mesh, [Replicate()]))
    assert audit_recording(str(path), Demand()).verdict.word == "pass"


def test_a_whole_graph_cannot_be_broken_and_torch_says_so(tmp_path):
    model = torch.compile(tiny("llama"), backend="eager", fullgraph=True)
    with pytest.raises(torch._dynamo.exc.Unsupported), ln_audit.capture(model, tmp_path / "x"), torch.no_grad():
        model(IDS, use_cache=False)
    assert list(tmp_path.iterdir()) == []
