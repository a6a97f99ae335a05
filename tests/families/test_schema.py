"""Family tables are data: read strictly, with errors that name file and key."""

import pytest

from ln_audit.errors import FamilyError
from ln_audit.families.schema import Condition, Epsilon, Promise, Size, parse

GOOD = """
name = "acme"
model_types = ["acme"]
prefixes = ["core."]
[sizes.width]
default = 4
[epsilon]
keys = ["eps"]
default = 1e-6
[[norm]]
name = "closing"
role = "final"
kind = "rms_norm"
shape = ["width"]
when = [{key = "no_norm", op = "missing"}]
"""


def test_a_table_becomes_a_family():
    family = parse(GOOD, "acme.toml")
    assert (family.name, family.model_types, family.prefixes) == ("acme", ("acme",), ("core.",))
    assert family.sizes == {"width": Size("width", default=4)}
    assert family.epsilon == Epsilon(("eps",), 1e-6)
    assert family.norms == (
        Promise("closing", "final", "rms_norm", ("width",), when=(Condition("no_norm", "missing"),)),
    )


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("[[norm]]", "[[norm", "acme.toml: expected a TOML table, found a syntax error: "),
        (
            'role = "final"',
            'role = "finall"',
            r"acme.toml: norm\[0\].role: expected one of final, block, .*found 'finall'",
        ),
        ('kind = "rms_norm"', "kind = 3", r"acme.toml: norm\[0\].kind: expected str, found 3"),
        ('kind = "rms_norm"', "", r"acme.toml: norm\[0\]: .*'kind'"),
        (
            'shape = ["width"]',
            'shape = ["breadth"]',
            r"acme.toml: norm closing: expected a key of \[sizes\], found 'breadth'",
        ),
        (
            'shape = ["width"]',
            'shape = "width"',
            r"acme.toml: norm\[0\].shape: expected a list of strings, found 'width'",
        ),
        ('op = "missing"', 'op = "eval"', r"acme.toml: norm\[0\].when: expected one of eq, .*found 'eval'"),
        (
            'name = "closing"',
            'name = "h.{layer}.n"',
            r"acme.toml: norm\[0\]: expected \{layer\} in the name exactly when",
        ),
        ("default = 4", 'default = "4"', r"acme.toml: sizes.width.default: expected int \| None, found '4'"),
        ("default = 1e-6", "default = true", r"acme.toml: epsilon.default: expected float \| None, found True"),
        ('model_types = ["acme"]', 'modeltypes = ["acme"]', "acme.toml: family: expected one of .*found 'modeltypes'"),
        ('model_types = ["acme"]', "model_types = [1]", "acme.toml: family.model_types: expected a list of strings"),
    ],
)
def test_a_wrong_table_is_refused_with_file_key_and_both_sides(old, new, message):
    assert old in GOOD
    with pytest.raises(FamilyError, match=message):
        parse(GOOD.replace(old, new), "acme.toml")


def test_a_family_without_norms_is_refused():
    with pytest.raises(FamilyError, match=r"expected at least one \[\[norm\]\], found none"):
        parse('name = "acme"\n', "acme.toml")


@pytest.mark.parametrize(
    ("condition", "holds"),
    [
        (Condition("k", "eq", 3), [False, True, False]),
        (Condition("k", "ne", 3), [True, False, True]),
        (Condition("k", "in", [0, 3]), [False, True, True]),
        (Condition("k", "missing"), [True, False, False]),
        (Condition("k", "truthy"), [False, True, False]),
    ],
)
def test_conditions(condition, holds):
    assert [condition.holds(found) for found in (None, 3, 0)] == holds
