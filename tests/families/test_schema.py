"""What a table's values mean."""

import pytest

from ln_audit.families.schema import Condition, Epsilon, Family, Promise


@pytest.mark.parametrize(
    ("condition", "holds"),
    [
        (Condition("k", "eq", 3), [False, True, False]),
        (Condition("k", "ne", 3), [True, False, True]),
        (Condition("k", "in", [0, 3]), [False, True, True]),
        (Condition("k", "missing"), [True, False, False]),
        (Condition("k", "truthy"), [False, True, False]),
        (Condition("k", "truthy", default=True), [True, True, False]),
        (Condition("k", "contains", 3), [False, False, False]),
    ],
)
def test_conditions(condition, holds):
    assert [condition.holds(found) for found in (None, 3, 0)] == holds


def test_a_list_contains_its_items():
    assert Condition("k", "contains", "a").holds(["a", "b"])
    assert not Condition("k", "contains", "c").holds(["a", "b"])


def test_a_list_equals_the_same_items():
    assert Condition("k", "eq", ("a",)).holds(["a"])
    assert [Condition("k", "ne", ("a",)).holds(found) for found in (["a"], ["b"], None)] == [False, True, True]


def test_a_string_contains_strings_and_nothing_else():
    assert Condition("k", "contains", "lam").holds("llama")
    for other in (1, None, ("l",), True):
        assert not Condition("k", "contains", other).holds("llama1")


def test_the_indexes_of_a_name_are_in_order():
    assert Promise("h.{layer}.e.{expert}.n", "block", "rms_norm").indexes == ("layer", "expert")


def test_every_key_of_an_epsilon_is_known():
    family = Family("a", "a", "a", (), {}, Epsilon(("e",)), {"v": Epsilon(("f", "e"))})
    assert family.epsilon_keys == ("e", "f")
