"""Text from a checkpoint, a server or a caller does nothing in any output, whichever field it stands in."""

from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace

import pytest

from ln_audit.reports import REPORTS
from ln_audit.reports.document import Run
from ln_audit.reports.text import write
from tests.reports.made import BROKEN, REPORT, RUNS, UNDECIDED, UNLIKE, WAIVED
from tests.reports.readers import READERS

HOSTILE = {
    "script": "<script>alert(1)</script>",
    "link": "[x](javascript:alert(1))",
    "image": "![](http://e.x/a.png)",
    "autolink": "<http://e.x> @maintainer #1 http://e.x",
    "pipe": "a|b\\|c|",
    "backticks": "`a` ``` ```` ~~~",
    "escape": "\x1b[31m\x1b]0;owned\x07\x9b1m",
    "command": "\n::error::x\r\n::add-mask::y ##[error]z",
    "command-first": "::stop-commands::x",
    "cdata": "]]><x/>&amp;<!--",
    "nul": "\x00\x01\ufffe",
    "bidi": "\u202eevil\u2066",
    "surrogate": "\ud800\udfff",
    "heading": "# x\n---\n- y\n1. z\n> q",
    "percent": "%0A::error::x %25 , : {0} {1}",
    "spaces": "  \t ",
    "empty": "",
    "long": "a.7." * 5_000,
    "digits": "9" * 5_000,
}
# Words of ours, never foreign: what is not listed here is replaced.
OURS = {"rule", "status", "role", "sha256", "value_sha256", "eps_origin", "weights"}


def poisoned(value, evil, field=""):
    if isinstance(value, str):
        return value if field in OURS else evil
    if is_dataclass(value) and not isinstance(value, type):
        keep = (
            {"name", "rule", "status"}
            if type(value).__name__ == "Finding"
            else {"kind"}
            if type(value).__name__ == "SourceReport"
            else set()
        )
        changes = {
            f.name: poisoned(getattr(value, f.name), evil, f.name)
            for f in fields(value)
            if f.init and f.name not in keep
        }
        return replace(value, **changes)
    if isinstance(value, Mapping):
        return {
            key if key in ("waived_until", "waived_because") else poisoned(key, evil): poisoned(item, evil)
            for key, item in value.items()
        }
    if isinstance(value, tuple):
        return tuple(poisoned(item, evil, field) for item in value)
    return value


def run_of(evil):
    reports = [REPORT, UNLIKE, UNDECIDED, WAIVED, BROKEN]
    return poisoned(
        Run(tuple(reports), 1, RUNS["rejected"].error, RUNS["failing"].policy, command=("verify", "x")), evil
    )


@pytest.mark.parametrize("evil", HOSTILE.values(), ids=HOSTILE)
@pytest.mark.parametrize("output", REPORTS, ids=lambda output: output.NAME)
def test_a_hostile_name_does_nothing(output, evil):
    run = run_of(evil)
    for several in (run, replace(run, error=None), replace(run, reports=run.reports[:1]), replace(run, reports=())):
        said = output.render(several)
        READERS[output.NAME](said)
        assert output.NAME in ("json", "html") or len(said) < 3 * 10**5  # those two hold whatever the report holds


@pytest.mark.parametrize("evil", HOSTILE.values(), ids=HOSTILE)
def test_nor_on_a_terminal_of_any_width(evil):
    for width in (60, 80, None):
        for quiet, verbose in ((False, False), (True, False), (False, True)):
            READERS["text"](write(run_of(evil), quiet=quiet, verbose=verbose, width=width))


def test_foreign_text_in_markdown_is_code_and_nothing_else():
    said = REPORTS[2].render(run_of("MARK http://e.x @someone #12 " + "ab" * 20))
    assert "MARK" in said
    told = READERS["markdown"](said)
    assert {token.type for token in told if "MARK" in token.content and not token.children} == {"code_inline", "fence"}
