"""The contract of a checkpoint with ten thousand tensors: recognised, worked out, counted and checked for structure.

Run as a program it measures once, in a fresh process with nothing cached, and prints milliseconds.
"""

from __future__ import annotations

import sys
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bench_table import Row

    from ln_audit.core import Checkpoint

LAYERS, EXPERTS = 26, 128  # of a mixture that is called like Qwen3's


def mixture() -> Checkpoint:
    """Names and shapes of 10,195 tensors: three to an expert, four norms to a layer."""
    from ln_audit.core import Checkpoint, TensorInfo

    shapes: dict[str, tuple[int, ...]] = {"model.embed_tokens.weight": (9, 8), "model.norm.weight": (8,)}
    shapes["lm_head.weight"] = (9, 8)
    for layer in range(LAYERS):
        at = f"model.layers.{layer}"
        for name in ("input_layernorm", "post_attention_layernorm", "self_attn.q_norm", "self_attn.k_norm"):
            shapes[f"{at}.{name}.weight"] = (8,)
        shapes |= {f"{at}.self_attn.{name}_proj.weight": (8, 8) for name in "qkvo"}
        for expert in range(EXPERTS):
            shapes |= {f"{at}.mlp.experts.{expert}.{name}_proj.weight": (8, 8) for name in ("gate", "up", "down")}
    tensors = {name: TensorInfo(name, "BF16", shape, 16) for name, shape in shapes.items()}
    return Checkpoint("safetensors", ("model.safetensors",), tensors, lambda _: {})


def measure() -> float:
    """Seconds of one pass over everything that is done before a value is read."""
    from ln_audit import checks
    from ln_audit.checks.subject import Subject
    from ln_audit.demand import Demand
    from ln_audit.families import contract, parameters, reading, recognise
    from ln_audit.formats.config import Config

    made = mixture()
    facts = {"model_type": "qwen3_moe", "hidden_size": 8, "num_hidden_layers": LAYERS, "rms_norm_eps": 1e-6}
    config = Config(facts | {"head_dim": 8}, "config.json")
    before = perf_counter()
    found = recognise.identify(made, config)
    assert found is not None
    parts = reading.readings(found[0], config, made)
    norms = contract.contract(parts, made, Demand())
    parameters.count(made, parts)
    subject = Subject("x", None, made, config, *found, norms, Demand(), readings=parts)
    structure = [check for check in checks.CHECKS if check.RULE.id.startswith("LN0")]
    findings = [finding for check in structure for finding in check.check(subject)]
    seconds = perf_counter() - before
    assert len(norms) == 4 * LAYERS + 1
    assert not [finding for finding in findings if finding.status == "fail"]
    return seconds


def families(_layout: Path) -> Iterator[Row]:
    """The row of the table: a median of fresh processes."""
    from bench_process import Command, run
    from bench_table import Row

    command = Command("families", (sys.executable, str(Path(__file__).resolve())), {})
    seconds = median(float(run(command).stdout) for _ in range(9))
    yield Row.at_most(f"contract of {len(mixture().tensors):,} tensors", 1e3 * seconds, "ms", limit=50)


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
    print(measure())
