"""The source of --against is opened once, read like any target, and its cost is told."""

from dataclasses import replace

import numpy as np
from safetensors.numpy import load_file, save_file

from ln_audit.audit import audit
from ln_audit.core import TensorInfo
from ln_audit.demand import Demand, InMemory, NormModule, Policy, Rules
from ln_audit.formats import find_artifacts, read_checkpoint
from ln_audit.result import Verdict
from ln_audit.sources import open_source
from ln_audit.sources.in_memory import InMemorySource
from ln_audit.sources.settings import Settings
from ln_audit.twin import examined
from scripts.source_faults.artifacts import converted
from scripts.source_faults.models import SPECS, build
from scripts.source_faults.writers import write
from tests.shared import ROOT

GOOD = ROOT / "fixtures" / "good" / "gpt2-safetensors"


def copied(folder, change=lambda tensors: tensors):
    folder.mkdir()
    save_file(change(load_file(GOOD / "model.safetensors")), folder / "model.safetensors")
    (folder / "config.json").write_bytes((GOOD / "config.json").read_bytes())
    return str(folder)


def test_a_copy_passes_and_both_sides_costs_are_told(tmp_path):
    (report,) = audit(copied(tmp_path / "copy"), Demand(against=str(GOOD)))
    assert report.verdict is Verdict.PASS
    assert report.against is not None
    assert (report.against.family, report.against.pairs) == ("gpt2", len(report.norms))
    assert report.against.source.bytes_read > 0
    assert {f.status for f in report.findings if f.rule == "LN301"} == {"pass"}


def test_a_changed_norm_fails_with_its_cause(tmp_path):
    name = "transformer.ln_f.weight"
    changed = copied(tmp_path / "changed", lambda tensors: tensors | {name: tensors[name] + np.float32(1)})
    (report,) = audit(changed, Demand(against=str(GOOD)))
    assert report.verdict is Verdict.FAIL
    (finding,) = [f for f in report.findings if f.rule == "LN301" and f.status == "fail"]
    assert "offset +1 in every element" in finding.message


def test_a_source_that_cannot_be_read_closes_the_gate(tmp_path):
    empty = tmp_path / "empty"
    empty.mkdir()
    (report,) = audit(copied(tmp_path / "copy"), Demand(against=str(empty)))
    assert report.verdict is Verdict.INCOMPLETE
    (finding,) = [f for f in report.findings if f.rule == "LN301"]
    assert finding.required
    assert "the source was not compared: " in finding.reason
    (report,) = audit(copied(tmp_path / "other"), Demand(against=str(tmp_path / "nowhere")))
    assert report.verdict is Verdict.INCOMPLETE


def test_a_source_of_several_models_must_be_named(tmp_path):
    several = tmp_path / "several"
    several.mkdir()
    for name in ("a-Q4_K_M.gguf", "a-Q8_0.gguf"):
        (several / name).write_bytes(b"GGUF")
    (report,) = audit(copied(tmp_path / "copy"), Demand(against=str(several)))
    assert report.verdict is Verdict.INCOMPLETE


def test_an_unknown_family_is_paired_by_name(tmp_path):
    for name, gain in (("a", 1.0), ("b", 1.0), ("c", 1.5)):
        (tmp_path / name).mkdir()
        save_file(
            {"core.norm.weight": np.full(4, gain, np.float32) * np.arange(1, 5, dtype=np.float32)},
            tmp_path / name / "model.safetensors",
        )
        (tmp_path / name / "config.json").write_text('{"model_type": "acme", "hidden_size": 4, "norm_eps": 1e-5}')
    (same,) = audit(str(tmp_path / "b"), Demand(against=str(tmp_path / "a")))
    (other,) = audit(str(tmp_path / "c"), Demand(against=str(tmp_path / "a")))
    assert [f.status for f in same.findings if f.rule == "LN301"] == ["pass"] * 3
    assert same.verdict is Verdict.PASS
    assert other.verdict is Verdict.FAIL


def test_an_archive_that_does_not_say_its_convention_is_read_as_its_source_says(tmp_path):
    model = build(SPECS["gemma2"])
    source = write(converted(model, "safetensors"), tmp_path / "source")
    for added, offset in ((False, 1.0), (True, 0.0)):
        target = write(converted(model, "npz", added=added), tmp_path / str(added))
        (report,) = audit(target, Demand(against=source))
        assert report.verdict is Verdict.PASS
        assert {entry.norm.weight_offset for entry in report.norms} == {offset}
        assert [f for f in report.findings if f.status in ("warn", "fail") or f.required] == []


def test_replicas_are_each_held_to_the_source_and_so_to_one_another(tmp_path, capsys):
    from ln_audit import cli

    name = "transformer.ln_f.weight"

    def one_bit(tensors):
        gain = tensors[name].copy()
        gain.view(np.uint32)[3] ^= 1
        return tensors | {name: gain}

    first, second = copied(tmp_path / "rank0"), copied(tmp_path / "rank1")
    other = copied(tmp_path / "rank2", one_bit)
    assert cli.main(["verify", first, second, "--against", str(GOOD)]) == 0
    assert cli.main(["verify", first, second, other, "--against", str(GOOD)]) == 1
    assert "one bit of [3]: bit 0" in capsys.readouterr().out


