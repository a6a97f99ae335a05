"""Each type of value: what it takes, what it makes of it, and how it refuses the rest."""

from datetime import UTC, date, datetime

import pytest

from ln_audit import checks
from ln_audit.policy.keys import POLICY, TARGET, WAIVER, Key
from ln_audit.policy.values import MOST, WrongError, read, rule_words, table

DIGEST, COMMIT = "0123456789abcdef" * 4, "0123456789" * 4


@pytest.mark.parametrize(
    ("type_", "value", "becomes"),
    [
        ("name", "org/name", "org/name"),
        ("text", " two\nlines ", "two\\nlines"),
        ("switch", False, False),
        ("day", date(2027, 1, 31), date(2027, 1, 31)),
        ("rule", "zero-gain", "LN102"),
        ("rules", ["LN202", "missing-norm", "all"], ("LN202", "LN001", "all")),
        ("rules", [], ()),
        ("names", ["a", "b"], ("a", "b")),
        ("revisions", "pinned", "pinned"),
        ("revisions", [COMMIT], (COMMIT,)),
        ("digests", {"ln_f.weight": DIGEST}, {"ln_f.weight": DIGEST}),
        ("families", {"acme": {"name": "acme"}}, {"acme": {"name": "acme"}}),
    ],
)
def test_what_a_value_becomes(type_, value, becomes):
    assert read(value, Key(type_, ""), ("key",)) == becomes


@pytest.mark.parametrize(
    ("type_", "value", "path", "expected"),
    [
        ("name", 3, ("key",), "a string"),
        ("name", " \t", ("key",), "a string"),
        ("name", "a\x1b[31m", ("key",), "a string without control characters"),
        ("name", "a\0", ("key",), "a string without control characters"),
        ("name", "x" * 4_001, ("key",), "at most 4,000 characters"),
        ("text", None, ("key",), "a string"),
        ("switch", "true", ("key",), "true or false"),
        ("switch", 1, ("key",), "true or false"),
        ("day", "2027-01-31", ("key",), "a date"),
        ("day", datetime(2027, 1, 31, tzinfo=UTC), ("key",), "a date"),
        ("choice", "float8", ("key",), "float32 or float16"),
        ("choice", ["float32"], ("key",), "float32 or float16"),
        ("rule", "LN998", ("key",), "a rule's id or name"),
        ("rule", "ln102", ("key",), "a rule's id or name"),
        ("rule", "all", ("key",), "a rule's id or name"),
        ("rule", "LN303", ("key",), "a rule that can be waived"),
        ("rule", "expired-waiver", ("key",), "a rule that can be waived"),
        ("rules", "all", ("key",), "a list of rules"),
        ("rules", ["LN001", 3], ("key", 1), "a rule's id or name"),
        ("names", "sample", ("key",), "a list of strings"),
        ("names", ["a", ["b"]], ("key", 1), "a string"),
        ("names", ["a"] * (MOST + 1), ("key",), "at most 10,000 items"),
        ("revisions", "main", ("key",), '"pinned" or a list of commits'),
        ("revisions", [], ("key",), '"pinned" or a list of commits'),
        ("revisions", [COMMIT, "main"], ("key", 1), "a commit of 40 hexadecimal digits in lower case"),
        ("revisions", [COMMIT + "\n"], ("key", 0), "a commit of 40 hexadecimal digits in lower case"),
        ("digests", [], ("key",), "a table of at most 10,000 digests"),
        ("digests", {"ln_f": {"weight": DIGEST}}, ("key", "ln_f"), "64 hexadecimal digits in lower case"),
        ("digests", {"a": DIGEST.upper()}, ("key", "a"), "64 hexadecimal digits in lower case"),
        ("digests", {"": DIGEST}, ("key", ""), "a string"),
        ("table", 3, ("key",), "a table"),
        ("tables", {}, ("key",), "[[key]] tables"),
        ("tables", [3], ("key", 0), "a table"),
        ("families", [], ("key",), "[family.NAME] tables"),
        ("families", {"a": {"name": "b"}}, ("key", "a"), "a table of that name"),
        ("families", {"a": 3}, ("key", "a"), "a table of that name"),
    ],
)
def test_what_is_refused(type_, value, path, expected):
    with pytest.raises(WrongError) as caught:
        read(value, Key(type_, "", choices=("float32", "float16") if type_ == "choice" else ()), ("key",))
    assert (caught.value.path, caught.value.expected) == (path, expected)


@pytest.mark.parametrize(
    ("value", "keys", "path", "expected", "hint"),
    [
        ({"strikt": True}, POLICY, ("p", "strikt"), "one of before_rounded, digests, families, family, ", "did you mean strict?"),
        ({"\x1b" * 9_000: 1}, POLICY, ("p", "\x1b" * 9_000), "one of before_rounded, ", ""),
        ({"rule": "LN102"}, WAIVER, ("p", "norm"), "a value (the norm, with ", ""),
        ({"target": "a", "expect": "same"}, TARGET, ("p", "expect"), "against, which it belongs to", ""),
        ({"targets": "a"}, POLICY, ("p", "targets"), "a list of strings", 'in brackets: ["a"]'),
        ({"target": ["a"]}, POLICY, ("p", "target"), "[[target]] tables", "a plain list of targets is called targets"),
        ({"families": []}, POLICY, ("p", "families"), "at least 1 item, or no such key", ""),
        ({"digests": {"tensors": {}}}, POLICY, ("p", "digests", "tensors"), "one of files, values", ""),
        ([], POLICY, ("p",), "a table", ""),
    ],
)  # fmt: skip
def test_a_table_has_its_keys_and_no_other(value, keys, path, expected, hint):
    with pytest.raises(WrongError) as caught:
        table(value, keys, ("p",))
    assert (caught.value.path, caught.value.hint) == (path, hint)
    assert caught.value.expected.startswith(expected)


def test_the_words_of_rules_are_those_of_explain():
    assert rule_words()[:2] == ("LN001", "missing-norm")
    assert len(rule_words()) == 2 * len(checks.CHECKS)
