"""The golden files: what each output is for each of `made.RUNS`. `make golden` writes them again; look at the difference.

The version stands in them as VERSION, so that a release changes none.
"""

from pathlib import Path

from ln_audit import __version__
from ln_audit.reports import REPORTS
from tests.reports.made import RUNS

FOLDER = Path(__file__).with_name("golden")
ENDINGS = {"text": "txt", "json": "json", "markdown": "md", "junit": "xml", "sarif": "sarif", "github": "github.txt"}
CASES = [(run, output) for run in RUNS for output in REPORTS if output.NAME in ENDINGS]


def path_of(run, output) -> Path:
    return FOLDER / f"{run}.{ENDINGS[output.NAME]}"


def rendered(run, output) -> str:
    return output.render(RUNS[run]).replace(__version__, "VERSION")


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for run, output in CASES:
        path_of(run, output).write_text(rendered(run, output), encoding="utf-8")
