"""The pytest plugin: a marker and fixtures for checkpoints, a fixture for recordings, failures with their whole report.

pytest imports this in every run of an environment that has ln-audit; whatever costs time is imported where it is used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from ln_audit.printable import one_line

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Sequence

    from ln_audit.norm_recording import NormRecording
    from ln_audit.result import Report

MARKER = "ln_checkpoint"
_NEAR = 0.8  # difflib's ratio: one letter or two of the name are wrong
_LONGEST = 2_000  # characters of a message, 100 of a title; the section has the rest
_REPORTS = pytest.StashKey[tuple["Report", ...]]()
_RECORDING = pytest.StashKey["NormRecording"]()
_SECTIONS = pytest.StashKey[list[tuple[str, str]]]()


def pytest_configure(config: pytest.Config) -> None:
    """Make the marker known, also under --strict-markers."""
    config.addinivalue_line(
        "markers", f"{MARKER}(target, **options): fails the test unless ln-audit verify passes the checkpoint"
    )
    config.pluginmanager.register(_AfterTheTest(), "ln-audit after the test")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """A mistyped marker is refused: it would be a gate that nobody stands at, and pytest only warns of it."""
    used = {mark.name for item in items for mark in item.iter_markers()}
    known = {line.partition(":")[0].partition("(")[0].strip() for line in config.getini("markers")}
    unknown = sorted(used - known)
    if not unknown:
        return
    from difflib import get_close_matches

    for name in unknown:
        if get_close_matches(name.lower(), [MARKER], cutoff=_NEAR):
            raise pytest.UsageError(f"@pytest.mark.{one_line(name)[:100]}: did you mean @pytest.mark.{MARKER}?")


@pytest.fixture
def ln_reports(request: pytest.FixtureRequest) -> tuple[Report, ...]:
    """The reports on the checkpoints that the test is marked with; the test itself only runs when all of them pass."""
    if request.node.get_closest_marker(MARKER) is None:
        pytest.fail(f"ln_reports: expected a test marked with @pytest.mark.{MARKER}(target), found none", pytrace=False)
    return _marked(request.node)


@pytest.fixture
def ln_report(ln_reports: tuple[Report, ...]) -> Report:
    """The one report, where the test is marked with one checkpoint."""
    if len(ln_reports) != 1:
        pytest.fail(f"ln_report: expected one report, found {len(ln_reports)}: use ln_reports", pytrace=False)
    return ln_reports[0]


@pytest.fixture
def ln_verify(request: pytest.FixtureRequest) -> Callable[..., Report]:
    """`ln_verify(target, **options)`: the report on a checkpoint that the test has made; the test fails unless it passes."""

    def verify(target: Any, **options: Any) -> Report:
        __tracebackhide__ = True
        reports = _verified(target, options)
        _judge(request.node, reports)
        if len(reports) != 1:
            pytest.fail(f"{target}: expected one artifact, found {len(reports)}: name the file", pytrace=False)
        return reports[0]

    return verify


@pytest.fixture
def norm_recording(request: pytest.FixtureRequest, ln_verify: Callable[..., Report]) -> NormRecording:
    """Gathers what a norm read and gave (`add`), and holds it to a checkpoint (`verify`) or parameters (`assert_norm`).

    A test that judges nothing with it fails.
    """
    from ln_audit.norm_recording import NormRecording

    folder = request.getfixturevalue("tmp_path")
    made = request.node.stash[_RECORDING] = NormRecording(folder / "recording.safetensors", ln_verify)
    return made


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_call(item: pytest.Item) -> None:
    """Checkpoints come before the test itself."""
    if item.get_closest_marker(MARKER) is not None:
        _judge(item, _marked(item))


class _AfterTheTest:
    @pytest.hookimpl(trylast=True)
    def pytest_runtest_call(self, item: pytest.Item) -> None:
        """Whether what a test recorded was judged; not reached by one that failed already."""
        recording = item.stash.get(_RECORDING, None)
        if recording is not None and recording.complaint():
            pytest.fail(recording.complaint(), pytrace=False)


@pytest.hookimpl(hookwrapper=True)  # the older kind, which every pytest knows
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, Any, None]:
    """The reports of what failed, as sections below the failure."""
    outcome = yield
    report, found = outcome.get_result(), item.stash.get(_SECTIONS, None)
    if report.failed and found is not None:
        report.sections.extend(found)


def _marked(item: pytest.Item) -> tuple[Report, ...]:
    """The reports on all checkpoints of the test's markers, those of its class and module among them."""
    if _REPORTS not in item.stash:
        found: list[Report] = []
        for mark in item.iter_markers(MARKER):
            if not mark.args:
                pytest.fail(f"{MARKER}: expected a target, found none", pytrace=False)
            for target in mark.args:
                found += _verified(target, dict(mark.kwargs))
        item.stash[_REPORTS] = tuple(found)
    return item.stash[_REPORTS]


def _verified(target: Any, options: dict[str, Any]) -> tuple[Report, ...]:
    from ln_audit.errors import LnAuditError
    from ln_audit.in_process import verified

    __tracebackhide__ = True
    wrong = ""
    try:
        return verified(target, **options)
    except LnAuditError as error:
        wrong = error.message + (f"\n→ {error.hint}" if error.hint else "")
    pytest.fail(f"ln-audit: {wrong}"[:_LONGEST], pytrace=False)


def _judge(item: pytest.Item, reports: Sequence[Report]) -> None:
    """Fail the test unless all reports pass; each that does not becomes a section."""
    from ln_audit.in_process import passed, text, told

    __tracebackhide__ = True
    if passed(reports):
        return
    sections = item.stash.setdefault(_SECTIONS, [])
    for report in reports:
        if not passed([report]):
            sections.append((f"ln-audit verify {one_line(report.source.spec)}"[:100], text([report])))
    pytest.fail(f"ln-audit: {told(reports)}"[:_LONGEST], pytrace=False)
