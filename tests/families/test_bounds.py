"""A stranger's table is refused with its key where it would crash an audit or keep it busy; ours stay far below."""

import time

import pytest

from ln_audit.errors import FamilyError
from ln_audit.families import bounds
from ln_audit.families.bounds import TableError
from ln_audit.families.table import parse

GOOD = """
name = "acme"
prefixes = ["core."]
#family
[sizes.width]
#size
[epsilon]
#epsilon
[[norm]]
name = "b.{layer}.closing"
role = "block"
kind = "rms_norm"
layers = "width"
#norm
"""
SHAPE = 'shape = ["width"]'


def test_the_table_itself_is_good():
    assert parse(GOOD.replace("#norm", SHAPE), "acme.toml").norms[0].indexes == ("layer",)


@pytest.mark.parametrize(
    ("at", "line", "message"),
    [
        ("family", "tied = 5", "family.tied: expected a list of lists of strings, found 5"),
        ("family", "tied = [1]", "family.tied: expected a list of lists of strings, found (1,)"),
        ("family", 'tied = ["ab"]', "family.tied: expected a list of lists of strings, found ('ab',)"),
        ("family", "tied = [['a', 1]]", "family.tied: expected a list of strings, found ('a', 1)"),
        ("family", 'tied = [["a.{i}.{i}"]]', "tied: expected each index once, found 'a.{i}.{i}'"),
        ("family", 'buffers = ["layers.{layer}.{layer}"]', "buffers: expected each index once, found 'layers.{layer}.{layer}'"),
        ("family", 'buffers = ["a{3}"]', "buffers: expected indexes like {layer}, found 'a{3}'"),
        ("family", 'buffers = ["{Layer}"]', "buffers: expected indexes like {layer}, found '{Layer}'"),
        ("family", 'buffers = ["a.{i}{j}"]', "buffers: expected a dot or a word between two indexes, found 'a.{i}{j}'"),
        ("family", 'buffers = ["a.{i}1{j}"]', "buffers: expected a dot or a word between two indexes, found 'a.{i}1{j}'"),
        ("family", f'buffers = ["{"a" * 501}"]', "buffers: expected at most 500 characters, found 501"),
        ("family", "buffers = [" + "'a', " * 1_001 + "]", "family.buffers: expected at most 1,000 items, found 1,001"),
        ("family", 'recognised_by = ["a.{layer}"]', "recognised_by: expected a name without indexes, found 'a.{layer}'"),
        ("size", "axis = -2", "sizes.width.axis: expected a number from 0 to 15, found -2"),
        ("size", "default = -1", "sizes.width.default: expected a number from 0 to 1,000,000, found -1"),
        ("size", "default = 1000001", "sizes.width.default: expected a number from 0 to 1,000,000, found 1000001"),
        ("size", f"default = 0x{'f' * 900}", "sizes.width.default: expected a number from 0 to 1,000,000, found more digits than anyone counts"),
        ("size", 'count = "b.{head}."', "sizes.width.count: expected {layer}, which it counts, found 'b.{head}.'"),
        ("size", 'count = "b."', "sizes.width.count: expected {layer}, which it counts, found 'b.'"),
        ("size", 'count = "{layer}.{layer}."', "sizes.width.count: expected each index once, found '{layer}.{layer}.'"),
        ("size", 'tensor = "t.{layer}"', "sizes.width.tensor: expected a name without indexes, found 't.{layer}'"),
        ("size", "product = [0]", "sizes.width.product: expected a number from 1 to 1,000,000, found 0"),
        ("size", "over = [2, 2, 2, 2, 2, 2, 2, 2, 2]", "sizes.width.over: expected at most 8 factors, found 9"),
        ("epsilon", "default = nan", "epsilon.default: expected a number from 0 to 1,000,000, found nan"),
        ("epsilon", "default = inf", "epsilon.default: expected a number from 0 to 1,000,000, found inf"),
        ("epsilon", "default = -1e-5", "epsilon.default: expected a number from 0 to 1,000,000, found -1e-05"),
        ("norm", "shape = [9223372036854775807]", "norm[0].shape: expected a number from 1 to 1,000,000, found 9223372036854775807"),
        ("norm", "shape = [" + "9, " * 900 + "]", "norm[0].shape: expected at most 8 factors, found 900"),
        ("norm", f"{SHAPE}\nweight_offset = nan", "norm[0].weight_offset: expected a number from -16 to 16, found nan"),
        ("norm", f"{SHAPE}\nweight_offset = inf", "norm[0].weight_offset: expected a number from -16 to 16, found inf"),
        ("norm", f"{SHAPE}\nweight_offset = 1e308", "norm[0].weight_offset: expected a number from -16 to 16, found 1e+308"),
        ("norm", f"{SHAPE}\nleaf = '{{layer}}'", "norm[0].leaf: expected a name without indexes, found '{layer}'"),
        ("norm", f"{SHAPE}\nbeside = 'b.{{i}}.{{i}}.'", "norm[0].beside: expected each index once, found 'b.{i}.{i}.'"),
        ("norm", 'like = {tensor = "t.weight", axis = -2}', "norm[0].like.axis: expected a number from 0 to 15, found -2"),
        ("norm", 'like = {tensor = "t.{i}.{i}"}', "norm[0].like.tensor: expected each index once, found 't.{i}.{i}'"),
        ("norm", 'like = {tensor = "t.{i}"}', "norm[0].like.tensor: expected the indexes of the name, found 't.{i}'"),
        ("norm", f"{SHAPE}\nwhen = [{{key = 'k', op = 'eq', value = [[1]]}}]", "norm[0].when: value: expected a string, a number, true, false or a list of those, found [1]"),
        ("norm", f"{SHAPE}\nwhen = [{{key = 'k', op = 'eq', default = {{a = 1}}}}]", "norm[0].when: default: expected a string, a number, true, false or a list of those, found {'a': 1}"),
        ("norm", f"{SHAPE}\n[[part]]\nconfig = 'c'\nprefixes = ['{{layer}}.']", "part[0].prefixes: expected a name without indexes, found '{layer}.'"),
        ("norm", f"{SHAPE}\n[[part]]\nconfig = 'c'\nprefixes = [" + "'p.', " * 33 + "]", "part[0].prefixes: expected at most 32, found 33"),
        ("norm", SHAPE + "\n[[part]]\nconfig = 'c'\nprefixes = ['p']" * 17, "part: expected at most 16, found 17"),
        ("norm", SHAPE + "\n[[norm]]" * 300, "norm: expected at most 256, found 301"),
        ("size", "\n".join(f"[sizes.s{i}]" for i in range(64)), "sizes: expected at most 64, found 65"),
    ],
)  # fmt: skip
def test_a_value_beyond_its_bound_is_refused_with_its_key(at, line, message):
    text = GOOD.replace(f"#{at}", line).replace("#norm", SHAPE)
    with pytest.raises(FamilyError) as caught:
        parse(text, "acme.toml")
    assert caught.value.message == f"acme.toml: {message}"


