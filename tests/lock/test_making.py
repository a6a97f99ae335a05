"""A lock is made of what an audit found: sorted, without anything of this machine, the same each time."""

from dataclasses import replace

import numpy as np

from ln_audit.lock.making import family_offset, locked
from ln_audit.lock.schema import LockedFile
from tests.checks.subject_builder import WHOLE, floats, norm, subject
from tests.lock.models import NEMOTRON, folder, lock, nemotron, nemotron_gguf
from tests.test_seven_containers import TENSORS


def test_a_lock_names_the_model_and_every_norm_in_the_order_of_the_model(tmp_path):
    made = lock(folder(tmp_path / "gpt2-tiny"))
    assert (made.identity, made.container, made.revision, made.family) == ("gpt2-tiny", "safetensors", None, "gpt2")
    assert [norm.name for norm in made.norms] == ["h.0.ln_1", "h.0.ln_2", "h.1.ln_1", "h.1.ln_2", "ln_f"]
    last = made.norms[-1]
    assert (last.role, last.stack, last.layer, last.kind, last.width, last.epsilon, last.parameters) == (
        "final", "decoder", None, "layer_norm", 8, 1e-05, 16,
    )  # fmt: skip


def test_layers_are_in_the_order_of_their_numbers():
    names = [f"h.{layer}.ln_1" for layer in (10, 9, 2)]
    norms = [norm(name, layer=int(name.split(".")[1]), role="block") for name in names]
    made = locked(subject({}, *norms), "local", {})
    assert [norm.name for norm in made.norms] == ["h.2.ln_1", "h.9.ln_1", "h.10.ln_1"]
    experts = [norm(f"h.0.{expert}.q_norm", layer=0, role="qk") for expert in (10, 2)]
    assert [each.name for each in locked(subject({}, *experts), "local", {}).norms] == ["h.0.2.q_norm", "h.0.10.q_norm"]


def test_the_epsilon_is_the_shortest_decimal_of_its_float32(tmp_path):
    made = lock(nemotron_gguf(nemotron(), tmp_path / "m.gguf"))
    assert {norm.epsilon for norm in made.norms} == {1e-05}


def test_a_negative_zero_is_written_as_the_zero_that_it_is():
    (only,) = locked(subject(WHOLE, norm(eps=-0.0)), "local", {}).norms
    assert repr(only.epsilon) == "0.0"  # a lock of -0.0 is refused


def test_an_identity_says_nothing_of_this_machine():
    of = replace(subject(WHOLE, norm()), identity="/home/me/models/mine/", revision="abc")
    assert (locked(of, "local", {}).identity, locked(of, "local", {}).revision) == ("mine", "abc")
    assert locked(replace(of, identity="org/name"), "hub", {}).identity == "org/name"
    signed = "https://user:secret@host/m.gguf?sig=secret"
    assert locked(replace(of, identity=signed), "http", {}).identity == "https://host/m.gguf"


def test_files_are_kept_with_their_hashes():
    made = locked(subject(WHOLE, norm()), "local", {"b": "1" * 64, "a": "0" * 64})
    assert made.files == (LockedFile("a", "0" * 64), LockedFile("b", "1" * 64))


def test_what_was_not_read_has_no_digest_and_what_is_not_there_no_parameter():
    made = locked(subject({"ln_f.weight": floats(1, 2, 3, 4)}, norm(), read=False), "local", {})
    (only,) = made.norms
    assert only.gain is not None
    assert (only.gain.elements, only.gain.digests, only.bias) == (4, {}, None)


def test_the_familys_offset_is_known_in_every_container(tmp_path):
    hub = lock(folder(tmp_path / "m", nemotron(), NEMOTRON))
    gguf = lock(nemotron_gguf(nemotron(), tmp_path / "m.gguf"))
    for made in (hub, gguf):
        assert made.norms[-1].gain is not None
        assert "bfloat16_before_offset_sha256" in made.norms[-1].gain.digests
        assert made.norms[-1].bias is not None
        assert "bfloat16_before_offset_sha256" not in made.norms[-1].bias.digests
    assert family_offset(norm(weight_offset=1.0), subject(WHOLE, norm())) == 1.0
    assert family_offset(norm(), subject(WHOLE, norm())) == 0.0


def test_float64_values_are_locked_too(tmp_path):
    wide = {name: values.astype(np.float64) + 1e-12 if "ln_" in name else values for name, values in TENSORS.items()}
    made = lock(folder(tmp_path / "m", wide))
    assert made.norms[-1].gain is not None
    assert next(iter(made.norms[-1].gain.digests)) == "float64_sha256"
