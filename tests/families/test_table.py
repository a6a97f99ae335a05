"""Family tables are data: read strictly, with errors that name file and key."""

import pytest

from ln_audit.errors import FamilyError
from ln_audit.families.bounds import TableError
from ln_audit.families.schema import Condition, Epsilon, Neighbour, Part, Promise, Size
from ln_audit.families.table import made, parse

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
            r"acme.toml: norm\[0\].shape: expected a list of strings and whole numbers, found 'width'",
        ),
        ('op = "missing"', 'op = "eval"', r"acme.toml: norm\[0\].when: expected one of eq, .*found 'eval'"),
        (
            'name = "closing"',
            'name = "h.{layer}.n"',
            r"acme.toml: norm\[0\]: expected `layers`, `counts` or `beside` to tell \{layer\}, found none",
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


def test_every_field_of_a_row_can_be_written():
    text = GOOD.replace(
        'shape = ["width"]',
        'shape = ["width", 2]\nbeside = "closing_in."\nrooted = true\nepsilon = "other"\nlike = {tensor = "t.weight", axis = 1}',
    )
    text = text.replace("[[norm]]", "[epsilons.other]\nkeys = []\ndefault = 1e-8\n[[norm]]", 1)
    text += """
[[norm]]
name = "b.{layer}.h.{head}.n"
role = "qk"
kind = "l2_norm"
gain = "none"
layers = "depth"
first = "width"
counts = {head = "heads"}
[sizes.depth]
count = "b.{layer}."
[sizes.heads]
product = ["width"]
over = [2]
computed = true
[[part]]
config = "vision_config"
prefixes = ["vision."]
stack = "vision"
default = "acme"
without = ["post"]
when = [{key = "k", op = "in", value = [1, 2], default = 1}]
"""
    family = parse("main = ['decoder']\n" + text, "acme.toml")
    assert family.norms[0].like == Neighbour("t.weight", 1)
    assert (family.norms[0].shape, family.norms[0].epsilon, family.norms[0].rooted) == (("width", 2), "other", True)
    assert (family.norms[1].indexes, family.norms[1].counts, family.norms[1].first) == (
        ("layer", "head"),
        {"head": "heads"},
        "width",
    )
    assert family.sizes["heads"] == Size("heads", product=("width",), over=(2,), computed=True)
    assert family.parts == (
        Part("vision_config", ("vision.",), "vision", "acme", ("post",), (Condition("k", "in", (1, 2), 1),)),
    )
    assert (family.main, family.epsilon_keys) == (("decoder",), ("eps",))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('op = "missing"', 'op = "in", value = 3', r"acme.toml: norm\[0\].when: value: expected a list, found 3"),
        ('shape = ["width"]', "", r"acme.toml: norm\[0\].shape: expected one key of \[sizes\] or more, found none"),
        ('shape = ["width"]', "shape = [true]", r"acme.toml: norm\[0\].shape: expected a list of strings and whole numbers, found \(True,\)"),
        ('shape = ["width"]', 'shape = ["width"]\ncounts = 3', r"norm\[0\].counts: expected a table of strings, found 3"),
        ('shape = ["width"]', 'shape = ["width"]\nlayers = "width"', r"norm\[0\]: expected \{layer\} in the name, which is"),
        ('shape = ["width"]', 'shape = ["width"]\nepsilon = "x"', r"norm closing: epsilon: expected a key of \[epsilons\]"),
        ('name = "closing"', 'name = "h.{i}.{i}"\nbeside = "h.{i}."', r"norm\[0\].name: expected each index once, found 'h.{i}.{i}'"),
        ("default = 4", "over = ['x']", r"acme.toml: sizes.width: expected a key of \[sizes\], found 'x'"),
    ],
)  # fmt: skip
def test_a_row_that_contradicts_itself_is_refused(old, new, message):
    assert old in GOOD
    with pytest.raises(FamilyError, match=message):
        parse(GOOD.replace(old, new), "acme.toml")


def test_a_part_without_a_place_is_refused():
    with pytest.raises(FamilyError, match=r"part\[0\].prefixes: expected at least one, found none"):
        parse(GOOD + '[[part]]\nconfig = "c"\nprefixes = []\n', "acme.toml")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("norms = 3\n" + GOOD, r"acme.toml: norms: expected \[\[norm\]\], found 'norms'"),
        ("parts = 3\n" + GOOD, r"acme.toml: parts: expected \[\[part\]\], found 'parts'"),
        (GOOD.replace("default = 4", 'default = 4\nkey = "e"', 1), r"acme.toml: sizes.width.key: expected no such key, found 'e'"),
    ],
)  # fmt: skip
def test_no_key_is_taken_and_ignored(text, message):
    with pytest.raises(FamilyError, match=message):
        parse(text, "acme.toml")


def test_an_error_says_at_which_key_it_is():
    with pytest.raises(TableError) as caught:
        made({"name": "x", "norm": [{"name": "n", "role": "final", "kind": "rms_norm", "gian": 1}]})
    assert caught.value.at == "norm[0].gian"
