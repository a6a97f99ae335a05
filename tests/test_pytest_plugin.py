"""The pytest plugin, in pytest runs of its own."""

import shutil
import subprocess
import sys
from importlib.metadata import entry_points

import pytest

from tests.shared import FIXTURES

pytest_plugins = ("pytester",)


@pytest.fixture
def run(pytester):
    """Runs tests in a folder that has a good, a broken and an unknown checkpoint; the plugin comes in by its entry point."""
    good = pytester.path / "good"
    shutil.copytree(FIXTURES / "good" / "gpt2-recorded", good)
    shutil.copytree(FIXTURES / "bad" / "LN101-not-finite", pytester.path / "bad")
    shutil.copytree(FIXTURES / "bad" / "LN001-unknown-family", pytester.path / "unknown")
    pytester.makefile(".ini", pytest="[pytest]\naddopts = --strict-markers --strict-config\nfilterwarnings = error\n")

    def with_tests(source: str, *args: str) -> pytest.RunResult:
        pytester.makepyfile(source)
        return pytester.runpytest_inprocess("-p", "no:cacheprovider", *args)

    return with_tests


def test_the_entry_point_is_this_module():
    (found,) = (each for each in entry_points(group="pytest11") if each.name == "ln-audit")
    assert found.value == "ln_audit.pytest_plugin"


def test_a_pytest_run_pays_for_nothing_it_does_not_use():
    code = "import sys, pytest; old = set(sys.modules); import ln_audit.pytest_plugin; print(*sorted(set(sys.modules) - old))"
    made = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    ours = {"ln_audit", "ln_audit.printable", "ln_audit.pytest_plugin"}
    assert ours <= set(made.stdout.split()) <= ours | {"importlib", "__future__"}


def test_a_marked_test_runs_only_when_its_checkpoint_passes(run):
    made = run(
        """
        import pytest

        @pytest.mark.ln_checkpoint("good")
        def test_good(ln_report):
            assert ln_report.family.name == "gpt2"
            assert ln_report.verdict.word == "pass"

        @pytest.mark.ln_checkpoint("bad")
        def test_bad():
            raise RuntimeError("the body is not reached")

        @pytest.mark.ln_checkpoint("unknown")
        def test_unknown(): pass

        @pytest.mark.ln_checkpoint("./none")
        def test_none(): pass

        def test_other(): pass
        """
    )
    made.assert_outcomes(passed=2, failed=3)
    told = made.stdout.str()
    assert "the body is not reached" not in told
    for line in (
        "ln-audit: FAIL bad: LN101 not-finite: ",
        "ln-audit: INCOMPLETE unknown: ",
        "ln-audit: INCOMPLETE ./none: ",
    ):
        assert f"\n{line}" in told


def test_the_report_of_a_failure_is_a_section_of_its_own(run):
    made = run(
        """
        import pytest

        @pytest.mark.ln_checkpoint("bad")
        def test_bad(): pass

        @pytest.mark.ln_checkpoint("good")
        def test_good(): pass
        """,
        "-rA",
    )
    made.assert_outcomes(passed=1, failed=1)
    made.stdout.re_match_lines(
        [r"-+ ln-audit verify bad -+", r"FAIL  bad", r".*family +gpt2", r".*failed", r".*LN101.*"]
    )
    assert "ln-audit verify good" not in made.stdout.str()


def test_markers_of_class_and_module_count_and_each_target_must_pass(run):
    made = run(
        """
        import pytest

        pytestmark = pytest.mark.ln_checkpoint("good", recording="good/run.safetensors")

        class TestBoth:
            @pytest.mark.ln_checkpoint("good", "good/model.safetensors", require=["resolving-power"])
            def test_blind(self): pass

            @pytest.mark.ln_checkpoint("good/model.safetensors", strict=True)
            def test_both(self, ln_reports):
                assert [len(report.comparisons) for report in ln_reports] == [0, 1]

            @pytest.mark.ln_checkpoint("good")
            def test_one(self, ln_report): pass
        """
    )
    made.assert_outcomes(passed=1, failed=1, errors=1)
    made.stdout.fnmatch_lines(["ln_report: expected one report, found 2: use ln_reports"])


@pytest.mark.parametrize(
    ("mark", "message"),
    [
        ('("good", thorough=True)', "ln-audit: option: expected one of after, against, *found thorough"),
        ('("good", eps="small")', "*eps: expected a number, found 'small'"),
        ("(3)", "*target: expected a word or a path, found 3"),
        ("()", "ln_checkpoint: expected a target, found none"),
        ('("good", require="no-rule")', "*no-rule*"),
    ],
)
def test_a_mark_that_asks_for_nothing_sensible_fails(run, mark, message):
    made = run(f"import pytest\n@pytest.mark.ln_checkpoint{mark}\ndef test_it(): pass")
    made.assert_outcomes(failed=1)
    made.stdout.fnmatch_lines([message])


