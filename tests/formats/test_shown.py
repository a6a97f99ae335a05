from __future__ import annotations

import pytest

from ln_audit.formats.shown import number, shown, unlike


def nested(depth: int) -> list[object]:
    value: list[object] = []
    for _ in range(depth):
        value = [value]
    return value


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("ln_f.weight", "'ln_f.weight'"),
        ("a\n\x1b[31m\u202e", "'a\\n\\x1b[31m\\u202e'"),
        ("é\ud800", "'\\xe9\\ud800'"),
        ([1, 2], "[1, 2]"),
        (None, "None"),
    ],
)
def test_values_are_shown_on_one_line_in_ascii(value, text):
    assert shown(value) == text


@pytest.mark.parametrize(
    "value", ["n" * 10**6, list(range(10**6)), nested(100_000), {str(i): i for i in range(10**5)}, 10**4_000]
)
def test_what_is_huge_or_deep_is_shown_short(value):
    assert len(shown(value)) < 200


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (9.999999747378752e-06, "1e-05"),
        (9.999999974752427e-07, "1e-06"),
        (1e-05, "1e-05"),
        (9.9999997e-06, "9.9999997e-06"),
        (1.0, "1.0"),
        (0.0, "0.0"),
        (1e300, "1e+300"),
        (float("nan"), "nan"),
        (float("inf"), "inf"),
    ],
)
def test_a_number_that_was_kept_in_float32_is_shown_as_it_was_written(value, text):
    assert number(value) == text


@pytest.mark.parametrize(
    ("value", "other", "told"),
    [
        (0.5, 1.0, "0.5"),
        (1.0, 1.0, "1"),
        (1.000001, 1.0, "1.000001"),
        (1 + 2**-52, 1.0, "1.0000000000000002"),
        (float("nan"), 1.0, "nan"),
        (float("inf"), 1.0, "inf"),
    ],
)
def test_a_number_is_not_told_as_another_that_it_is_not(value, other, told):
    assert unlike(value, other, 3) == told
