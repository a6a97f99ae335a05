from __future__ import annotations

import pytest

from ln_audit.errors import FormatError, UnsupportedError
from ln_audit.formats import pickle_tape
from ln_audit.formats.pickle_tape import MAX_LINE, MAX_LINES, MAX_LONG, MAX_PICKLE, MAX_STRING, VALUES, Tape


def in_pieces(data: bytes, first: int, size: int) -> Tape:
    """A tape that holds `first` bytes and is brought `size` more at a time."""
    return Tape(data[:first], "f", more=lambda length: data[length : length + size])


def value(opcode: bytes, rest: bytes) -> object:
    """What the opcode puts on the stack, the tape then being at its end."""
    tape = Tape(rest, "f")
    found = VALUES[opcode[0]](tape)
    assert tape.at == len(rest)
    return found


def refusal(opcode: bytes, rest: bytes) -> str:
    with pytest.raises(FormatError) as caught:
        VALUES[opcode[0]](Tape(rest, "f"))
    return caught.value.message


@pytest.mark.parametrize("size", [1, 2, 7, 100])
def test_a_tape_is_the_same_however_its_bytes_come(size):
    tape = in_pieces(b"abc\ndefgh\n\x01\x02\x03", 2, size)
    found = (tape.byte(), tape.take(2), tape.line(), tape.line(), tape.number(2), tape.take(1), tape.take(0), tape.at)
    assert found == (ord("a"), b"bc", b"", b"defgh", 0x0201, b"\x03", b"", 13)


def test_the_end_is_named_with_what_was_left():
    with pytest.raises(FormatError) as caught:
        Tape(b"abc", "f", "data.pkl ").take(5)
    assert caught.value.message == "f: data.pkl byte 0: expected 5 more bytes, found the end after 3"
    with pytest.raises(FormatError, match=r"^f: byte 0: expected one more byte, found the end after 0$"):
        Tape(b"", "f").byte()


def test_a_line_without_an_end_is_refused_after_its_limit_however_long_the_rest_is():
    tape = in_pieces(b"a" * (MAX_LINE + 2), 1, 1_000)
    with pytest.raises(FormatError, match=r"byte 0: expected a line that ends, found none within 4,096 bytes"):
        tape.line()
    assert in_pieces(b"a" * MAX_LINE + b"\n", 1, 1_000).line() == b"a" * MAX_LINE


def test_more_lines_than_any_file_needs_are_refused():
    tape = Tape(b"\n" * (MAX_LINES + 1), "f")
    for _ in range(MAX_LINES):
        tape.line()
    with pytest.raises(UnsupportedError, match=r"^f: expected at most 500,000 lines of text, found more$"):
        tape.line()


def test_a_tape_that_never_ends_is_stopped(monkeypatch):
    monkeypatch.setattr(pickle_tape, "MAX_PICKLE", 1_000)
    tape = Tape(b"", "f", more=lambda _: bytes(400))
    assert len(tape.take(1_200)) == 1_200
    with pytest.raises(UnsupportedError, match=r"(?m)^f: expected at most 1,000 bytes of pickle, found more$"):
        tape.take(1)
    assert MAX_PICKLE > MAX_STRING


