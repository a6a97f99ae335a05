"""Which requests a set of ranges becomes."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ln_audit.core import Range
from ln_audit.errors import SourceError
from ln_audit.sources.spans import Span, check_bounds, content_range, joined

GAP = 65_536


def test_neighbours_up_to_64_kib_apart_are_one_request():
    assert joined([Range(0, 10), Range(10 + GAP, 20 + GAP)]) == [Span(Range(0, 20 + GAP), (0, 1))]
    far = [Range(0, 10), Range(11 + GAP, 20 + GAP)]
    assert joined(far) == [Span(far[0], (0,)), Span(far[1], (1,))]


def test_spans_are_in_file_order_and_know_whose_bytes_they_hold():
    assert joined([Range(500_000, 500_010), Range(7, 9), Range(3, 8)]) == [
        Span(Range(3, 9), (2, 1)),
        Span(Range(500_000, 500_010), (0,)),
    ]


def test_what_lies_before_the_start_and_empty_ranges_cost_nothing():
    assert joined([Range(0, 50), Range(40, 120), Range(130, 130)], start=100) == [Span(Range(100, 120), (1,))]


def test_a_long_span_is_not_joined_with_a_neighbour_but_an_overlap_is():
    long = Range(0, 16 * 1024 * 1024)
    assert len(joined([long, Range(long.end + 10, long.end + 20)])) == 2
    assert joined([long, Range(long.end - 10, long.end + 20)]) == [Span(Range(0, long.end + 20), (0, 1))]


@given(
    st.lists(
        st.tuples(st.integers(0, 10**6), st.integers(0, 10**5)).map(lambda p: Range(p[0], p[0] + p[1])), max_size=20
    ),
    st.integers(0, 10**6),
)
def test_every_wanted_byte_is_asked_for_exactly_once_and_no_gap_is_wider_than_allowed(ranges, start):
    spans = joined(ranges, start)
    for index, wanted in enumerate(ranges):
        holders = [span for span in spans if index in span.members]
        if wanted.end <= max(wanted.begin, start):
            assert holders == []
        else:
            [span] = holders
            assert span.range.begin <= max(wanted.begin, start) < wanted.end <= span.range.end
    for left, right in pairwise(spans):
        assert right.range.begin - left.range.end > GAP
    needed = sum(r.end - max(r.begin, start) for r in ranges if r.end > max(r.begin, start))
    assert sum(s.range.end - s.range.begin for s in spans) <= needed + GAP * max(0, len(ranges) - 1)


@pytest.mark.parametrize("wanted", [Range(0, 11), Range(11, 11), Range(5, 4), Range(-1, 3)])
def test_ranges_that_the_file_does_not_have_are_refused(wanted):
    with pytest.raises(SourceError) as error:
        check_bounds("f", [Range(0, 10), wanted], 10)
    assert error.value.message == (
        f"f: bytes {wanted.begin} to {wanted.end}: expected a file at least that long, found 10 bytes"
    )


@pytest.mark.parametrize(
    ("text", "meaning"),
    [
        ("bytes 0-99/548105171", (Range(0, 100), 548105171)),
        ("bytes 5-5/*", (Range(5, 6), None)),
        ("bytes */100", None),
        ("bytes 0-99", None),
        ("items 0-1/2", None),
        ("bytes 0-" + "9" * 20 + "/1", None),
        ("", None),
        (None, None),
    ],
)
def test_content_range_is_read_strictly(text, meaning):
    assert content_range(text) == meaning
