"""Which measured figures keep their limits, and the table that says so."""

import pytest

from scripts.bench_table import Row, render


@pytest.mark.parametrize(("ours", "kept"), [(0.015, True), (0.0151, False)])
def test_slower_than_the_peer_by_at_most_the_limit(ours: float, kept: bool):
    assert Row.slower("x", ours, 0.010, limit=1.5).kept is kept


@pytest.mark.parametrize(("ours", "kept"), [(0.25, True), (0.2501, False)])
def test_faster_than_the_peer_by_at_least_the_limit(ours: float, kept: bool):
    assert Row.faster("x", ours, 3.0, limit=12).kept is kept


@pytest.mark.parametrize(("ours", "kept"), [(54_810, True), (54_811, False), (0, False)])
def test_fewer_bytes_by_at_least_the_limit_and_never_none(ours: int, kept: bool):
    assert Row.fewer("x", ours, 548_105_171, limit=10_000).kept is kept


@pytest.mark.parametrize(("ours", "kept"), [(59.9, True), (60.0, False), (0.0, False)])
def test_a_figure_of_its_own_lies_below_its_limit_and_above_zero(ours: float, kept: bool):
    assert Row.at_most("x", ours, "MB", limit=60).kept is kept


@pytest.mark.parametrize(("ours", "kept"), [(10.0, True), (9.99, False)])
def test_a_figure_of_its_own_reaches_its_limit(ours: float, kept: bool):
    assert Row.at_least("x", ours, "GB/s", limit=10).kept is kept


def test_a_figure_without_a_limit_misses_none():
    assert Row.figure("x", "1 GB/s", "2 GB/s", "0.50×") == Row("x", "1 GB/s", "2 GB/s", "0.50×", "", kept=True)


def test_the_table_shows_both_sides_the_ratio_and_what_was_missed():
    rows = [
        Row.slower("--version / pass", 0.0121, 0.0110, limit=1.5),
        Row.faster("verify / download", 0.5, 10.0, limit=40),
        Row.fewer("bytes", 20_000, 548_105_171, limit=10_000),
        Row.at_most("memory", 41.234, "MB", limit=60),
    ]
    assert render(rows) == (
        "what                   ours           peer     ratio            limit\n"
        "--version / pass    12.1 ms        11.0 ms     1.10×           ≤ 1.5×      ok\n"
        "verify / download  500.0 ms    10,000.0 ms    1/20.0     ≥ 40× faster  MISSED\n"
        "bytes              20,000 B  548,105,171 B  1/27,405  ≥ 10,000× fewer      ok\n"
        "memory             41.23 MB                                   < 60 MB      ok"
    )
