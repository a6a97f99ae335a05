"""The pipeline as a library: values in, reports out; it never raises for what the target holds."""

import re
import shutil

import numpy as np
import pytest
from safetensors.numpy import save_file

from ln_audit.audit import audit, audit_recording
from ln_audit.demand import Demand
from ln_audit.errors import FormatError, UsageError
from ln_audit.examination import promised
from ln_audit.result import Verdict
from tests.shared import FIXTURES

GOOD = FIXTURES / "good"


def statuses(report):
    return {(f.rule, f.status) for f in report.findings}


def test_a_good_model_passes_and_the_report_is_whole():
    (report,) = audit(
        str(GOOD / "gpt2-recorded"), Demand(recordings=(str(GOOD / "gpt2-recorded" / "run.safetensors"),))
    )
    assert report.verdict is Verdict.PASS
    assert (report.parameters.final_norm, report.parameters.all_norms, report.parameters.checkpoint) == (16, 80, 240)
    assert report.family is not None
    assert report.checkpoint is not None
    assert (report.family.name, report.checkpoint.tensors, report.error) == ("gpt2", 14, None)
    assert [c.status for c in report.comparisons] == ["pass"]
    assert report.source.bytes_read == sum(file.bytes_read for file in report.source.files) > 0


@pytest.mark.parametrize(("values", "read"), [(None, 5), ("all", 5), ("final", 1)])
def test_whose_values_are_read(values, read):
    (report,) = audit(str(GOOD / "gpt2-safetensors"), Demand(values=values))
    assert sum(entry.tensors[0].sha256 is not None for entry in report.norms) == read
    assert report.verdict is Verdict.PASS


def test_a_norm_that_a_recording_names_is_read_too(tmp_path):
    (report,) = audit(
        str(GOOD / "gpt2-safetensors"),
        Demand(values="final", norm="h.0.ln_1", recordings=(str(GOOD / "gpt2-recorded" / "run.safetensors"),)),
    )
    assert [entry.norm.name for entry in report.norms if entry.tensors[0].sha256] == [
        "transformer.h.0.ln_1",
        "transformer.ln_f",
    ]
    assert report.verdict is Verdict.FAIL


def test_what_earlier_steps_found_is_judged_when_a_later_one_fails():
    (report,) = audit(str(GOOD / "gpt2-safetensors"), Demand(recordings=("no/such/file.safetensors",)))
    assert report.verdict is Verdict.INCOMPLETE
    assert report.error is not None
    assert report.error.kind == "recording"
    assert ("LN101", "pass") in statuses(report)


def test_a_failure_wins_over_an_error():
    (report,) = audit(str(FIXTURES / "bad" / "LN101-not-finite"), Demand(recordings=("no/such/file.safetensors",)))
    assert (report.verdict, report.error is None) == (Verdict.FAIL, False)


@pytest.mark.parametrize("target", ["./no/such", str(FIXTURES / "hostile" / "safetensors" / "cut-short")])
def test_an_input_that_cannot_be_audited_is_a_report_that_says_why(target):
    (report,) = audit(target, Demand())
    assert (report.verdict, report.findings) == (Verdict.INCOMPLETE, ())
    assert report.error is not None
    assert (report.source.spec, report.source.kind) == (target, "local")


def test_several_artifacts_are_a_report_each_with_their_own_cost(tmp_path):
    for name in ("a", "b"):
        shutil.copy(GOOD / "gpt2-safetensors" / "model.safetensors", tmp_path / f"{name}.safetensors")
    shutil.copy(GOOD / "gpt2-safetensors" / "config.json", tmp_path)
    reports = audit(str(tmp_path), Demand())
    assert [[f.name for f in r.source.files if f.name.endswith("safetensors")] for r in reports] == [
        ["a.safetensors"],
        ["b.safetensors"],
    ]
    assert {r.verdict for r in reports} == {Verdict.PASS}
    assert reports[0].source.bytes_read == reports[1].source.bytes_read


