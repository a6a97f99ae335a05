"""Many findings that say the same are one line; its names are exactly those of its members."""

import re
from itertools import product

import pytest

from ln_audit.reports.grouping import alone, brief, grouped
from ln_audit.result import Rule

RULE = Rule("LN001", "missing-norm")


def failed(*names, said="{}.weight: expected a gain, found none", reason=""):
    return [RULE.failed(name, said.format(name), reason) for name in names]


def told(findings):
    return [(group.count, group.subject, group.message) for group in grouped(findings)]


@pytest.mark.parametrize(
    ("layers", "shown"),
    [
        (range(12), "{0…11}"),
        ((0, 1), "{0, 1}"),
        ((3, 1, 2), "{1…3}"),
        ((0, 1, 2, 5, 7, 8), "{0…2, 5, 7, 8}"),
        (range(0, 40, 2), "{0, 2, 4, 6, 8, 10, …, 38}"),
        ((7,), "7"),
        (("00", "01"), "{00, 01}"),
        (("9" * 400, "1"), "{" + "9" * 400 + ", 1}"),
    ],
)
def test_names_that_differ_in_one_number_are_a_range(layers, shown):
    (group,) = told(failed(*(f"h.{layer}.ln_1" for layer in layers)))
    assert group == (len(layers), f"h.{shown}.ln_1", f"h.{shown}.ln_1.weight: expected a gain, found none")


def test_a_range_never_names_what_is_not_among_its_members():
    names = [f"h.{layer}.ln_{which}" for layer, which in product(range(4), (1, 2)) if (layer, which) != (2, 1)]
    assert told(failed(*names)) == [
        (3, "h.{0, 1, 3}.ln_1", "h.{0, 1, 3}.ln_1.weight: expected a gain, found none"),
        (4, "h.{0…3}.ln_2", "h.{0…3}.ln_2.weight: expected a gain, found none"),
    ]


def test_two_indexes_that_vary_together_do_not_name_every_pair_of_them():
    names = ["layers.0.experts.0.norm", "layers.1.experts.1.norm"]
    assert [group[1] for group in told(failed(*names))] == names
    assert [group[1] for group in told(failed("h.0.ln_1 against h.0", "h.1.ln_1 against h.1"))] == [
        "h.{0, 1}.ln_1 against h.{0, 1}"
    ]


def measured(*values, **evidence):
    """A finding of each layer that was measured otherwise."""
    return [
        RULE.failed(f"h.{i}.ln_1", f"h.{i}.ln_1: expected 1,024, found {value}", f"{value} in {i}", **{
            key: each[i] for key, each in evidence.items()
        })
        for i, value in enumerate(values)
    ]  # fmt: skip


def test_of_measured_numbers_the_worst_is_the_example():
    for key in ("apart", "max_error_ratio"):
        (group,) = grouped(measured("-0.5", "1,000.25", "3e-05", **{key: (1.0, 3.0, 2.0)}))
        assert group.message == "h.1.ln_1: expected 1,024, found 1,000.25; the worst of h.{0…2}.ln_1"
        assert (group.count, group.subject, group.reason) == (3, "h.{0…2}.ln_1", "1,000.25 in 1")


def test_where_nothing_says_how_far_each_is_off_one_is_the_example():
    (group,) = grouped(measured("-0.5", "1,000.25"))
    assert group.message == "h.0.ln_1: expected 1,024, found -0.5; one of h.{0, 1}.ln_1"
    (group,) = grouped(measured("-0.5", "1,000.25", apart=(1.0, None)))
    assert group.message.endswith("; one of h.{0, 1}.ln_1")


def test_a_digest_is_measured():
    (group,) = grouped(measured("078c74af2c34", "d6482486261a"))
    assert group.message == "h.0.ln_1: expected 1,024, found 078c74af2c34; one of h.{0, 1}.ln_1"


def test_where_only_the_reason_differs_it_is_an_example():
    findings = [RULE.failed(f"h.{i}", f"h.{i}: odd", f"it is {i + 0.5}") for i in range(3)]
    (group,) = grouped(findings)
    assert (group.message, group.reason) == ("h.{0…2}: odd", "for example: it is 0.5")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("found 0.7633542, ratio 0.7943", "found 0.763354, ratio 0.7943"),
        ("found 1163038400000.0", "found 1.16304e+12"),
        ("expected 1e-05, found 9.999999747378752e-06", "expected 1e-05, found 9.9999997e-06"),
        ("expected 1, found 1.0000001", "expected 1, found 1.0000001"),
        ("expected 4.26664625 ± 3.87e-06, found 4.26664543", "expected 4.266646 ± 3.87e-06, found 4.266645"),
        ("124439808 elements, 1,109,358 units", "124439808 elements, 1,109,358 units"),
        ("v1.23456789/x and h.1.23456789", "v1.23456789/x and h.1.23456789"),
        ("1.5 and 1.50", "1.5 and 1.5"),
    ],
)
def test_numbers_have_six_digits_or_as_many_as_keep_them_apart(text, said):
    assert brief(text) == said


def test_a_finding_that_must_be_word_for_word_is():
    (finding,) = failed("h.0", said="{}: found 0.12345678901")
    assert alone(finding).message == "h.0: found 0.12345678901"
    assert told([finding]) == [(1, "h.0", "h.0: found 0.123457")]


def test_other_words_another_reason_or_another_weight_of_the_verdict_are_another_group():
    one, two = failed("h.0.ln_1", "h.1.ln_1", reason="a"), failed("h.2.ln_1", reason="b")
    required = [RULE.skipped(f"h.{i}", "why", required=i > 1) for i in range(4)]
    assert [group.count for group in grouped([*one, *two])] == [2, 1]
    assert [(group.count, group.subject) for group in grouped(required)] == [(2, "h.{0, 1}"), (2, "h.{2, 3}")]


def test_the_same_norm_with_different_numbers_stays_apart():
    findings = [RULE.failed("ln_f", f"ln_f: expected 8, found {n}") for n in (4, 5)]
    assert told(findings) == [(1, "ln_f", "ln_f: expected 8, found 4"), (1, "ln_f", "ln_f: expected 8, found 5")]


def test_every_finding_is_in_exactly_one_group():
    names = [f"{a}.{b}.x{c}" for a, b, c in product(range(3), (0, 5), (1, 2, 9)) if a + b != c]
    groups = grouped(failed(*names))
    spread = []
    for group in groups:
        pieces = [
            [
                str(n)
                for run in piece.strip("{}").split(", ")
                for n in range(int(run.split("…")[0]), int(run.split("…")[-1]) + 1)
            ]
            if piece.startswith("{")
            else [piece]
            for piece in re.split(r"(\{[^}]*\})", group.subject)
        ]
        spread += ["".join(parts) for parts in product(*pieces)]
    assert sorted(spread) == sorted(names)
    assert sum(group.count for group in groups) == len(names)