@pytest.mark.parametrize(
    ("opcode", "rest", "expected"),
    [
        (b"N", b"", None),
        (b"\x88", b"", True),
        (b"\x89", b"", False),
        (b")", b"", ()),
        (b"K", b"\xff", 255),
        (b"M", b"\x01\x02", 513),
        (b"J", b"\xff\xff\xff\xff", -1),
        (b"I", b"-12\n", -12),
        (b"I", b"01\n", True),
        (b"I", b"00\n", False),
        (b"L", b"12345678901234567890L\n", 12345678901234567890),
        (b"L", b"-7\n", -7),
        (b"\x8a", b"\x02\x00\x80", -32768),
        (b"\x8a", b"\x00", 0),
        (b"\x8b", b"\x01\x00\x00\x00\x05", 5),
        (b"G", b"\x3f\xf8\0\0\0\0\0\0", 1.5),
        (b"F", b"-1.5e-3\n", -0.0015),
        (b"F", b"inf\n", float("inf")),
        (b"S", b"'ab'\n", "ab"),
        (b"S", b'"\xff"\n', b"\xff"),
        (b"U", b"\x02ab", "ab"),
        (b"T", b"\x02\0\0\0\xff\xfe", b"\xff\xfe"),
        (b"V", b"a\\u0142\n", "a\u0142"),
        (b"\x8c", b"\x02\xc3\xa9", "\xe9"),
        (b"X", b"\x01\0\0\0a", "a"),
        (b"\x8d", b"\x01\0\0\0\0\0\0\0a", "a"),
        (b"C", b"\x01\xff", b"\xff"),
        (b"B", b"\x01\0\0\0\xff", b"\xff"),
        (b"\x8e", b"\x01\0\0\0\0\0\0\0\xff", b"\xff"),
        (b"\x96", b"\x01\0\0\0\0\0\0\0\xff", b"\xff"),
    ],
)
def test_each_opcode_reads_its_value(opcode, rest, expected):
    found = value(opcode, rest)
    assert (type(found), found) == (type(expected), expected)


def test_the_table_holds_the_opcodes_that_only_make_a_value():
    import pickletools

    makes_one = {
        ord(op.code)
        for op in pickletools.opcodes
        if not op.stack_before and len(op.stack_after) == 1 and op.name not in {"MARK", "GLOBAL", "PERSID", "NEXT_BUFFER"}
        and "GET" not in op.name and "EXT" not in op.name and op.name not in {"EMPTY_LIST", "EMPTY_DICT", "EMPTY_SET"}
    }  # fmt: skip
    assert VALUES.keys() == makes_one


@pytest.mark.parametrize(
    ("opcode", "rest", "message"),
    [
        (b"I", b"0x10\n", "f: byte 0: expected an integer, found '0x10'"),
        (b"I", b"1_0\n", "f: byte 0: expected an integer, found '1_0'"),
        (b"I", b"9" * 41 + b"\n", f"f: byte 0: expected an integer, found '{'9' * 40}'"),
        (b"L", b"9" * 4_001 + b"L\n", f"f: byte 0: expected an integer, found '{'9' * 40}'"),
        (b"F", b"1e999999\n", "f: byte 0: expected a number, found '1e999999'"),
        (b"S", b"ab\n", "f: byte 0: expected a quoted string without escapes, found 'ab'"),
        (b"S", b"'a\\x00'\n", "f: byte 0: expected a quoted string without escapes, found \"'a\\\\x00'\""),
        (b"V", b"\\u12\n", "f: byte 0: expected a string with whole escapes, found '\\\\u12'"),
        (b"V", b"\\ud800\n", "f: byte 0: expected a string with whole escapes, found '\\\\ud800'"),
        (b"X", b"\x02\0\0\0\xffa", "f: byte 4: expected a string in UTF-8, found 0xff in it"),
        (b"X", b"\x03\0\0\0\xed\xa0\x80", "f: byte 4: expected a string in UTF-8, found 0xed in it"),
        (b"\x8b", b"\x01\x04\0\0", "f: byte 4: expected an integer of at most 1,024 bytes, found 1,025"),
        (b"\x8b", b"\xff\xff\xff\xff", "f: byte 4: expected an integer of at most 1,024 bytes, found 4,294,967,295"),
        (b"X", b"\xff\xff\xff\xff", "f: byte 4: expected at most 4,000,000 bytes in a string, found 4,294,967,295"),
        (
            b"\x8e",
            b"\xff" * 8,
            "f: byte 8: expected at most 4,000,000 bytes in a string, found 18,446,744,073,709,551,615",
        ),
        (b"U", b"\x05ab", "f: byte 1: expected 5 more bytes, found the end after 2"),
    ],
)
def test_a_bad_value_is_refused_with_its_place(opcode, rest, message):
    assert refusal(opcode, rest) == message


def test_the_longest_integer_is_still_one():
    assert value(b"\x8b", MAX_LONG.to_bytes(4, "little") + bytes(MAX_LONG)) == 0
