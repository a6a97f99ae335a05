"""The JSON Schema that ships and the reader agree: on documents that are right, on each with one thing wrong, and at random."""

import copy
import json
import tomllib
from datetime import date, datetime, time

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ln_audit.families.bounds import TableError
from ln_audit.families.table import made
from ln_audit.policy.keys import POLICY
from ln_audit.policy.telling import schema
from ln_audit.policy.values import WrongError, table
from tests.policy.test_reading import COMMIT, DIGEST, WHOLE

SCHEMA = json.loads(schema())
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA, format_checker=jsonschema.FormatChecker())


def as_json(value, key=""):
    """A TOML document as an editor holds it to a schema: the date of a waiver is a string, no other key takes one."""
    if isinstance(value, dict):
        return {word: as_json(item, word) for word, item in value.items()}
    if isinstance(value, list):
        return [as_json(item) for item in value]
    if isinstance(value, date) and not isinstance(value, datetime) and key == "until":
        return value.isoformat()
    return None if isinstance(value, (date, time)) else value


def reads(document) -> bool:
    """Whether the reader takes it; what it looks up (names of families, what a family's table means) comes after that."""
    try:
        table(document, POLICY, ())
    except WrongError:
        return False
    return True


def test_it_is_a_schema():
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


WAIVER = {"rule": "LN102", "norm": "ln_f", "reason": "x", "until": date(2027, 1, 31)}
RIGHT: list = [
    {}, {"targets": []}, {"targets": ["sample"], "strict": False}, {"require": ["all", "LN001", "missing-norm"]},
    {"revisions": "pinned"}, {"families": ["gpt2"]}, {"values": "all"}, {"output_dtype": "float64"}, {"target": []},
    {"target": [{"target": "a", "against": "b", "expect": "same"}]}, {"target": [{"target": "a", "revisions": [COMMIT]}]},
    {"digests": {}}, {"digests": {"values": {"a.b": DIGEST}, "files": {}}}, {"waiver": [WAIVER]}, {"family": {}},
    {"waiver": [WAIVER | {"reason": "two\nlines\x1b"}]}, {"targets": ["ä\u2028\u200b"]}, tomllib.loads(WHOLE),
]  # fmt: skip


@pytest.mark.parametrize("document", RIGHT, ids=str)
def test_both_take_what_is_right(document):
    assert (VALIDATOR.is_valid(as_json(document)), reads(document)) == (True, True)


@pytest.mark.parametrize(
    "document",
    [
        {"strikt": True}, {"": 1}, {"strict": 1}, {"strict": "true"}, {"targets": "a"}, {"targets": [3]}, {"targets": [" "]},
        {"targets": ["a\x1b"]}, {"targets": ["a\n"]}, {"targets": ["x" * 4_001]}, {"targets": ["a"] * 10_001}, {"families": []},
        {"families": [""]}, {"revisions": []}, {"revisions": [COMMIT]}, {"revisions": "main"}, {"require": "all"},
        {"require": ["LN998"]}, {"require": ["ln001"]}, {"require": [1]}, {"values": "final"}, {"output_dtype": "int8"},
        {"before_rounded": None}, {"target": {}}, {"target": [{}]}, {"target": [{"target": "a", "expect": "same"}]},
        {"target": [{"target": "a", "against": "b", "expect": "other"}]}, {"target": [{"target": "a", "families": ["gpt2"]}]},
        {"target": [{"target": "a", "revisions": []}]}, {"target": [{"target": "a", "revisions": [COMMIT + "\n"]}]},
        {"target": [{"target": "a", "revisions": [COMMIT.upper() + "A"]}]}, {"target": [{"target": "a", "recordings": "r"}]},
        {"digests": []}, {"digests": {"ln_f": DIGEST}}, {"digests": {"values": {"a": "x"}}}, {"digests": {"values": {"a": {"b": DIGEST}}}},
        {"digests": {"values": {"": DIGEST}}}, {"digests": {"files": {"a\n": DIGEST}}}, {"digests": {"files": {"a": DIGEST + "\n"}}},
        {"waiver": WAIVER}, {"waiver": [{**WAIVER, "rule": "LN303"}]}, {"waiver": [{**WAIVER, "rule": "all"}]},
        {"waiver": [{**WAIVER, "until": datetime(2027, 1, 31)}]}, {"waiver": [{**WAIVER, "until": "soon"}]},  # noqa: DTZ001
        {"waiver": [{**WAIVER, "reason": ""}]}, {"waiver": [{**WAIVER, "norm": 3}]}, {"waiver": [{**WAIVER, "layer": 3}]},
        {"waiver": [{key: WAIVER[key] for key in ("rule", "norm", "until")}]}, {"family": []}, {"family": {"acme": 3}},
    ],
    ids=lambda document: str(document)[:60],
)  # fmt: skip
def test_both_refuse_what_is_wrong(document):
    assert (VALIDATOR.is_valid(as_json(document)), reads(document)) == (False, False)


