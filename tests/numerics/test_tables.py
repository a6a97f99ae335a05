"""The tables of docs/numerics.md, sections 3 and 4,, the rows that need nothing but NumPy; those of torch and others are in test_peers."""

import numpy as np
import pytest

from ln_audit.numerics.compare import compare
from ln_audit.numerics.parameters import NormParameters
from tests.numerics.runs import (
    BF16,
    F16,
    KINDS_OF_ROWS,
    ArrayRows,
    blocks_of_128,
    gain_and_bias,
    one_by_one,
    rows_of,
    run,
)

WIDTHS = (1, 2, 3, 7, 64, 768, 4096, 16384)


def judged(kind_of_rows, d, *, kind="layer_norm", cast=None, **options):
    x = rows_of(kind_of_rows, d, 8 if d > 4000 else 32)
    x = x if cast is None else x.astype(cast)
    gain, bias = gain_and_bias(d)
    shift = bias if kind == "layer_norm" else None
    after = run(x, gain, shift, kind=kind, **({} if cast is None else {"out": cast}), **options)
    parameters = NormParameters(kind, gain, shift, 1e-5)
    return compare(ArrayRows(x, after), parameters, norm="", recording="", provenance="")


def largest_ratio(kind_of_rows, widths=WIDTHS, **options):
    return max(judged(kind_of_rows, d, **options).max_error_ratio or 0.0 for d in widths)


@pytest.mark.parametrize("kind", ["layer_norm", "rms_norm"])
@pytest.mark.parametrize("kind_of_rows", KINDS_OF_ROWS)
def test_float32_that_sums_pairwise_stays_far_below_1(kind_of_rows, kind):
    assert largest_ratio(kind_of_rows, kind=kind) < 0.4
    assert {judged(kind_of_rows, d, kind=kind).status for d in WIDTHS} == {"pass"}


@pytest.mark.parametrize("kind", ["layer_norm", "rms_norm"])
@pytest.mark.parametrize("kind_of_rows", ["plain", "outliers", "mean of 100 sigma", "1e-3"])
def test_float32_that_sums_in_blocks_of_128_stays_far_below_1(kind_of_rows, kind):
    assert largest_ratio(kind_of_rows, kind=kind, total=blocks_of_128) < 0.6


@pytest.mark.parametrize(
    ("kind_of_rows", "at_least", "below"),
    [
        ("plain", 0.2, 1),
        ("outliers", 1.5, 40),
        ("mean of 100 sigma", 0.3, 1),
        ("1e-3", 0.2, 1),
        ("constant", 5, 60),
        ("one-hot", 15, 60),
    ],
)
def test_float32_summed_one_by_one_leaves_the_bound_only_where_its_order_explains_it(kind_of_rows, at_least, below):
    assert at_least < largest_ratio(kind_of_rows, total=one_by_one) < below
    for d in WIDTHS:
        found = judged(kind_of_rows, d, total=one_by_one)
        over = (found.max_error_ratio or 0) > 1
        assert (found.status, found.finding) == (("warn", "summation-order") if over else ("pass", "agrees"))


def test_variance_in_one_pass_fails_where_the_mean_is_large():
    assert largest_ratio("mean of 100 sigma", widths=(2, 7, 64, 768), one_pass=True) > 30
    assert judged("mean of 100 sigma", 768, one_pass=True).status == "fail"
    for kind_of_rows in ("1e-3", "one-hot"):
        assert largest_ratio(kind_of_rows, one_pass=True) < 0.4


@pytest.mark.parametrize(
    ("kind_of_rows", "least"), [("plain", 300), ("outliers", 300), ("mean of 100 sigma", 5), ("1e-3", 20)]
)
def test_d_minus_1_for_d_at_width_768_is_far_off(kind_of_rows, least):
    found = judged(kind_of_rows, 768, ddof=1)
    assert (found.max_error_ratio or 0) > least
    assert found.status == "fail"


@pytest.mark.parametrize("cast", [BF16, F16], ids=str)
@pytest.mark.parametrize("kind", ["layer_norm", "rms_norm"])
@pytest.mark.parametrize("chain", ["once", "before_gain"])
@pytest.mark.parametrize("kind_of_rows", KINDS_OF_ROWS)
def test_no_element_of_an_honest_narrow_run_is_outside_its_cell(kind_of_rows, chain, kind, cast):
    for d in (2, 7, 64, 768):
        found = judged(kind_of_rows, d, kind=kind, cast=cast, chain=chain)
        assert (found.status, found.outside_cells) == ("pass", 0), (d, found.message)


@pytest.mark.parametrize("cast", [BF16, F16], ids=str)
def test_a_wrong_chain_puts_a_quarter_of_all_elements_outside(cast):
    x = rows_of("plain", 768).astype(cast)
    gain, bias = gain_and_bias(768)
    for chain, other in (("once", "before_gain"), ("before_gain", "once")):
        after = run(x, gain, bias, out=cast, chain=chain, eps=1e-2)  # so that no chain agrees and the family's is told
        right = run(x, gain, bias, out=cast, chain=other, eps=1e-2)
        found = compare(
            ArrayRows(x, after),
            NormParameters("layer_norm", gain, bias, 1e-2, chain=other),
            norm="",
            recording="",
            provenance="",
        )
        assert found.finding == "another-rounding-chain"
        differing = (after.astype(float) != right.astype(float)).mean()
        assert 0.1 < differing < 0.5


@pytest.mark.parametrize("d", [768, 4096])
def test_a_fixed_tolerance_of_1e_5_would_pass_a_wrong_epsilon_that_ours_fails(d):
    x = rows_of("plain", d)
    gain = np.ones(d, dtype=np.float32)
    after = run(x, gain, None, eps=1e-6)
    right = run(x, gain, None, eps=1e-5)
    assert np.allclose(after, right, rtol=1e-5, atol=1e-5)
    found = compare(
        ArrayRows(x, after), NormParameters("layer_norm", gain, None, 1e-5), norm="", recording="", provenance=""
    )
    assert found.status == "fail"
