import numpy as np
import pytest

from ln_audit.checks import wrong_shape
from tests.checks.subject_builder import WHOLE, floats, found, norm, subject

PLACEHOLDER = "a placeholder of ZeRO-3, or of FSDP where another rank holds it: gather before saving (zero_to_fp32, full state dict)"


def shards(count: int, kind: str = "tensor parallel of {0}, or FSDP (DTensor) over {0} ranks") -> str:
    return f"one of {count} shards saved as if it were whole ({kind.format(count)})? gather or merge before saving"


def test_the_configured_width_passes():
    assert found(wrong_shape, subject(WHOLE, norm())) == [("pass", "ln_f", "shape [4] (config.json: n_embd)")]


@pytest.mark.parametrize(
    ("shape", "cause"),
    [
        ((0,), PLACEHOLDER),
        ((2,), shards(2)),
        ((1,), shards(4)),
        ((3,), "another model's norm, or a config of another width"),
        ((8,), "another model's norm, or a config of another width"),
        ((1, 4), "stacked layers or an extra axis; a norm's parameters are one-dimensional"),
        ((), "another model's norm, or a config of another width"),
    ],
)
def test_another_shape_fails_and_says_what_leaves_such_a_shape(shape, cause):
    tensors = WHOLE | {"ln_f.weight": np.ones(shape, np.float32)}
    (finding,) = wrong_shape.check(subject(tensors, norm()))
    assert (
        finding.message
        == f"model.safetensors: ln_f.weight: expected shape [4] (config.json: n_embd), found {list(shape)}"
    )
    assert (finding.status, finding.reason) == ("fail", cause)


def test_an_unknown_width_is_undecided_and_the_verdict_depends_on_it():
    (finding,) = wrong_shape.check(subject(WHOLE, norm(width=None, width_source="no config")))
    assert (finding.status, finding.required, finding.reason) == (
        "skip",
        True,
        "the model's width is unknown: no config",
    )


def test_a_missing_norm_has_no_shape():
    assert found(wrong_shape, subject({"other": floats(1)}, norm())) == []


def reason(width: int, found: int, **fields: object) -> str:
    tensors = {"q_norm.weight": np.ones(found, np.float32)}
    (finding,) = wrong_shape.check(subject(tensors, norm("q_norm", bias=None, width=width, **fields)))
    return finding.reason


@pytest.mark.parametrize(("found", "count"), [(384, 2), (192, 4), (96, 8), (48, 16)])
def test_what_tensor_parallelism_leaves_is_named(found, count):
    assert reason(768, found) == shards(count)


def test_a_count_that_no_tensor_parallelism_has_is_fsdp():
    assert reason(768, 256) == shards(3, "FSDP (DTensor) over 3 ranks")


def test_a_q_or_k_norm_over_all_heads_where_one_head_was_expected_and_the_reverse():
    assert reason(128, 4096, role="qk") == (
        "32 heads of 128 in one norm, where the family has one norm of the width of a head for all: another family, or another"
        " head_dim"
    )
    assert reason(4096, 128, role="qk") == (
        "a norm over one head of 128, where the family's is over all 32 together: another family? or " + shards(32)
    )
    assert reason(128, 96, role="qk") == "another model's norm, or a config of another width"


def test_hidden_size_is_called_so():
    from ln_audit.families.recognise import load
    from ln_audit.formats.config import Config

    config = Config({"model_type": "qwen3", "hidden_size": 96, "num_attention_heads": 4}, "config.json")
    name = "model.layers.0.self_attn.q_norm"

    def told(width: int, found: int) -> str:
        whole = subject(
            {f"{name}.weight": np.ones(found, np.float32)}, norm(name, bias=None, width=width, role="qk"), family=load("qwen3"),
            config=config,
        )  # fmt: skip
        return next(iter(wrong_shape.check(whole))).reason

    assert told(24, 96).startswith("4 heads of 24 in one norm, which is hidden_size, where the family")
    assert told(96, 24).startswith(
        "a norm over one head of 24, where the family's is over all 4 together, which is hidden_size,"
    )
    assert told(128, 96) == "the width of hidden_size where a head's was expected: another family, or another head_dim"


def test_a_gain_for_each_head_may_have_an_axis_for_the_heads():
    heads = norm(bias=None, width=4, split=(2, 2))
    gain = np.array([[1, 2], [3, 4]], np.float32)
    assert found(wrong_shape, subject({"ln_f.weight": gain}, heads))[0][0] == "pass"
    assert found(wrong_shape, subject({"ln_f.weight": gain.reshape(-1)}, heads))[0][0] == "pass"
    assert found(wrong_shape, subject({"ln_f.weight": gain}, norm(bias=None, width=4)))[0][0] == "fail"
