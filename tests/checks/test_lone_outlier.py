import numpy as np
import pytest

from ln_audit.checks import lone_outlier
from ln_audit.checks.subject import Subject
from tests.checks.subject_builder import found, norm, subject
from tests.shared import ROOT, needs

LAYERS, WIDTH = 6, 16


def values(layer: int, centre: float) -> np.ndarray:
    draw = np.random.default_rng(layer + int(100 * centre))
    return (centre + 0.2 * draw.uniform(-1, 1, WIDTH)).astype(np.float32)


def model(changes: dict[str, tuple[int, int]], layers: int = LAYERS, **fields: object) -> Subject:
    """Gains around 1 and biases around 0, with one exponent bit of one element turned over in the tensors named."""
    tensors = {}
    for layer in range(layers):
        tensors[f"h.{layer}.ln_1.weight"] = values(layer, 1.0 - float(str(fields.get("weight_offset", 0))))
        tensors[f"h.{layer}.ln_1.bias"] = values(layer, 0.0)
    for name, (element, bit) in changes.items():
        tensors[name].view(np.uint32)[element] ^= np.uint32(1 << (23 + bit))
    norms = [
        norm(f"h.{n}.ln_1", promised=f"h.{n}.ln_1", role="block", layer=n, width=WIDTH, **fields) for n in range(layers)
    ]
    return subject(tensors, *norms)


def scaled(of: Subject, name: str, element: int, factor: float) -> Subject:
    """The same with one element of one tensor multiplied."""
    tensors = {tensor: np.array(values, np.float32) for tensor, values in of.arrays.items()}
    tensors[name][element] *= factor
    return subject(tensors, *of.norms)


def test_a_healthy_model_passes_once_for_each_kind_of_norm():
    assert found(lone_outlier, model({})) == [
        ("pass", "h.{layer}.ln_1", "no value that one flipped exponent bit would explain")
    ]


@pytest.mark.parametrize("bit", [4, 5, 6])
def test_a_flipped_exponent_bit_is_a_warning_that_names_place_bit_and_value(bit):
    of = model({"h.3.ln_1.weight": (5, bit)})
    healthy = float(model({}).arrays["h.3.ln_1.weight"][5])
    (finding,) = lone_outlier.check(of)
    assert (finding.status, finding.subject) == ("warn", "h.3.ln_1")
    value = of.arrays["h.3.ln_1.weight"][5]
    assert finding.message.startswith("model.safetensors: h.3.ln_1.weight[5]: expected about ")
    assert finding.message.endswith(f", found {value:.6g}")
    assert finding.reason == (
        f"with exponent bit {bit} turned back it is {healthy:.6g}, as in the other layers: a flipped bit?"
        " `ln-audit verify TARGET --against SOURCE` tells"
    )
    told = {key: finding.evidence[key] for key in ("confidence", "channel", "bit", "restored", "found")}
    assert told == {"confidence": "likely", "channel": 5, "bit": bit, "restored": healthy, "found": value}


def test_the_highest_bit_of_a_bias_makes_it_enormous_and_is_found():
    (finding,) = lone_outlier.check(model({"h.2.ln_1.bias": (7, 7)}))
    assert (finding.subject, finding.evidence["bit"]) == ("h.2.ln_1", 7)
    assert abs(float(str(finding.evidence["found"]))) > 1e30


def test_a_bias_or_a_gain_stored_less_one_may_be_as_small_as_it_likes():
    assert [f.status for f in lone_outlier.check(model({"h.2.ln_1.bias": (7, 6)}))] == ["pass"]
    assert [f.status for f in lone_outlier.check(model({"h.2.ln_1.weight": (7, 6)}, weight_offset=1.0))] == ["pass"]


def test_a_gain_that_crossed_zero_is_no_flipped_bit():
    crossed = scaled(model({"h.3.ln_1.weight": (5, 4)}), "h.3.ln_1.weight", 5, -1.0)
    assert [f.status for f in lone_outlier.check(crossed)] == ["pass"]


def test_a_channel_whose_bias_is_next_to_nothing_too_has_died_in_training():
    died = scaled(model({"h.3.ln_1.weight": (5, 4)}), "h.3.ln_1.bias", 5, 1e-9)
    assert [f.status for f in lone_outlier.check(died)] == ["pass"]


def test_what_no_single_bit_makes_ordinary_is_left_to_training():
    far = scaled(model({"h.3.ln_1.weight": (5, 5)}), "h.3.ln_1.weight", 5, 2.0**-8)  # forty octaves away are two bits
    assert [f.status for f in lone_outlier.check(far)] == ["pass"]


def test_without_neighbours_it_is_only_possible():
    gain = np.linspace(0.8, 1.2, 64).astype(np.float32)
    gain.view(np.uint32)[9] ^= np.uint32(1 << 27)
    (finding,) = lone_outlier.check(subject({"ln_f.weight": gain}, norm(bias=None, width=64)))
    assert (finding.evidence["confidence"], finding.evidence["bit"]) == ("possible", 4)
    assert "as in the rest of its tensor" in finding.reason


def test_a_tensor_that_several_norms_share_counts_once_and_what_was_not_read_is_a_skip():
    gain = np.linspace(0.8, 1.2, 64).astype(np.float32)
    norms = [
        norm(f"h.{n}.ln_1", promised=f"h.{n}.ln_1", gain="shared.weight", bias=None, layer=n, width=64)
        for n in range(5)
    ]
    assert found(lone_outlier, subject({"shared.weight": gain}, *norms)) == [
        ("pass", "h.{layer}.ln_1", "no value that one flipped exponent bit would explain")
    ]
    assert found(lone_outlier, subject({"ln_f.weight": gain}, norm(bias=None, width=64), read=False)) == [
        ("skip", "1 norms", "values not read; --values all reads them")
    ]


def test_tensors_that_are_no_vectors_of_floats_are_not_judged():
    odd: dict[str, np.ndarray] = {"ln_f.weight": np.ones((8, 8), np.float32), "ln_f.bias": np.ones(64, np.int8)}
    assert found(lone_outlier, subject(odd, norm())) == []


def test_the_real_norms_of_gpt2_small_raise_no_alarm_and_a_planted_bit_does(tmp_path):
    from ln_audit.demand import Demand
    from ln_audit.examination import promised

    path = needs("real", "gpt2-small", "norms.safetensors")
    healthy = promised(str(path), Demand(family="gpt2"))
    assert {f.status for f in lone_outlier.check(healthy)} == {"pass"}
    content = bytearray(path.read_bytes())
    begin = content.index(healthy.values["h.6.ln_1.weight"].data)
    content[begin + 4 * 100 + 3] ^= 0x08  # bit 27 of the word: exponent bit 4
    copy = tmp_path / "norms.safetensors"
    copy.write_bytes(content)
    (finding,) = (f for f in lone_outlier.check(promised(str(copy), Demand(family="gpt2"))) if f.status == "warn")
    assert (finding.subject, finding.evidence["channel"], finding.evidence["bit"]) == ("h.6.ln_1", 100, 4)


@pytest.mark.parametrize("folder", sorted((ROOT / "fixtures" / "good").iterdir()), ids=lambda path: path.name)
def test_the_good_fixtures_raise_no_alarm(folder):
    from ln_audit.demand import Demand
    from ln_audit.examination import promised

    assert {
        f.status
        for f in lone_outlier.check(
            promised(str(folder), Demand(family="gpt2" if "eps-given" in folder.name else None))
        )
    } <= {"pass"}
