"""transformers' own `ln_f`, recorded by hooks the way README shows: passes, and fails with any norm perturbed."""

import copy
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from ln_audit.audit import audit  # noqa: E402
from ln_audit.demand import Demand  # noqa: E402

pytestmark = pytest.mark.peers
ROOT = Path(__file__).parents[2]


def saved_model(folder: Path):
    """A small GPT-2 with norms that are not at their initial values, saved by transformers."""
    torch.manual_seed(0)
    config = transformers.GPT2Config(
        n_embd=32, n_layer=3, n_head=2, vocab_size=64, n_positions=16, bos_token_id=0, eos_token_id=0
    )
    model = transformers.GPT2LMHeadModel(config).eval()
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if ".ln_" in name:
                parameter.add_(0.2 * torch.randn_like(parameter))
    model.save_pretrained(folder)
    return model


def record(model, path: Path, module: str = "transformer.ln_f", scale: float = 1.0) -> None:
    """README's recording, of any norm; `scale` makes the states small enough to tell epsilons apart."""
    from safetensors.torch import save_file

    rows: dict = {}
    hook = model.get_submodule(module).register_forward_hook(
        lambda _, args, out: rows.update(before=args[0], after=out)
    )
    with torch.no_grad():
        model.transformer.wte.weight.mul_(scale)
        model(torch.arange(12)[None])
        model.transformer.wte.weight.div_(scale)
    hook.remove()
    save_file({name: rows[name].contiguous() for name in ("before", "after")}, path, {"norm": module})


NORMS = [f"transformer.h.{layer}.ln_{which}" for layer in range(3) for which in (1, 2)] + ["transformer.ln_f"]


@pytest.mark.parametrize("norm", NORMS)
def test_every_norm_recorded_by_hooks_passes_and_with_its_parameters_perturbed_fails(tmp_path, norm):
    model = saved_model(tmp_path)
    record(model, tmp_path / "run.safetensors", norm)
    demand = Demand(recordings=(str(tmp_path / "run.safetensors"),))
    (report,) = audit(str(tmp_path), demand)
    assert (report.verdict.word, [c.norm for c in report.comparisons]) == ("pass", [norm])
    for leaf in ("weight", "bias"):
        with torch.no_grad():
            parameter = model.get_parameter(f"{norm}.{leaf}")
            kept = parameter[5].item()
            parameter[5] += 1e-3
            model.save_pretrained(tmp_path)
            parameter[5] = kept
        (perturbed,) = audit(str(tmp_path), demand)
        assert perturbed.verdict.word == "fail", leaf


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
@pytest.mark.parametrize("autocast", [False, True], ids=["cast", "autocast"])
def test_an_honest_run_in_any_dtype_passes(tmp_path, dtype, autocast):
    model = saved_model(tmp_path)
    kind = getattr(torch, dtype)
    if autocast:
        with torch.autocast("cpu", dtype=kind, enabled=dtype != "float32"):
            record(model, tmp_path / "run.safetensors")
    else:
        record(model.to(kind), tmp_path / "run.safetensors")
    (report,) = audit(str(tmp_path), Demand(recordings=(str(tmp_path / "run.safetensors"),)))
    assert report.verdict.word == "pass"


@pytest.mark.parametrize("shards", ["50KB", "5GB"])
@pytest.mark.parametrize("kind", ["GPT2Model", "GPT2LMHeadModel"])
def test_what_transformers_saves_is_read_whole_and_sharded(tmp_path, shards, kind):
    config = transformers.GPT2Config(
        n_embd=32, n_layer=3, n_head=2, vocab_size=64, n_positions=16, bos_token_id=0, eos_token_id=0
    )
    model = getattr(transformers, kind)(config)
    model.save_pretrained(tmp_path, max_shard_size=shards)
    (report,) = audit(str(tmp_path), Demand())
    assert report.verdict.word == "pass"
    assert report.parameters.checkpoint == sum(p.numel() for p in model.parameters())
    assert (report.parameters.final_norm, report.parameters.all_norms) == (64, 7 * 64)


@pytest.mark.parametrize("kind", ["Llama", "Mistral", "Nemotron"])
def test_the_other_families_as_transformers_builds_and_runs_them(tmp_path, kind):
    from safetensors.torch import save_file

    config = getattr(transformers, f"{kind}Config")(
        hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=2, num_key_value_heads=2, vocab_size=64,
        bos_token_id=0, eos_token_id=0, pad_token_id=0,
    )  # fmt: skip
    model = getattr(transformers, f"{kind}ForCausalLM")(config).eval()
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if "norm" in name:
                parameter.add_(0.2 * torch.randn_like(parameter))
    model.save_pretrained(tmp_path)
    for dtype in (torch.float32, torch.bfloat16, torch.float16):
        rows: dict = {}
        cast = copy.deepcopy(model).to(dtype)
        hook = cast.model.norm.register_forward_hook(
            lambda _, args, out, rows=rows: rows.update(before=args[0], after=out)
        )
        with torch.no_grad():
            cast(torch.arange(12)[None])
        hook.remove()
        save_file({name: rows[name].contiguous() for name in ("before", "after")}, tmp_path / "run.safetensors")
        (report,) = audit(str(tmp_path / "model.safetensors"), Demand(recordings=(str(tmp_path / "run.safetensors"),)))
        assert report.verdict.word == "pass", dtype
        assert report.parameters.checkpoint == sum(p.numel() for p in model.parameters())
