"""A SARIF log by the official schema in which an audit without a verdict never looks clean."""

import pytest

from ln_audit import checks
from ln_audit.reports import sarif
from tests.reports.made import RUNS
from tests.reports.readers import sarif as read


@pytest.mark.parametrize("name", RUNS)
def test_whatever_is_not_a_pass_has_an_error_among_its_results(name):
    run, invocation = read(sarif.render(RUNS[name]))
    levels = {result["level"] for result in run["results"]}
    assert ("error" in levels) == (RUNS[name].exit_code != 0)
    assert invocation["exitCode"] == RUNS[name].exit_code
    assert run["properties"]["verdict"] == RUNS[name].verdict
    assert invocation["executionSuccessful"] == (name in ("passing", "failing"))


def test_only_what_failed_fails_by_a_rule_of_ours():
    run, _ = read(sarif.render(RUNS["incomplete"]))
    assert [(result["ruleId"], result["message"]["text"]) for result in run["results"]] == [
        ("incomplete", "models/c: no verdict: LN201 off-reference: no recorded hidden states: give --recording FILE")
    ]


def test_what_was_not_decided_is_a_notification():
    _, invocation = read(sarif.render(RUNS["incomplete"]))
    told = [(note["level"], note["associatedRule"]["id"]) for note in invocation["toolExecutionNotifications"]]
    assert told == [("error", "LN201"), ("note", "LN101")]


@pytest.mark.parametrize(
    ("name", "where", "kind"),
    [
        ("rejected", "toolConfigurationNotifications", "usage"),
        ("bug", "toolExecutionNotifications", "bug"),
        ("unopened", "toolExecutionNotifications", "format"),
    ],
)
def test_an_error_is_a_notification_with_the_way_out(name, where, kind):
    _, invocation = read(sarif.render(RUNS[name]))
    (note,) = invocation[where]
    assert (note["level"], note["descriptor"]["id"]) == ("error", kind)
    assert " → " in note["message"]["text"]


def test_every_rule_that_was_applied_stands_there_with_its_document():
    run, _ = read(sarif.render(RUNS["passing"]))
    rules = run["tool"]["driver"]["rules"]
    assert [rule["id"] for rule in rules] == ["LN001", "LN101"]
    assert [rule["help"]["text"] for rule in rules] == [checks.document(checks.find(rule["id"])) for rule in rules]
