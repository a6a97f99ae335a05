"""What is held to a lockfile: the same model in other containers and dtypes passes, one bit of a norm does not."""

import json
from dataclasses import replace

import numpy as np
import pytest

from ln_audit.checks import lock_mismatch
from ln_audit.demand import Demand
from ln_audit.families.recognise import load
from ln_audit.lock.making import locked as locked_of
from ln_audit.lock.reading import parse
from ln_audit.lock.schema import LockedFile, Parameter
from ln_audit.lock.writing import text
from tests.checks.subject_builder import WHOLE, floats, norm, subject
from tests.formats.onnx_models import model, node
from tests.lock.models import (
    BFLOAT16,
    NEMOTRON,
    folder,
    held,
    lock,
    nemotron,
    nemotron_gguf,
    said,
)
from tests.test_seven_containers import CONFIG, CONTAINERS, TENSORS


@pytest.fixture(scope="module")
def locked(tmp_path_factory):
    return lock(folder(tmp_path_factory.mktemp("gpt2")))


def changed(name: str, at: int = 0) -> dict[str, np.ndarray]:
    """The tensors with the lowest bit of one value flipped."""
    values = TENSORS[name].copy()
    values.view(np.uint32)[at] ^= 1
    return {**TENSORS, name: values}


@pytest.mark.parametrize("write", CONTAINERS, ids=lambda write: write.__name__)
def test_one_lock_holds_every_container(write, tmp_path, locked):
    (tmp_path / "config.json").write_text(json.dumps(CONFIG))
    report = held(write(tmp_path), locked)
    assert report.verdict.word == "pass"
    assert [finding.message for finding in said(report, "pass")] == ["gain and bias as locked"] * 5


def test_and_an_onnx_graph(tmp_path, locked):
    norms = [name.removesuffix(".weight") for name in TENSORS if "ln_" in name and name.endswith(".weight")]
    nodes, value = [], "x"
    for name in norms:
        inputs = f"{value} {name}.weight {name}.bias"
        nodes.append(node("LayerNormalization", inputs, f"{name}.y", "", f"/{name}", epsilon=1e-5))
        value = f"{name}.y"
    kept = {name: values for name, values in TENSORS.items() if not name.endswith("attn.bias")}
    proto = model([*nodes, node("Identity", value, "y")], kept)
    (tmp_path / "config.json").write_text(json.dumps(CONFIG))
    (tmp_path / "model.onnx").write_bytes(proto.SerializeToString())
    report = held(str(tmp_path), locked)
    assert (report.verdict.word, len(said(report, "pass"))) == ("pass", 5)


@pytest.mark.parametrize(("dtype", "name"), [(BFLOAT16, "bfloat16"), (np.dtype(np.float16), "float16")])
def test_a_narrower_copy_passes_with_a_note(dtype, name, tmp_path, locked):
    copy = folder(tmp_path / "copy", {each: values.astype(dtype) for each, values in TENSORS.items()})
    report = held(copy, locked)
    assert report.verdict.word == "pass"
    told = f"gain and bias as locked after rounding to {name}, in which it is stored"
    assert {finding.message for finding in said(report, "pass")} == {told}


def test_a_copy_that_went_through_a_narrower_dtype_is_not_what_was_locked(tmp_path, locked):
    wide = {each: values.astype(BFLOAT16).astype(np.float32) for each, values in TENSORS.items()}
    (finding, *_) = said(held(folder(tmp_path / "copy", wide), locked), "fail")
    renewed = "if this is what is wanted, `ln-audit lock TARGET -o ln-audit.lock` renews it"
    assert finding.reason == f"its values went through bfloat16 before they were stored as F32; {renewed}"


def test_the_wider_original_of_what_was_locked_is_told(tmp_path):
    narrow = lock(folder(tmp_path / "narrow", {each: values.astype(BFLOAT16) for each, values in TENSORS.items()}))
    (finding, *_) = said(held(folder(tmp_path / "wide"), narrow), "fail")
    assert finding.reason.startswith("the lock is of values rounded to bfloat16, these are not: lock the wider ones; ")


@pytest.mark.parametrize(("name", "role"), [("ln_f.weight", "gain"), ("h.1.ln_2.bias", "bias")])
def test_one_flipped_bit_fails_with_the_norm_the_part_and_both_digests(name, role, tmp_path, locked):
    report = held(folder(tmp_path / "m", changed(name, 5)), locked)
    assert report.verdict.word == "fail"
    (finding,) = said(report, "fail")
    bare = name.rpartition(".")[0]
    (of,) = [each for each in locked.norms if each.name == bare]
    was = dict(of.parts)[role]
    assert was is not None
    (now,) = [t.value_sha256 for e in report.norms for t in e.tensors if t.name == name]
    assert now is not None
    assert (finding.subject, finding.message) == (
        bare,
        f"model.safetensors: {name}: expected {role} {was.digests['value_sha256'][:12]} as in ln-audit.lock, found {now[:12]}",
    )
    assert len(said(report, "pass")) == 4