def places(value, path=()):
    """Every place in a document but those inside a family's table, whose meaning is the reader's alone."""
    yield path
    if path[:1] == ("family",):
        return
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield from places(item, (*path, key))


def changed(document, path, value):
    """The document with another value at a place."""
    if not path:
        return value
    made = copy.copy(document)
    made[path[0]] = changed(document[path[0]], path[1:], value)
    return made


# No string that is a date: where TOML and JSON differ in what a date is, the schema cannot tell.
SCALARS = st.one_of(
    st.booleans(), st.integers(-1, 2), st.just(1.5), st.dates(), st.datetimes(), st.none(),
    st.sampled_from(["", " ", "a", "all", "pinned", "LN102", "expired-waiver", "float32", "same", DIGEST, COMMIT, "a\n", "\x7f"]),
)  # fmt: skip
KEYS = st.sampled_from([*POLICY, "target", "rule", "expect", "against", "files", "", "x", "a\n"])
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3), max_leaves=6
)


@settings(max_examples=600, deadline=None)
@given(st.sampled_from(RIGHT), st.data(), VALUES)
def test_they_agree_on_a_right_document_in_which_something_was_changed(document, data, value):
    path = data.draw(st.sampled_from(sorted(places(document), key=str)))
    if path[:1] == ("family",) and isinstance(value, dict) and value:
        return
    other = changed(document, path, value)
    assert VALIDATOR.is_valid(as_json(other)) == reads(other)


@settings(max_examples=300, deadline=None)
@given(st.dictionaries(KEYS, VALUES, max_size=4))
def test_they_agree_on_anything(document):
    document.pop("family", None)
    assert VALIDATOR.is_valid(as_json(document)) == reads(document)


@settings(max_examples=300, deadline=None)
@given(st.data(), VALUES)
def test_a_family_that_the_schema_refuses_is_refused_by_the_reader(data, value):
    family = tomllib.loads(WHOLE)["family"]["acme"]
    other = changed(family, data.draw(st.sampled_from(sorted(places(family), key=str))), value)
    if "None" in str(other) or VALIDATOR.is_valid(as_json({"family": {"acme": other}})):  # TOML has no null
        return
    if reads({"family": {"acme": other}}):  # it is a table of that name
        with pytest.raises(TableError):
            made({"name": "acme", **other})


def test_every_family_that_ships_is_valid_and_an_unknown_key_in_one_is_not():
    from tests.shared import ROOT

    for path in sorted((ROOT / "ln_audit" / "families" / "data").glob("*.toml"))[::9]:
        family = tomllib.loads(path.read_text())
        assert [error.message for error in VALIDATOR.iter_errors({"family": {family["name"]: family}})] == [], path.name
    assert not VALIDATOR.is_valid({"family": {"x": {"norms": []}}})
    assert not VALIDATOR.is_valid({"family": {"x": {"norm": [{"name": "n", "role": "final", "kind": "norm"}]}}})
    assert not VALIDATOR.is_valid({"family": {"x": {"sizes": {"d": {"key": "e"}}}}})
