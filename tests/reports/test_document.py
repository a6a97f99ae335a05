"""The JSON document: every key, no number that JSON does not have, valid against the shipped schema."""

import json
from dataclasses import replace
from math import inf, nan
from pathlib import Path

import jsonschema
import pytest

from ln_audit.reports.document import Run, document, exit_code, plain
from ln_audit.result import Failure
from tests.reports.made import BROKEN, COMPARISON, FAILED, REPORT

SCHEMA = json.loads((Path(__file__).parents[2] / "ln_audit" / "reports" / "report.schema.json").read_text())


@pytest.mark.parametrize(
    ("reports", "code"),
    [((), 3), ((REPORT,), 0), ((BROKEN,), 3), ((FAILED,), 1), ((REPORT, BROKEN), 3), ((REPORT, BROKEN, FAILED), 1)],
)
def test_the_exit_code_is_the_worst_verdict(reports, code):
    assert exit_code(reports) == code


@pytest.mark.parametrize(
    "run", [Run((REPORT, BROKEN, FAILED), 1), Run((), 2, Failure("usage", "no", "")), Run((), 4, Failure("bug", "no"))]
)
def test_every_document_is_valid_against_the_schema(run):
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    jsonschema.validate(document(run), SCHEMA)


def test_the_schema_refuses_what_lacks_a_key():
    made = document(Run((REPORT,), 0))
    del made["reports"][0]["source"]["revision"]
    with pytest.raises(jsonschema.ValidationError, match="revision"):
        jsonschema.validate(made, SCHEMA)


@pytest.mark.parametrize(
    ("code", "verdict"), [(0, "pass"), (1, "fail"), (2, "error"), (3, "incomplete"), (4, "error"), (130, "error")]
)
def test_the_verdict_says_what_the_exit_code_says(code, verdict):
    assert Run((), code).verdict == verdict


def test_a_norm_and_its_tensors_are_whole():
    (norm,) = document(Run((REPORT,), 0))["reports"][0]["norms"]
    assert norm == {
        "name": "ln_f", "role": "final", "stack": "decoder", "layer": None, "kind": "layer_norm", "width": 4,
        "width_source": "config.json: n_embd", "eps": 1e-5, "eps_source": "config.json: layer_norm_epsilon",
        "eps_places": [{"where": "config.json: layer_norm_epsilon", "value": 1e-5}], "weight_offset": 0.0, "parameters": 8,
        "tensors": [
            {"name": "ln_f.weight", "role": "gain", "shape": [4], "dtype": "F32", "sha256": "a" * 64, "value_sha256": "b" * 64,
             "mean": 1.5, "std": 0.25, "min": 1.0, "max": 2.0, "argmin": 3, "argmax": 0, "histogram": [1, 0, 2, 1]},
            {"name": "ln_f.bias", "role": "bias", "shape": [4], "dtype": "F32", "sha256": None, "value_sha256": None,
             "mean": None, "std": None, "min": None, "max": None, "argmin": None, "argmax": None, "histogram": []},
        ],
    }  # fmt: skip


def test_numbers_that_json_does_not_have_are_null():
    odd = replace(COMPARISON, max_abs_error=nan, max_error_ratio=inf)
    made = document(Run((replace(REPORT, comparisons=(odd,)),), 0))
    comparison = made["reports"][0]["comparisons"][0]
    assert (comparison["max_abs_error"], comparison["max_error_ratio"]) == (None, None)
    assert comparison["worst"]["index"] == [0, 1]
    assert plain({"a": (1.0, -inf)}) == {"a": [1.0, None]}


def test_at_a_prompt_a_run_is_its_verdict_and_its_reports():
    assert repr(Run((REPORT, BROKEN), 3)) == f"<Run incomplete: {REPORT!r}, {BROKEN!r}>"
    assert repr(Run((REPORT,) * 9, 0)) == f"<Run pass: {', '.join([repr(REPORT)] * 4)}, and 5 more>"
    assert repr(Run((), 2, Failure("usage", "--eps: no", ""))) == "<Run error: --eps: no>"
    assert repr(Run((), 3)) == "<Run incomplete: no reports>"