def test_layers_that_changed_places_are_named(tmp_path, locked):
    other = dict(TENSORS)
    for leaf in ("weight", "bias"):
        one, two = f"h.0.ln_1.{leaf}", f"h.1.ln_1.{leaf}"
        other[one], other[two] = other[two], other[one]
    found = said(held(folder(tmp_path / "m", other), locked), "fail")
    assert [(f.subject, f.reason.partition(":")[0]) for f in found] == [
        (f"h.{here}.ln_1", f"these are the values of h.{there}.ln_1")
        for here, there in ((0, 1), (0, 1), (1, 0), (1, 0))
    ]


def test_another_epsilon_fails_where_it_is_written(tmp_path, locked):
    report = held(folder(tmp_path / "m", config={**CONFIG, "layer_norm_epsilon": 1e-6}), locked)
    assert {finding.message.partition(": h")[0] for finding in said(report, "fail")} == {
        "config.json: layer_norm_epsilon: ln_f: expected epsilon 1e-05 as in ln-audit.lock, found 1e-06",
        "config.json: layer_norm_epsilon",
    }
    assert len(said(report, "fail")) == 5


def test_the_same_epsilon_in_float32_is_the_same(tmp_path, locked):
    close = float(np.float32(1e-5))
    report = held(folder(tmp_path / "m", config={**CONFIG, "layer_norm_epsilon": close}), locked)
    assert report.verdict.word == "pass"


def test_an_epsilon_that_is_only_assumed_is_no_failure(tmp_path, locked):
    target = folder(tmp_path / "m")
    (tmp_path / "m" / "config.json").unlink()
    other = replace(locked, norms=tuple(replace(each, epsilon=1e-6) for each in locked.norms))
    report = held(target, other, family="gpt2")
    assert (report.verdict.word, said(report, "fail")) == ("incomplete", [])
    assert all("which is only assumed" in finding.reason for finding in said(report, "skip"))


def test_a_norm_that_is_gone_and_one_that_is_new_fail_by_name(tmp_path, locked):
    fewer = {name: values for name, values in TENSORS.items() if not name.startswith("h.1.")}
    gone = said(held(folder(tmp_path / "less", fewer, {**CONFIG, "n_layer": 1}), locked), "fail")
    assert [finding.message for finding in gone] == [
        f"model.safetensors: h.1.{each}: expected the norm as in ln-audit.lock, found none" for each in ("ln_1", "ln_2")
    ]
    more = {**TENSORS, **{name.replace("h.1.", "h.2."): values for name, values in TENSORS.items() if "h.1." in name}}
    added = said(held(folder(tmp_path / "more", more, {**CONFIG, "n_layer": 3}), locked), "fail")
    assert [finding.message for finding in added] == [
        f"model.safetensors: h.2.{each}: expected no norm that is not in ln-audit.lock, found it"
        for each in ("ln_1", "ln_2")
    ]


def test_a_renamed_norm_is_missed_under_its_name(tmp_path, locked):
    other = {name.replace("ln_f.", "closing."): values for name, values in TENSORS.items()}
    found = said(held(folder(tmp_path / "m", other), locked), "fail")
    assert [(f.subject, f.message.partition(" expected")[0], f.message.rpartition(" found ")[2]) for f in found] == [
        ("ln_f", f"model.safetensors: ln_f.{leaf}:", "no such tensor") for leaf in ("weight", "bias")
    ]


def test_another_width_and_kind(tmp_path, locked):
    half = {
        name: values[:4] if "ln_" in name else values[..., :4] if name.startswith("w") else values
        for name, values in TENSORS.items()
    }
    found = said(held(folder(tmp_path / "m", half, {**CONFIG, "n_embd": 4}), locked), "fail")
    assert [finding.message.partition("ln_f")[2] for finding in found if finding.subject == "ln_f"] == [
        ": expected width 8 as in ln-audit.lock, found 4",
        ".weight: expected gain of 8 elements as in ln-audit.lock, found 4",
        ".bias: expected bias of 8 elements as in ln-audit.lock, found 4",
    ]
    other = replace(locked, norms=tuple(replace(each, kind="rms_norm") for each in locked.norms))
    (finding, *_) = said(held(folder(tmp_path / "n"), other), "fail")
    assert finding.message.endswith("expected kind rms_norm as in ln-audit.lock, found layer_norm")


