"""What the program really says of every fixture, read by an independent reader of each output."""

import pytest

from ln_audit.audit import audit
from ln_audit.demand import Demand
from ln_audit.reports import REPORTS
from ln_audit.reports.document import Run, exit_code
from tests.reports.readers import READERS
from tests.shared import FIXTURES

FOLDERS = sorted(path for part in ("good", "bad") for path in (FIXTURES / part).iterdir() if path.is_dir())


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda path: path.name)
def test_a_fixture_in_every_output(folder):
    found = audit(str(folder), Demand())
    run = Run(found, exit_code(found))
    made = {output.NAME: READERS[output.NAME](output.render(run)) for output in REPORTS}
    red = run.exit_code != 0
    (_, (_, failures, errors, _)), (log, _), commands = made["junit"], made["sarif"], made["github"]
    assert made["json"]["exit_code"] == run.exit_code
    assert bool(failures or errors) == red
    assert any(result["level"] == "error" for result in log["results"]) == red
    assert any(level == "error" for level, _, _ in commands) == red
    assert made["text"].startswith(run.verdict.upper())