def test_the_source_is_not_held_to_the_policys_rules():
    policy = Policy("p.toml", "0" * 64, rules=Rules(file_digests={"config.json": "0" * 64}))
    found = examined(str(GOOD), Demand(policy=policy))
    assert found.subject is not None
    assert found.subject.hashes == {}


def in_memory(*modules: NormModule) -> InMemory:
    """The fixture's tensors and its config as a model in memory has them, and one norm more."""
    source = open_source(str(GOOD), Settings())
    checkpoint = read_checkpoint(source, find_artifacts(source)[0])
    more = {"head.norm.weight": TensorInfo("head.norm.weight", "F32", (8,), 32)}
    stored = checkpoint.read(["transformer.ln_f.weight"])["transformer.ln_f.weight"]
    live = replace(
        checkpoint,
        tensors={**checkpoint.tensors, **more},
        files=("the model in memory",),
        read=lambda names: {name: stored if name in more else checkpoint.read([name])[name] for name in names},
    )
    config = InMemorySource("the model in memory", {"config.json": (GOOD / "config.json").read_bytes()})
    return InMemory(config, live, modules=modules)


def held_to_memory(*modules: NormModule) -> list[tuple[str, str, str]]:
    """What is said of the fixture, held to itself in memory with these modules, beside what passes."""
    (report,) = audit(str(GOOD), Demand(against="the model in memory", live=in_memory(*modules)))
    return [(f.status, f.subject, f.message) for f in report.findings if f.rule == "LN301" and f.status != "pass"]


def test_a_module_in_memory_has_an_epsilon_of_its_own():
    name = "transformer.ln_f"
    assert held_to_memory(NormModule(name, (f"{name}.weight", f"{name}.bias"), 1e-5)) == []
    assert held_to_memory(NormModule(name, (f"{name}.weight", f"{name}.bias"), None, eps_in_code=True)) == []
    ((status, subject, told),) = held_to_memory(NormModule(name, (), 1e-6))
    assert (status, subject) == ("fail", name)
    assert told.endswith("expected epsilon 1e-06 (the model in memory: its own module), found 1e-05")


def test_an_epsilon_that_its_own_module_does_not_tell_is_no_epsilon_of_the_configs():
    ((status, subject, _),) = held_to_memory(NormModule("transformer.ln_f", ("transformer.ln_f.weight",), None))
    assert (status, subject) == ("skip", "transformer.ln_f")
    (report,) = audit(
        str(GOOD), Demand(against="the model in memory", live=in_memory(NormModule("transformer.ln_f", (), None)))
    )
    assert report.verdict is Verdict.INCOMPLETE
    (untold,) = [each.reason for each in report.findings if each.status == "skip" and each.required]
    told = "its own module in memory has no number that is called an epsilon"
    assert untold == f"epsilon is not known on both sides: {told}"


def test_the_kind_of_a_module_in_memory_is_compared_where_it_is_known():
    name = "transformer.ln_f"
    assert held_to_memory(NormModule(name, (), 1e-5, kind="layer_norm")) == []
    ((status, subject, told),) = held_to_memory(NormModule(name, (), 1e-5, kind="rms_norm"))
    assert (status, subject) == ("fail", name)
    assert told == f"model.safetensors: {name}: expected rms_norm as the model in memory says, found layer_norm"


def test_every_norm_module_in_memory_must_be_in_the_file_unless_it_is_tied_to_one_that_is():
    own = ("head.norm.weight",)
    ((status, subject, told),) = held_to_memory(NormModule("head.norm", own, None))
    assert (status, subject) == ("fail", "1 norms of the model in memory")
    assert told == (
        "model.safetensors: expected the 1 norms that the model in memory has besides (head.norm.weight), found none of them"
    )
    for there, expected in (("transformer.ln_f.weight", []), ("nowhere.weight", ["fail"])):
        tied = {"head.norm.weight": (there,)}
        assert [status for status, *_ in held_to_memory(NormModule("head.norm", own, None, tied=tied))] == expected
    assert held_to_memory(NormModule("head.norm", own, None, called=False)) == []


def test_a_tied_gain_does_not_stand_for_the_bias_beside_it():
    both = ("head.norm.bias", "head.norm.weight")
    tied = {"head.norm.weight": ("transformer.ln_f.weight",)}
    live = in_memory(NormModule("head.norm", both, None, tied=tied))
    stored = live.checkpoint.tensors["head.norm.weight"]
    more = {**live.checkpoint.tensors, both[0]: replace(stored, name=both[0])}
    live = replace(live, checkpoint=replace(live.checkpoint, tensors=more, read=lambda names: {}))
    (report,) = audit(str(GOOD), Demand(against="the model in memory", live=live))
    told = [each.message for each in report.findings if each.rule == "LN301" and each.status == "fail"]
    assert any(f"has besides ({both[0]})" in each for each in told)