def test_a_bias_that_was_not_locked_fails(tmp_path):
    without = {name: v for name, v in nemotron().items() if name != "model.layers.0.input_layernorm.bias"}
    was = lock(folder(tmp_path / "without", without, NEMOTRON))
    (finding,) = said(held(folder(tmp_path / "with", nemotron(), NEMOTRON), was), "fail")
    assert finding.message == (
        "model.safetensors: model.layers.0.input_layernorm.bias: expected no bias as in ln-audit.lock, found one"
    )


# ------------------------------------------------------------------------------------- families that store gain − 1


@pytest.fixture(scope="module")
def offset_lock(tmp_path_factory):
    return lock(folder(tmp_path_factory.mktemp("nemotron"), nemotron(), NEMOTRON))


def test_effective_values_are_the_same_under_both_conventions(tmp_path, offset_lock):
    target = nemotron_gguf(nemotron(), tmp_path / "m.gguf")
    report = held(target, offset_lock)
    assert (report.verdict.word, len(said(report, "pass"))) == ("pass", 3)
    back = lock(target)
    assert [norm.gain and norm.gain.digests["value_sha256"] for norm in back.norms] == [
        norm.gain and norm.gain.digests["value_sha256"] for norm in offset_lock.norms
    ]


def test_a_narrower_copy_has_rounded_before_the_offset_is_added(tmp_path, offset_lock):
    narrow = {name: values.astype(BFLOAT16) for name, values in nemotron().items()}
    report = held(folder(tmp_path / "m", narrow, NEMOTRON), offset_lock)
    assert report.verdict.word == "pass"
    told = "gain and bias as locked after rounding to bfloat16, in which it is stored"
    assert {finding.message for finding in said(report, "pass")} == {told}


def test_an_offset_that_was_never_added_is_told(tmp_path, offset_lock):
    report = held(nemotron_gguf(nemotron(), tmp_path / "m.gguf", plus=0.0), offset_lock)
    assert {finding.reason.partition(";")[0] for finding in said(report, "fail")} == {
        "every gain is the locked one -1: the converter mistook the family's convention"
    }


@pytest.mark.parametrize("added", [0.0, 1.0])
def test_a_lock_decides_the_convention_that_an_mlx_file_does_not_say(added, tmp_path, offset_lock):
    tensors = {
        name: values + np.float32(added if name.endswith("norm.weight") else 0) for name, values in nemotron().items()
    }
    target = folder(tmp_path / "m", tensors, NEMOTRON, {"format": "mlx"})
    report = held(target, offset_lock)
    assert (report.verdict.word, len(said(report, "pass"))) == ("pass", 3)
    other = held(folder(tmp_path / "n", nemotron(9), NEMOTRON, {"format": "mlx"}), offset_lock)
    assert "LN009" in {finding.rule for finding in other.findings if finding.required}


# --------------------------------------------------------------------------------------------------- what is not known


def test_what_was_not_read_keeps_the_gate_closed(tmp_path, locked):
    report = held(folder(tmp_path / "m"), locked, values="final")
    assert report.verdict.word == "incomplete"
    skips = said(report, "skip")
    assert [(f.subject, f.required) for f in skips] == [(f"h.{i}.ln_{k}", True) for i in (0, 1) for k in (1, 2)]
    assert skips[0].reason.startswith("h.0.ln_1.weight was not read (--values all reads it)")


def test_a_lock_that_holds_no_values_keeps_the_gate_closed(tmp_path, locked):
    text_ = "\n".join(line for line in text(locked).splitlines() if "_sha256 = " not in line)
    report = held(folder(tmp_path / "m"), parse(text_.encode(), "ln-audit.lock"))
    assert (report.verdict.word, [finding.required for finding in said(report, "skip")]) == ("incomplete", [True] * 5)


def test_what_a_lock_does_not_hold_is_not_decided(tmp_path, locked):
    bare = tuple(
        replace(each, gain=Parameter(8), bias=Parameter(8)) if each.role == "block" else each for each in locked.norms
    )
    report = held(folder(tmp_path / "m"), replace(locked, norms=bare))
    assert report.verdict.word == "incomplete"
    why = "ln-audit.lock holds no values of its {}: lock it with all values"
    assert {(f.required, f.reason) for f in said(report, "skip")} == {
        (True, f"{why.format('gain')}; {why.format('bias')}")
    }
    assert len(said(report, "pass")) == 1


def test_an_unknown_family_cannot_be_told(tmp_path, locked):
    report = held(folder(tmp_path / "m", {"x.scale": np.ones(8, np.float32)}, {"model_type": "acme"}), locked)
    assert report.verdict.word == "incomplete"
    (skip,) = said(report, "skip")
    assert skip.required
    assert "the family of this artifact is not known" in skip.reason
    other = held(folder(tmp_path / "n"), replace(locked, family=None, data=None))
    assert [(f.required, f.reason.partition(" is not known")[0]) for f in said(other, "skip")] == [
        (True, "the family of ln-audit.lock")
    ]


