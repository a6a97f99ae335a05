"""The functions of the package: the command's answers as values, and nothing printed."""

import ast
import json
import subprocess
import sys
from dataclasses import FrozenInstanceError

import numpy as np
import pytest

import ln_audit
from ln_audit.cli import main
from ln_audit.errors import RecordingError
from tests.shared import FIXTURES, ROOT

GOOD = FIXTURES / "good" / "gpt2-recorded"
RUN = GOOD / "run.safetensors"
BAD = FIXTURES / "bad"


def test_a_run_is_what_the_command_says(capsys):
    run = ln_audit.verify(GOOD, recording=RUN)
    assert capsys.readouterr() == ("", "")
    assert (run.verdict, run.exit_code, len(run.reports)) == ("pass", 0, 1)
    assert run.reports[0].verdict is ln_audit.Verdict.PASS
    assert main(["verify", str(GOOD), "--recording", str(RUN), "--format", "json"]) == 0
    assert json.loads(ln_audit.render(run, "json")) == json.loads(capsys.readouterr().out)


@pytest.mark.parametrize("recording", [RUN, str(RUN), [RUN], (str(RUN),)])
def test_recordings_are_one_or_several(recording):
    assert len(ln_audit.verify(GOOD, recording=recording).reports[0].comparisons) == 1


def test_the_worst_of_several_targets_counts():
    run = ln_audit.verify(GOOD, BAD / "LN001-missing-norm", "/none")
    assert [report.verdict.word for report in run.reports] == ["pass", "fail", "incomplete"]
    assert (run.verdict, run.exit_code) == ("fail", 1)
    assert ln_audit.verify("/none").verdict == "incomplete"


def test_a_wrong_call_is_an_error_of_its_own():
    with pytest.raises(ln_audit.UsageError, match="targets: expected a target"):
        ln_audit.verify()
    with pytest.raises(ln_audit.UsageError, match="--expect: expected same or derived"):
        ln_audit.verify(GOOD, against=GOOD, expect="equal")  # type: ignore[arg-type]
    with pytest.raises(ln_audit.UsageError, match="--values: expected final or all"):
        ln_audit.verify(GOOD, values="none")  # type: ignore[arg-type]
    with pytest.raises(ln_audit.UsageError, match="--format: expected one of text, json"):
        ln_audit.render(ln_audit.verify(GOOD), "yaml")


@pytest.mark.parametrize("rule", ["LN203", "digest-mismatch", "LN201"])
def test_a_required_rule_with_nothing_to_hold_to_is_incomplete(rule):
    assert ln_audit.verify(FIXTURES / "good" / "gpt2-safetensors", require=[rule]).verdict == "incomplete"


@pytest.mark.parametrize("rule", ["differs-from-source", "LN302"])
def test_a_required_twin_that_is_not_given_is_a_wrong_call(rule):
    with pytest.raises(ln_audit.UsageError, match="is required: expected (against|lock), found none"):
        ln_audit.verify(GOOD, require=[rule])


def test_a_page_with_pictures():
    pages = [ln_audit.render(ln_audit.verify(GOOD, recording=RUN, pictures=kept), "html") for kept in (False, True)]
    without, drawn = (page.count("<svg") for page in pages)
    assert without < drawn


def test_no_policy_of_the_working_directory_is_read(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "ln-audit.toml").write_text("nonsense = 1")
    assert ln_audit.verify(GOOD).verdict == "pass"


def test_the_parameters_of_a_checkpoint():
    found = ln_audit.report(GOOD)
    assert (found.parameters.final_norm, len(found.norms)) == (16, 5)
    assert all(tensor.value_sha256 for norm in found.norms for tensor in norm.tensors)


def test_what_cannot_be_read_is_an_error_where_a_value_was_asked_for(tmp_path):
    for call in (ln_audit.report, ln_audit.load_norms):
        with pytest.raises(ln_audit.AuditError):
            call(tmp_path / "none")


def test_a_report_is_of_one_artifact(tmp_path):
    for name in ("a", "b"):
        (tmp_path / f"{name}.onnx").write_bytes(b"")
    with pytest.raises(ln_audit.UsageError, match="expected one artifact, found 2"):
        ln_audit.report(tmp_path)


def test_a_recording_is_compared():
    (comparison,) = ln_audit.compare_recording(RUN, GOOD)
    assert (comparison.status, comparison.norm) == ("pass", "transformer.ln_f")
    alone = ln_audit.compare_recording(FIXTURES / "recordings" / "prenorm-stack.safetensors")
    assert {comparison.status for comparison in alone} == {"pass"}
    with pytest.raises(RecordingError):
        ln_audit.compare_recording(RUN)


def test_norms_are_loaded_with_their_values():
    norms = ln_audit.load_norms(GOOD)
    final = norms["transformer.ln_f"]
    assert len(norms) == 5
    assert (final.kind, final.eps, final.weight_offset) == ("layer_norm", 1e-5, 0.0)
    x = np.arange(8.0).reshape(1, 8)
    assert final.gain is not None
    assert final.bias is not None
    y = ln_audit.layer_norm(x, final.gain.astype(float), final.bias.astype(float), final.eps).y
    ln_audit.assert_norm(x, y, final.gain, final.bias, kind="layer_norm", eps=final.eps)


def test_the_public_surface_is_what_is_promised():
    assert sorted(ln_audit.__all__) == dir(ln_audit) == [
        "AuditError", "Comparison", "Finding", "LnAuditError", "Norm", "NormParameters", "NormReport", "Normed", "Report",
        "Run", "TensorReport", "UsageError", "Verdict", "__version__", "assert_norm", "capture", "compare_arrays",
        "compare_recording", "layer_norm", "load_norms", "render", "report", "rms_norm", "verify",
    ]  # fmt: skip
    for name in ln_audit.__all__:
        assert getattr(ln_audit, name) is not None
    with pytest.raises(AttributeError, match="module 'ln_audit' has no attribute 'nonsense'"):
        _ = ln_audit.nonsense


def test_a_type_checker_and_the_interpreter_see_the_same_surface():
    tree = ast.parse((ROOT / "ln_audit" / "__init__.py").read_text())
    block = next(node for node in tree.body if isinstance(node, ast.If))
    seen = {alias.name for node in block.body if isinstance(node, ast.ImportFrom) for alias in node.names}
    assert seen - {"Any"} == set(ln_audit.__all__) - {"__version__"}
    assert (ROOT / "ln_audit" / "py.typed").is_file()


def test_modules_of_the_package_never_hide_its_functions():
    """`import ln_audit.x` sets the attribute `x` of the package: no public function may be called like a module."""
    modules = {path.stem for path in (ROOT / "ln_audit").iterdir() if path.suffix == ".py" or path.is_dir()}
    assert modules & set(ln_audit.__all__) == set()


def test_the_package_alone_imports_nothing():
    code = "import sys; before = set(sys.modules); import ln_audit; print(sorted(set(sys.modules) - before))"
    made = subprocess.run([sys.executable, "-S", "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert made.stdout == "['ln_audit']\n"


def test_public_values_are_frozen():
    run = ln_audit.verify(GOOD)
    for value, field in ((run, "exit_code"), (run.reports[0], "findings"), (run.reports[0].findings[0], "status")):
        with pytest.raises(FrozenInstanceError):
            setattr(value, field, None)
