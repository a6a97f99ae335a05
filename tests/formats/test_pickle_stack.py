from __future__ import annotations

import pytest

from ln_audit.errors import FormatError, UnsupportedError
from ln_audit.formats import pickle_stack
from ln_audit.formats.pickle_stack import MAX_MARKS, MAX_MEMO, Group, Known, Pairs, Stack, described
from ln_audit.formats.pickle_tape import Tape

DOUBLE = Known("here.double", lambda arguments, _: [*arguments, *arguments])
CONSTANT = Known("here.constant")


def stack() -> Stack:
    return Stack(Tape(b"", "f"), {"here.double": DOUBLE, "here.constant": CONSTANT})


def test_nothing_below_a_mark_is_in_reach():
    it = stack()
    it.push("below")
    it.mark()
    with pytest.raises(FormatError, match="expected a value on the stack, found none"):
        it.pop()
    with pytest.raises(FormatError, match="expected a value on the stack, found none"):
        it.top()
    it.push("above")
    assert it.above_mark() == ["above"]
    assert it.pop() == "below"
    with pytest.raises(FormatError, match="expected a mark, found none"):
        it.above_mark()


def test_marks_lie_in_each_other_up_to_a_limit():
    it = stack()
    for number in range(MAX_MARKS):
        it.mark()
        it.push(number)
    assert it.above_mark() == [MAX_MARKS - 1]
    assert it.above_mark() == [MAX_MARKS - 2]
    it.mark()
    it.mark()
    with pytest.raises(UnsupportedError, match="expected at most 1,000 open marks, found more"):
        it.mark()


def test_keys_and_values_come_in_pairs():
    it = stack()
    it.mark()
    for value in ("a", 1, "b", 2):
        it.push(value)
    assert it.pairs_above_mark() == [("a", 1), ("b", 2)]
    it.mark()
    it.push("a")
    with pytest.raises(FormatError, match="expected a value for each key, found 1 items"):
        it.pairs_above_mark()


def test_the_memo_may_have_gaps_but_nothing_comes_out_of_them():
    it = stack()
    it.push("x")
    it.remember(3)
    it.push("y")
    it.remember(3)
    it.recall(3)
    assert it.stack == ["x", "y", "y"]
    for number in (0, 2, 4, 2**32 - 1):
        with pytest.raises(FormatError, match=f"expected a memo of {number:,} or more values, found 4"):
            it.recall(number)


def test_a_memo_number_beyond_the_limit_is_refused_before_anything_is_allocated():
    it = stack()
    it.push("x")
    with pytest.raises(UnsupportedError, match="expected at most 2,000,000 memo numbers, found more"):
        it.remember(MAX_MEMO)
    assert it.memo == []


def test_only_names_of_the_table_are_resolved_and_others_are_named():
    it = stack()
    assert it.resolve("here", "double") is DOUBLE
    with pytest.raises(FormatError) as caught:
        it.resolve("os", "system")
    assert caught.value.message == "f: os.system: expected tensors, found a name that makes none"
    assert caught.value.hint.startswith("nothing of the file was executed")
    with pytest.raises(FormatError, match=r"^f: builtins\.eval: expected tensors"):
        it.resolve("__builtin__", "eval")
    with pytest.raises(FormatError) as caught:
        it.resolve("a\nb", "\x1b[2J" + "c" * 10_000)
    assert "\n" not in caught.value.message
    assert "\x1b" not in caught.value.message
    assert len(caught.value.message) < 200


def test_a_call_gives_what_the_table_says_and_costs_what_it_copies():
    it = stack()
    before = it.memory
    it.call(DOUBLE, (["x"] * 1_000,))
    assert it.pop() == [["x"] * 1_000] * 2
    assert it.memory - before >= 72_000


def test_a_call_that_would_copy_too_much_is_not_made(monkeypatch):
    monkeypatch.setattr(pickle_stack, "MAX_MEMORY", 1_000)
    calls: list[object] = []
    it = stack()
    with pytest.raises(UnsupportedError, match="expected at most 1,000 bytes of values, found more"):
        it.call(Known("here.spy", lambda arguments, _: calls.append(arguments)), (["x"] * 1_000,))
    assert calls == []


@pytest.mark.parametrize(
    ("function", "arguments", "message"),
    [
        (CONSTANT, (), "f: here.constant: expected tensors, found a call of it"),
        ("os.system", (), "f: byte 0: expected a name to call, found 'os.system'"),
        (print, (), "f: byte 0: expected a name to call, found a builtin_function_or_method"),
        (DOUBLE, [], "f: byte 0: expected a tuple of arguments for here.double, found a list"),
    ],
)
def test_anything_else_is_not_called(function, arguments, message):
    with pytest.raises(FormatError) as caught:
        stack().call(function, arguments)
    assert caught.value.message == message


def test_values_are_described_by_their_kind_and_never_walked():
    endless: list[object] = []
    endless.append(endless)
    found = [described(value) for value in (None, True, 3, 1.5, "a", b"b", Pairs(), Group(), endless, (1,), DOUBLE)]
    assert found == [
        "None",
        "True",
        "3",
        "1.5",
        "'a'",
        "b'b'",
        "a mapping",
        "a set",
        "a list",
        "a tuple",
        "here.double",
    ]
