import numpy as np
import pytest

from ln_audit.checks import duplicate_norm
from ln_audit.core import Norm
from tests.checks.subject_builder import found, norm, subject

WIDTH = 32


def tensors(**more: np.ndarray) -> dict[str, np.ndarray]:
    draw = np.random.default_rng(0)
    made = {}
    for layer in range(3):
        for which in ("ln_1", "ln_2"):
            made[f"h.{layer}.{which}.weight"] = draw.uniform(0.5, 1.5, WIDTH).astype(np.float32)
            made[f"h.{layer}.{which}.bias"] = draw.uniform(-1, 1, WIDTH).astype(np.float32)
    made["ln_f.weight"] = draw.uniform(0.5, 1.5, WIDTH).astype(np.float32)
    made["ln_f.bias"] = draw.uniform(-1, 1, WIDTH).astype(np.float32)
    return made | more


def norms() -> list[Norm]:
    names = [f"h.{layer}.{which}" for layer in range(3) for which in ("ln_1", "ln_2")]
    return [norm(name, promised=name, role="block", layer=int(name[2])) for name in names] + [norm()]


def copied(made: dict[str, np.ndarray], target: str, origin: str, leaves: tuple[str, ...] = ("weight", "bias")) -> None:
    for leaf in leaves:
        made[f"{target}.{leaf}"] = made[f"{origin}.{leaf}"]


def test_norms_of_their_own_pass_once():
    assert found(duplicate_norm, subject(tensors(), *norms())) == [
        ("pass", "model.safetensors", "no two of 7 norms have the same trained gain")
    ]


def test_a_copied_norm_is_a_warning_that_names_both():
    made = tensors()
    copied(made, "h.2.ln_1", "h.0.ln_1")
    (finding,) = duplicate_norm.check(subject(made, *norms()))
    assert (finding.status, finding.subject) == ("warn", "h.2.ln_1")
    assert finding.message == (
        "model.safetensors: h.2.ln_1: expected values of its own, found those of h.0.ln_1 bit for bit (gain and bias)"
    )
    assert finding.reason == "read or written from the wrong place? compare both with the source"
    assert finding.evidence == {"confidence": "possible", "copy_of": "h.0.ln_1"}


def test_a_gain_alone_and_another_kind_of_norm_are_said_and_more_certain():
    made = tensors()
    copied(made, "ln_f", "h.2.ln_2", ("weight",))
    (finding,) = duplicate_norm.check(subject(made, *norms()))
    assert finding.message.endswith("found those of h.2.ln_2 bit for bit (gain only)")
    assert finding.evidence["confidence"] == "likely"


def test_a_copied_layer_is_said_to_be_one():
    made = tensors()
    copied(made, "h.1.ln_1", "h.0.ln_1")
    copied(made, "h.1.ln_2", "h.0.ln_2")
    said = [(f.subject, f.reason) for f in duplicate_norm.check(subject(made, *norms()))]
    reason = "all norms of layer 1 are those of layer 0: a copied layer; right only where the model was built by repeating layers"
    assert said == [("h.1.ln_1", reason), ("h.1.ln_2", reason)]


def test_a_norm_without_a_bias_has_only_a_gain():
    made = {"a.weight": tensors()["ln_f.weight"], "b.weight": tensors()["ln_f.weight"]}
    (finding,) = duplicate_norm.check(subject(made, norm("a", bias=None), norm("b", bias=None)))
    assert finding.message.endswith("found those of a bit for bit (gain)")


@pytest.mark.parametrize("start", [1.0, 0.0, 0.5])
def test_constant_gains_and_those_with_next_to_no_information_are_no_copies(start):
    flat = np.full(WIDTH, start, np.float32)
    made = tensors(**{"h.0.ln_1.weight": flat, "h.1.ln_1.weight": flat})
    assert [f.status for f in duplicate_norm.check(subject(made, *norms()))] == ["pass"]
    nearly = flat.copy()
    nearly[3] += 0.25
    made = tensors(**{"h.0.ln_1.weight": nearly, "h.1.ln_1.weight": nearly})
    assert [f.status for f in duplicate_norm.check(subject(made, *norms()))] == ["pass"]


def test_one_tensor_that_two_norms_share_is_no_copy():
    made = {"shared.weight": tensors()["ln_f.weight"]}
    shared = [norm(name, gain="shared.weight", bias=None) for name in ("a", "b")]
    assert found(duplicate_norm, subject(made, *shared)) == []


def test_the_number_of_orders_is_counted_in_bits():
    assert duplicate_norm.orders(np.ones(9)) == 0.0
    assert duplicate_norm.orders(np.array([1.0, 2.0, 2.0])) == pytest.approx(np.log2(3))
    assert duplicate_norm.orders(np.arange(21.0)) > 64


def test_what_was_not_read_is_a_skip():
    assert found(duplicate_norm, subject(tensors(), *norms(), read=False)) == [
        ("skip", "7 norms", "values not read; --values all reads them")
    ]
