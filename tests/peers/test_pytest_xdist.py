"""The pytest plugin under pytest-xdist: a failure on a worker is told by the controller, with its report."""

import shutil

import pytest

from tests.shared import FIXTURES

pytestmark = pytest.mark.peers
pytest.importorskip("xdist")
pytest_plugins = ("pytester",)


def test_workers_judge_as_one_process_does(pytester):
    shutil.copytree(FIXTURES / "good" / "gpt2-recorded", pytester.path / "good")
    shutil.copytree(FIXTURES / "bad" / "LN101-not-finite", pytester.path / "bad")
    pytester.makepyfile(
        """
        import pytest

        @pytest.mark.ln_checkpoint("good")
        @pytest.mark.parametrize("nth", range(3))
        def test_good(nth, ln_report):
            assert ln_report.verdict.word == "pass"

        @pytest.mark.ln_checkpoint("bad")
        @pytest.mark.parametrize("nth", range(3))
        def test_bad(nth):
            raise RuntimeError("the body is not reached")

        @pytest.mark.parametrize("nth", range(2))
        def test_nothing_is_judged(nth, norm_recording): pass
        """
    )
    made = pytester.runpytest_subprocess("-n", "2", "--strict-markers", "-p", "no:cacheprovider")
    made.assert_outcomes(passed=3, failed=5)
    told = made.stdout.str()
    assert told.count("- ln-audit verify bad -") == 3
    assert len([line for line in told.splitlines() if line.startswith("FAIL  ") and line.endswith("bad")]) == 3
    assert told.count("nothing was checked") >= 2
    assert "the body is not reached" not in told.replace('raise RuntimeError("the body is not reached")', "")
