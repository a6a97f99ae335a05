import ml_dtypes
import numpy as np
import pytest

from ln_audit.checks import untrained
from ln_audit.checks.subject import Subject
from ln_audit.core import Stored
from tests.checks.subject_builder import WHOLE, floats, found, norm, subject

ONES, ZEROS = floats(1, 1, 1, 1), floats(0, 0, 0, 0)


def test_trained_values_pass():
    assert found(untrained, subject(WHOLE, norm())) == [("pass", "ln_f", "away from its initial values")]


def test_ones_with_a_trained_bias_pass_and_say_so():
    assert found(untrained, subject(WHOLE | {"ln_f.weight": ONES}, norm())) == [
        ("pass", "ln_f", "gain all 1, bias trained")
    ]


def test_initial_values_are_a_warning():
    initial = {"ln_f.weight": ONES, "ln_f.bias": ZEROS}
    told = "expected trained values, found gain all 1"
    assert found(untrained, subject(initial, norm())) == [
        ("warn", "ln_f", f"model.safetensors: ln_f.weight and ln_f.bias: {told} and bias all 0")
    ]
    assert found(untrained, subject(initial, norm(bias=None))) == [
        ("warn", "ln_f", f"model.safetensors: ln_f.weight: {told}")
    ]
    assert found(untrained, subject({"ln_f.weight": ZEROS}, norm(bias=None, weight_offset=1.0)))[0][0] == "warn"


def test_what_was_not_read_is_a_skip():
    assert found(untrained, subject(WHOLE, norm(), read=False)) == [
        ("skip", "1 norms", "values not read; --values all reads them")
    ]
    assert found(untrained, subject({"ln_f.weight": floats()}, norm())) == []


def model(*initial: str) -> Subject:
    """Two layers of two norms and a final one; those named are at their initial values."""
    names = ["h.0.ln_1", "h.0.ln_2", "h.1.ln_1", "h.1.ln_2", "ln_f"]
    tensors = {}
    for name in names:
        tensors[f"{name}.weight"] = ONES if name in initial else floats(1.5, 1.25, 0.5, 2)
        tensors[f"{name}.bias"] = ZEROS if name in initial else floats(0, 1, 0, 0.5)
    blocks = [norm(name, role="block", layer=int(name[2])) for name in names[:-1]]
    return subject(tensors, *blocks, norm())


USUAL = "re-initialised by a loader, or folded into the next matrix on purpose? `ln-audit verify TARGET --against SOURCE` tells"


def reasons(of: Subject) -> list[tuple[str, str]]:
    return [(f.subject, f.reason) for f in untrained.check(of) if f.status == "warn"]


def test_how_far_it_reaches_is_said():
    assert reasons(model("h.1.ln_1", "ln_f")) == [("h.1.ln_1", USUAL), ("ln_f", USUAL)]
    whole = f"all 2 norms of layer 1 are so: was the layer lost? {USUAL}"
    assert reasons(model("h.1.ln_1", "h.1.ln_2")) == [("h.1.ln_1", whole), ("h.1.ln_2", whole)]
    every = f"all 5 norms are so, as in a model that was never trained or never loaded: {USUAL}"
    names = ["h.0.ln_1", "h.0.ln_2", "h.1.ln_1", "h.1.ln_2", "ln_f"]
    assert reasons(model(*names)) == [(name, every) for name in names]


@pytest.mark.parametrize(
    ("value", "told"),
    [
        (0.5, "0.5, 1/2: a multiple of 1/2"), (0.375, "0.375, 3/8: a multiple of 1/8"), (8.0, "8, 8 times 1"),
        (np.float32(1 / 3), "0.333333, 1/3: a multiple of 1/3"), (np.float32(0.7311), "0.7311"), (-0.25, "-0.25, -1/4: a multiple of 1/4"),
    ],
)  # fmt: skip
def test_another_constant_is_a_warning_and_a_multiple_of_a_part_is_said(value, told):
    of = subject(WHOLE | {"ln_f.weight": floats(value, value, value, value)}, norm())
    (finding,) = untrained.check(of)
    assert finding.message == f"model.safetensors: ln_f.weight: expected trained gains, found all {told}"
    assert finding.reason.startswith("an average or a sum of checkpoints or shards")
    assert finding.evidence == {"confidence": "likely", "constant": float(value)}


def test_a_third_in_bfloat16_is_a_third_and_what_bfloat16_cannot_tell_is_not_claimed():
    def constant(value: float) -> str:
        data = np.full(4, value, ml_dtypes.bfloat16)
        of = subject({"ln_f.weight": data.astype(np.float32)}, norm(bias=None))
        of.values["ln_f.weight"] = Stored("BF16", (4,), data.tobytes())  # type: ignore[index]
        return next(iter(untrained.check(of))).message.partition("found all ")[2]

    assert constant(1 / 3) == "0.333984, 1/3: a multiple of 1/3"
    assert constant(20.375) == "20.375"


def test_a_constant_that_several_norms_have_is_less_telling():
    tensors = {f"{name}.weight": floats(0.5, 0.5, 0.5, 0.5) for name in ("a", "b")}
    first, second = untrained.check(subject(tensors, norm("a", bias=None), norm("b", bias=None)))
    assert first.reason.startswith("2 norms have it: an average")
    assert (first.evidence["confidence"], second.evidence["confidence"]) == ("possible", "possible")


def test_zeros_belong_to_another_rule_and_so_do_broken_numbers():
    assert found(untrained, subject(WHOLE | {"ln_f.weight": ZEROS}, norm())) == [
        ("pass", "ln_f", "all 0, see zero-gain")
    ]
    infinite = WHOLE | {"ln_f.weight": floats(*[np.inf] * 4)}
    assert found(untrained, subject(infinite, norm())) == [("pass", "ln_f", "away from its initial values")]
    assert found(untrained, subject({"ln_f.weight": floats(0.5)}, norm(bias=None)))[0][0] == "pass"


def test_a_norm_that_the_caller_describes_may_be_of_ones():
    assert found(untrained, subject({"ln_f.weight": ONES}, norm(bias=None), family=None)) == []