def test_fixtures_without_their_mark_fail(run):
    made = run("def test_it(ln_report): pass")
    made.assert_outcomes(errors=1)
    made.stdout.fnmatch_lines(
        ["ln_reports: expected a test marked with @pytest.mark.ln_checkpoint(target), found none"]
    )


def test_a_checkpoint_that_the_test_makes_is_verified_where_it_is_made(run):
    made = run(
        """
        import shutil

        def test_good(ln_verify, tmp_path):
            shutil.copytree("good", tmp_path / "saved")
            assert ln_verify(tmp_path / "saved", against="good").against.pairs == 5

        def test_bad(ln_verify):
            ln_verify("bad")
        """
    )
    made.assert_outcomes(passed=1, failed=1)
    made.stdout.re_match_lines([r"-+ ln-audit verify bad -+"])


RECORDING = """
import numpy as np
import pytest
from safetensors.numpy import load_file

RUN = load_file("good/run.safetensors")
WEIGHTS = load_file("good/model.safetensors")

def recorded(norm_recording, factor=1):
    for before, after in zip(RUN["before"], RUN["after"]):
        norm_recording.add(before, after * np.float32(factor))
"""


def test_rows_are_gathered_over_calls_and_held_to_a_checkpoint_or_to_parameters(run):
    made = run(
        RECORDING
        + """
def test_checkpoint(norm_recording):
    recorded(norm_recording)
    report = norm_recording.verify("good")
    assert (report.comparisons[0].status, report.comparisons[0].positions) == ("pass", norm_recording.positions)
    assert load_file(norm_recording.path)["after"].shape == (norm_recording.positions, 8)

def test_parameters(norm_recording):
    recorded(norm_recording)
    gain, bias = (WEIGHTS[f"transformer.ln_f.{each}"] for each in ("weight", "bias"))
    assert norm_recording.assert_norm(gain, bias, kind="layer_norm", eps=1e-5).status == "pass"

def test_wrong(norm_recording):
    recorded(norm_recording, 1.01)
    norm_recording.verify("good")

def test_wrong_parameters(norm_recording):
    recorded(norm_recording)
    norm_recording.assert_norm(kind="layer_norm", eps=1e-5)
"""
    )
    made.assert_outcomes(passed=2, failed=2)
    made.stdout.fnmatch_lines(["*ln-audit: FAIL good: LN201 off-reference: *"])


def test_a_recording_that_nothing_was_held_to_fails_the_test(run):
    made = run(
        RECORDING
        + """
def test_empty(norm_recording): pass

def test_not_judged(norm_recording): recorded(norm_recording)

def test_judged_too_early(norm_recording):
    recorded(norm_recording)
    norm_recording.verify("good")
    norm_recording.add(RUN["before"], RUN["before"])
"""
    )
    made.assert_outcomes(failed=3)
    assert made.stdout.str().count("rows that nothing was held to") >= 2
    made.stdout.fnmatch_lines(["norm_recording: expected rows *, found none: nothing was checked"])


def test_names_from_a_checkpoint_are_inert(run, pytester):
    evil = pytester.path / "e\x1b[31m\nvil"
    shutil.copytree(pytester.path / "bad", evil)
    made = run("import pytest\n@pytest.mark.ln_checkpoint('e\\x1b[31m\\nvil')\ndef test_it(): pass", "--color=no")
    made.assert_outcomes(failed=1)
    assert "\x1b[31m" not in made.stdout.str()


def test_an_expected_failure_stays_one(run):
    made = run("import pytest\n@pytest.mark.xfail(strict=True)\n@pytest.mark.ln_checkpoint('bad')\ndef test_it(): pass")
    made.assert_outcomes(xfailed=1)


@pytest.mark.parametrize("marker", ["ln_chekpoint", "LN_CHECKPOINT", "Ln_Checkpoint"])
def test_a_mistyped_marker_is_refused_and_not_a_test_without_a_gate(run, marker):
    made = run(
        f"""
        import pytest

        @pytest.mark.{marker}("bad")
        def test_bad(): pass
        """,
        "-o", "addopts=", "-W", "ignore",
    )  # fmt: skip
    assert made.ret == pytest.ExitCode.USAGE_ERROR
    made.stderr.fnmatch_lines([f"*@pytest.mark.{marker}: did you mean @pytest.mark.ln_checkpoint[?]*"])


def test_other_markers_are_none_of_ours(run):
    made = run(
        """
        import pytest

        @pytest.mark.ln_checkpoints
        @pytest.mark.slow
        @pytest.mark.parametrize("x", [1])
        def test_x(x): pass
        """,
        "-o", "addopts=", "-o", "markers=ln_checkpoints: of another plugin", "-W", "ignore",
    )  # fmt: skip
    made.assert_outcomes(passed=1)


def test_a_mistyped_option_of_the_marker_has_a_hint(run):
    made = run(
        """
        import pytest

        @pytest.mark.ln_checkpoint("good", agianst="good")
        def test_good(): pass
        """
    )
    made.assert_outcomes(failed=1)
    made.stdout.fnmatch_lines(["ln-audit: option: expected one of *found agianst: did you mean against[?]"])
