"""Bug reports from the field through the whole program: the verdict, and the cause in one line."""

import json
from pathlib import Path

import pytest

from ln_audit.audit import audit
from ln_audit.demand import Demand

CASES = Path(__file__).resolve().parents[3] / "shared" / "cases"

pytestmark = pytest.mark.skipif(not CASES.is_dir(), reason="the cases lie in ../shared, which is not here")

CAUSES = {
    "BR-01": "before already carries the norm",
    "BR-03a": "no norm was applied",
    "BR-22d": "epsilon 1e-06 instead of 1e-05",
    "BR-25": "variance over d − 1",
    "BR-26": "LayerNorm fits, RMSNorm does not",
    "BR-31": "before at [2, 7]: expected a finite number, found 1 infinities",
    "BR-35": "statistics summed in bfloat16",
    "BR-66": "epsilon scaled by max²",
}


def comparison(case):
    folder = CASES / case
    args = json.loads((folder / "expect.json").read_text())["args"]
    dtype = args[args.index("--output-dtype") + 1] if "--output-dtype" in args else None
    demand = Demand(before=str(folder / "before.npy"), after=str(folder / "after.npy"), output_dtype=dtype)
    (report,) = audit(str(folder / "ckpt"), demand)
    (found,) = report.comparisons
    return found


@pytest.mark.parametrize("case", CAUSES)
def test_the_message_names_the_cause(case):
    found = comparison(case)
    assert found.status == "fail"
    assert found.message.startswith(CAUSES[case])
    assert "\n" not in found.message


@pytest.mark.parametrize("case", ["BR-21", "BR-33"])
def test_a_correct_run_has_no_cause(case):
    found = comparison(case)
    assert (found.status, found.explained_by) == ("pass", ())
