"""Many findings that say the same are one line; its names are exactly those of its members."""

import re
from itertools import product

import pytest

from ln_audit.reports.grouping import grouped
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


def test_measured_numbers_are_the_smallest_and_the_largest():
    findings = [
        RULE.failed(f"h.{i}.ln_1", f"h.{i}.ln_1: expected 1,024, found {value}", f"{i} of 12 and {value}")
        for i, value in enumerate(("-0.5", "1,000.25", "3e-05"))
    ]
    (group,) = grouped(findings)
    assert group.message == "h.{0…2}.ln_1: expected 1,024, found -0.5 to 1,000.25"
    assert group.reason == "{0…2} of 12 and -0.5 to 1,000.25"


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
