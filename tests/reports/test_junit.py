"""A reader of JUnit files goes red exactly where the exit code is not 0."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from junitparser import Error, Failure, Skipped

from ln_audit.reports import junit
from ln_audit.reports.document import Run, exit_code
from ln_audit.result import Failure as Reason
from ln_audit.result import Report, Rule
from tests.reports.made import RUNS, SOURCE
from tests.reports.readers import junit as read

RULES = [Rule("LN001", "missing-norm"), Rule("LN101", "not-finite"), Rule("LN201", "off-reference")]
FINDINGS = st.builds(
    lambda rule, status, n: {
        "pass": rule.passed(f"h.{n}", "good"),
        "fail": rule.failed(f"h.{n}", "bad", "mend it"),
        "warn": rule.warned(f"h.{n}", "odd"),
        "skip": rule.skipped(f"h.{n}", "why"),
        "must": rule.skipped(f"h.{n}", "why", required=True),
    }[status],
    st.sampled_from(RULES),
    st.sampled_from(["pass", "fail", "warn", "skip", "must"]),
    st.integers(0, 3),
)
REPORTS = st.builds(
    lambda findings, error: Report(SOURCE, findings=tuple(findings), error=error),
    st.lists(FINDINGS, max_size=8),
    st.sampled_from([None, None, Reason("source", "cut short")]),
)


@settings(deadline=None)
@given(st.lists(REPORTS, max_size=3))
def test_it_is_red_exactly_where_the_exit_code_is_not_0(reports):
    run = Run(tuple(reports), exit_code(reports))
    _, (_, failures, errors, _) = read(junit.render(run))
    assert bool(failures or errors) == (run.exit_code != 0)


@pytest.mark.parametrize("name", RUNS)
def test_a_run_of_every_outcome(name):
    run = RUNS[name]
    _, (_, failures, errors, _) = read(junit.render(run))
    assert (failures > 0, bool(failures or errors)) == (run.exit_code == 1, run.exit_code != 0)


def test_a_case_for_each_rule_says_what_it_found():
    cases, counted = read(junit.render(RUNS["several"]))
    assert counted == (17, 2, 2, 1)
    told = {(case.classname, case.name): [type(each) for each in case.result] for case in cases}
    assert told["models/b.gguf", "LN001 missing-norm"] == [Failure]
    assert told["models/c", "LN201 off-reference"] == [Error]
    assert told["models/c", "LN101 not-finite"] == [Skipped]
    assert told["x", "audit"] == [Error]
    (failed,) = [case.result[0] for case in cases if case.name == "LN001 missing-norm" and case.result]
    assert failed.message == "b.gguf: h.0.ln_1.weight: expected a gain, found no such tensor (and 23 more)"
    assert len(failed.text.splitlines()) == 24
    (odd,) = [case.system_out for case in cases if case.classname == "gpt2" and case.name == "LN101 not-finite"]
    assert odd == "warn: ln_f: odd; look\nskip: 1 norms: not read"


def test_a_thousand_findings_are_counted():
    many = Report(SOURCE, findings=tuple(RULES[0].failed(f"h.{i}", "bad") for i in range(1_000)))
    ((_, failed), _) = read(junit.render(Run((many,), 1)))
    assert failed.result[0].text.splitlines()[-1] == "and 900 more"