def test_a_lock_that_was_named_and_not_read_keeps_the_gate_closed():
    made = subject(WHOLE, norm(), demand=Demand(lock="l", locked=None))
    (finding,) = lock_mismatch.check(made)
    assert (finding.status, finding.required, finding.reason) == ("skip", True, "l was not read")


def test_a_quantized_norm_is_not_compared():
    made = subject(WHOLE, norm())
    pinned = locked_of(made, "local", {})
    quantized = replace(made.values["ln_f.weight"], exact=False)
    made = replace(made, values={**made.values, "ln_f.weight": quantized}, demand=Demand(lock="l", locked=pinned))
    (finding,) = lock_mismatch.check(made)
    assert (finding.status, finding.required) == ("skip", True)
    assert finding.reason == "ln_f.weight is quantized, so no value is exact"


def test_a_tower_that_is_left_out_or_added_as_a_whole_is_told_and_does_not_fail():
    tower = norm("post", stack="vision", main=False, bias=None)
    both = {**WHOLE, "post.weight": floats(1, 2, 3, 4)}
    shell = replace(load("gpt2"), main=("decoder",))
    whole, part = subject(both, norm(), tower, family=shell), subject(WHOLE, norm(), family=shell)
    for made, other, reason in (
        (part, whole, "model.safetensors: post: expected the norm as in ln-audit.lock, found none of stack vision"),
        (whole, part, "ln-audit.lock holds no norm of stack vision"),
    ):
        pinned = locked_of(other, "local", {})
        found = list(lock_mismatch.check(replace(made, demand=Demand(lock="l", locked=pinned))))
        assert [(f.status, f.required, f.reason or f.message) for f in found] == [
            ("pass", False, "gain and bias as locked"),
            ("skip", False, reason),
        ]
    decoder_only = replace(whole, family=load("gpt2"), demand=Demand(lock="l", locked=locked_of(part, "local", {})))
    assert [f.status for f in lock_mismatch.check(decoder_only)] == ["pass", "fail"]


def test_not_asking_for_it_says_nothing():
    assert list(lock_mismatch.check(subject(WHOLE, norm()))) == []


SINCE = "the table of gpt2 has changed since ln-audit.lock was made"


def test_a_table_that_has_changed_since_is_told(tmp_path, locked):
    other = replace(locked, data="000000000000", norms=locked.norms[1:])
    (finding,) = said(held(folder(tmp_path / "m"), other), "fail")
    assert finding.reason == SINCE


def test_a_norm_or_kind_that_only_one_version_of_the_table_knows_cannot_be_told(tmp_path, locked):
    target, old = folder(tmp_path / "m"), replace(locked, data="000000000000")
    final = replace(old.norms[-1], kind="rms_norm")
    for norms, subject_, of in (
        (old.norms[:-1], "ln_f", "expected no norm that is not in ln-audit.lock, found it"),
        ((*old.norms, replace(final, name="ln_e")), "ln_e", "expected the norm as in ln-audit.lock, found none"),
        ((*old.norms[:-1], final), "ln_f", "expected kind rms_norm as in ln-audit.lock, found layer_norm"),
    ):
        report = held(target, replace(old, norms=norms))
        assert (report.verdict.word, said(report, "fail")) == ("incomplete", [])
        (skip,) = said(report, "skip")
        assert (skip.subject, skip.required, skip.reason) == (
            subject_,
            True,
            f"model.safetensors: {subject_}: {of}: {SINCE}",
        )


# ------------------------------------------------------------------------------------------------------- whole files


def test_hashes_of_files_bind_only_the_container_that_was_locked(tmp_path):
    target = folder(tmp_path / "m")
    was = lock(target, full=True)
    assert [file.name for file in was.files] == ["model.safetensors"]
    assert said(held(target, was, full=True), "pass")[0].message == "SHA-256 as locked"
    assert [(f.required, f.reason) for f in said(held(target, was), "skip")] == [
        (False, "its SHA-256 was not worked out: --full does")
    ]
    other = folder(tmp_path / "n", {**TENSORS, "wte.weight": TENSORS["wte.weight"] + 1})
    (finding,) = said(held(other, was, full=True), "fail")
    assert finding.message.startswith("model.safetensors: expected SHA-256 ")
    assert held(other, was).verdict.word == "pass"
    moved = replace(was, files=(LockedFile("model-00001-of-00002.safetensors", "0" * 64),))
    assert said(held(other, moved), "skip")[0].reason == "locked, and no file of that name is here"
    elsewhere = replace(was, container="gguf")
    assert held(other, elsewhere, full=True).verdict.word == "pass"