def test_an_unknown_family_can_be_described():
    bad = str(FIXTURES / "bad" / "LN001-unknown-family")
    (unknown,) = audit(bad, Demand())
    (described,) = audit(bad, Demand(norm="core.closing_scale", kind="rms_norm", eps=1e-6))
    assert (unknown.verdict, described.verdict) == (Verdict.INCOMPLETE, Verdict.PASS)
    (no_eps,) = audit(bad, Demand(norm="core.closing_scale", kind="rms_norm"))
    assert no_eps.verdict is Verdict.INCOMPLETE


def test_a_wrong_call_is_raised_not_reported():
    with pytest.raises(UsageError, match="--norm x: expected a norm of gpt2"):
        audit("sample", Demand(norm="x"))
    with pytest.raises(UsageError):
        audit("sample", Demand(require=("nonsense",)))


def test_a_tensor_too_large_for_a_norm_is_not_read(tmp_path):
    import numpy as np
    from safetensors.numpy import load_file, save_file

    tensors = load_file(GOOD / "gpt2-safetensors" / "model.safetensors")
    tensors["transformer.ln_f.weight"] = np.zeros((4_000_001,), np.float32)
    save_file(tensors, tmp_path / "model.safetensors")
    shutil.copy(GOOD / "gpt2-safetensors" / "config.json", tmp_path)
    (report,) = audit(str(tmp_path), Demand())
    assert report.verdict is Verdict.FAIL
    assert report.source.bytes_read < 1_000_000
    assert {("LN002", "fail"), ("LN101", "skip")} <= statuses(report)


def test_trace_gets_the_norms_values_without_a_verdict():
    made = promised(str(GOOD / "gpt2-safetensors"), Demand())
    assert len(made.values) == 10
    with pytest.raises(FormatError):
        promised(str(FIXTURES / "hostile" / "safetensors" / "empty"), Demand())


def test_a_complex_gain_fails_by_its_dtype_and_stops_nothing_else(tmp_path):
    import json

    shutil.copytree(GOOD / "gpt2-safetensors", tmp_path / "m")
    file = next((tmp_path / "m").glob("*.safetensors"))
    data = file.read_bytes()
    end = 8 + int.from_bytes(data[:8], "little")
    header = json.loads(data[8:end])
    header["transformer.ln_f.weight"] |= {"dtype": "C64", "shape": [4]}
    text = json.dumps(header).encode()
    file.write_bytes(len(text).to_bytes(8, "little") + text + data[end:])
    (report,) = audit(str(tmp_path / "m"), Demand())
    assert report.error is None
    assert ("stored-dtype", "fail") in {(finding.name, finding.status) for finding in report.findings}


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"gain": np.arange(8)}, r"gain: expected floats of shape \[8\], found I64 \[8\]"),
        ({"gain": np.ones(7, np.float32)}, r"gain: expected floats of shape \[8\], found F32 \[7\]"),
        ({"bias": np.ones((1, 8), np.float32)}, r"bias: expected floats of shape \[8\], found F32 \[1, 8\]"),
    ],
)
def test_a_recordings_own_parameters_that_fit_no_norm_make_it_unusable(changed, message, tmp_path):
    rows = np.linspace(-1, 1, 24, dtype=np.float32).reshape(3, 8)
    arrays = {"before": rows, "after": rows, "gain": np.ones(8, np.float32), "bias": np.zeros(8, np.float32)} | changed
    save_file(arrays, tmp_path / "r.safetensors", {"kind": "layer_norm", "eps": "1e-5"})
    report = audit_recording(str(tmp_path / "r.safetensors"), Demand())
    assert report.verdict is Verdict.INCOMPLETE
    assert report.error is not None
    assert re.search(message, report.error.message)


def test_what_was_meant_is_said_once(tmp_path, monkeypatch):
    (tmp_path / "llama").mkdir()
    (tmp_path / "llama" / "model.safetensors").touch()
    monkeypatch.chdir(tmp_path)
    (report,) = audit("llama/modle.safetensors", Demand())
    assert report.error is not None
    assert report.error.hint == "no such path on this machine: did you mean llama/model.safetensors?"