def test_the_familys_own_prefixes_are_bounded_too():
    for prefixes, told in (
        ("'{layer}.'", "a name without indexes, found '{layer}.'"),
        ("'p', " * 33, "at most 32, found 33"),
    ):
        with pytest.raises(FamilyError) as caught:
            parse(GOOD.replace('"core."', prefixes).replace("#norm", SHAPE), "acme.toml")
        assert caught.value.message == f"acme.toml: prefixes: expected {told}"


def test_prefixes_of_parts_behind_those_of_the_family_are_bounded_together():
    part = "\n[[part]]\nconfig = 'c'\nprefixes = [" + "'p', " * 32 + "]"
    text = GOOD.replace('"core."', "'q', " * 32).replace("#norm", SHAPE)
    assert len(parse(text + part, "acme.toml").parts) == 1
    with pytest.raises(FamilyError) as caught:
        parse(text + part * 2, "acme.toml")
    assert caught.value.message == "acme.toml: part: expected at most 1,024 pairs of prefixes, found 2,048"


def test_a_key_of_thousands_of_words_is_refused_at_once():
    begun = time.monotonic()
    with pytest.raises(
        FamilyError, match="acme.toml: expected a TOML table, found a syntax error: expected keys of at most"
    ):
        parse("a." * 30_000 + "a = 1", "acme.toml")
    assert time.monotonic() - begun < 1


@pytest.mark.parametrize("value", [None, 0, 16, -16, 1.5, -0.0])
def test_a_number_within_its_bounds(value):
    bounds.number(value, -16, 16, "x")


@pytest.mark.parametrize("name", ["", "weight", "a.{layer}.b.{head}", "a_{layer}_{head}", "{layer}"])
def test_names_and_their_indexes(name):
    assert bounds.pattern(name, "x") == [word for word in ("layer", "head") if f"{{{word}}}" in name]


def test_a_condition_compares_with_what_a_config_has_in_one_line():
    for value in (None, True, 1, "a", 1.5, (1, "a", False)):
        bounds.plain(value, "x")
    with pytest.raises(TableError):
        bounds.plain(((1,),), "x")
