"""Results that a dashboard recognises again: tomorrow, at another commit, on another machine."""

import hashlib
from dataclasses import replace

from ln_audit.reports.document import Run
from ln_audit.reports.sarif_results import results, text
from tests.reports.made import REPORT, RULE, RUNS, SOURCE, UNLIKE, WAIVED


def marks(report):
    return [each["partialFingerprints"]["primaryLocationLineHash"] for each in results(Run((report,), 1))]


def test_fingerprints_stay_whatever_is_measured_and_wherever_it_lies():
    elsewhere = replace(UNLIKE.source, spec="/tmp/job-7/b.gguf", identity="/tmp/job-7/b.gguf")
    measured = tuple(
        replace(f, message=f.message.replace("expected a", "expected 7, not a"), reason="") for f in UNLIKE.findings
    )
    assert marks(UNLIKE) == marks(replace(UNLIKE, source=elsewhere, findings=measured))
    hub = replace(REPORT, findings=(RULE.failed("ln_f", "odd"),))
    assert marks(hub) == marks(
        replace(hub, source=replace(SOURCE, revision="f" * 40, spec="openai-community/gpt2@main"))
    )
    told = hashlib.sha256(b"openai-community/gpt2/model.safetensors\0LN001\0ln_f").hexdigest()
    assert marks(hub) == [f"{told}:1"]  # a change here makes every known alert a new one


def test_fingerprints_differ_by_rule_subject_file_and_number():
    twice = (RULE.failed("ln_f", "a"), RULE.failed("ln_f", "b"), RULE.failed("h.0", "a"))
    made = [*marks(replace(REPORT, findings=twice)), *marks(replace(UNLIKE, findings=twice))]
    assert len(set(made)) == 6
    assert [mark.rpartition(":")[2] for mark in made] == ["1", "2", "1"] * 2


def test_a_failure_is_where_it_is_and_says_why():
    (first, *_) = results(RUNS["failing"])
    assert (first["level"], first["message"]["text"]) == (
        "error",
        "b.gguf: h.0.ln_1.weight: expected a gain, found no such tensor; save it again",
    )
    (place,) = first["locations"]
    assert place["physicalLocation"]["artifactLocation"]["uri"] == "models/b.gguf"
    assert place["logicalLocations"] == [{"fullyQualifiedName": "h.0.ln_1", "kind": "member"}]


def test_what_a_waiver_accepts_is_suppressed_and_what_passed_is_no_result():
    (one,) = results(Run((WAIVED,), 0))
    assert (one["level"], one["suppressions"]) == (
        "warning",
        [{"kind": "external", "status": "accepted", "justification": "known"}],
    )


def test_a_name_makes_no_link_of_a_message():
    assert text("[x](javascript:1)") == {"text": "[x] (javascript:1)"}
