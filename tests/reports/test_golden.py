"""Every output of a passing, a failing, an incomplete, an erroneous run and of several targets is the golden file, to the letter."""

import pytest

from ln_audit.reports import REPORTS
from tests.reports.golden_files import CASES, ENDINGS, FOLDER, path_of, rendered


@pytest.mark.parametrize(("run", "output"), CASES, ids=[f"{run}-{output.NAME}" for run, output in CASES])
def test_an_output_is_its_golden_file(run, output):
    assert rendered(run, output) == path_of(run, output).read_text(encoding="utf-8")


def test_every_output_but_the_drawn_one_has_golden_files_and_no_other_lies_there():
    assert {output.NAME for output in REPORTS} - {"html"} == set(ENDINGS)
    assert {path.name for path in FOLDER.iterdir()} == {path_of(*case).name for case in CASES}
