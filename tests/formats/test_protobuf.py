import pytest

from ln_audit.errors import FormatError
from ln_audit.formats.protobuf import CHUNK, SHORT, Field, Window, fields, message, signed


def test_the_fields_of_a_message_in_order_and_where_they_lie():
    data = b"\x08\x96\x01" + b"\x12\x02ab" + b"\x1d\x04\x03\x02\x01" + b"\x21" + bytes(range(8))
    assert list(message(data, "m")) == [
        Field(1, 0, 3, 3, 150),
        Field(2, 2, 5, 7, 2),
        Field(3, 5, 8, 12, 0x01020304),
        Field(4, 1, 13, 21, 0x0706050403020100),
    ]


def test_a_negative_number_has_ten_bytes():
    (field,) = message(b"\x08" + b"\xff" * 9 + b"\x01", "m")
    assert (signed(field.value), signed(5)) == (-1, 5)


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"\x08", "m: byte 1: expected a varint of at most 64 bits, found no end of it"),
        (b"\x08" + b"\x80" * 10, "m: byte 1: expected a varint of at most 64 bits, found no end of it"),
        (b"\x08" + b"\xff" * 9 + b"\x02", "m: byte 1: expected a varint of at most 64 bits, found no end of it"),
        (b"\x12\x05abcd", "m: byte 0: expected field 2 to end by byte 6, found it goes on to 7"),
        (b"\x0d\0\0\0", "m: byte 0: expected field 1 to end by byte 4, found it goes on to 5"),
        (b"\x08\x01\0\0", "m: byte 2: expected a protobuf field, found number 0 of wire type 0"),
        (b"\x0b", "m: byte 0: expected a protobuf field, found number 1 of wire type 3"),
    ],
)
def test_what_does_not_fill_its_message_is_refused_with_its_place(data, expected):
    with pytest.raises(FormatError) as caught:
        list(message(data, "m"))
    assert caught.value.message == expected


def _watched(data: bytes) -> tuple[Window, list[tuple[int, int]]]:
    read: list[tuple[int, int]] = []

    def read_range(begin: int, end: int) -> bytes:
        read.append((begin, end))
        return data[begin:end]

    return Window(read_range, len(data), "m"), read


def test_a_long_payload_is_stepped_over_and_not_read():
    big = 10 * CHUNK
    head = b"\x12\x80\x80\x80\x05"  # field 2 of 10,485,760 bytes
    window, read = _watched(head + bytes(big) + b"\x18\x07")
    assert [(field.number, field.value) for field in fields(window, 0, window.size)] == [(2, big), (3, 7)]
    assert [(begin, end) for begin, end in read if end - begin > SHORT] == [(0, 4 * SHORT)]
    assert read[1:] == [(len(head) + big, window.size)]


def test_many_short_fields_take_few_reads():
    window, read = _watched(b"\x08\x01" * 1_000_000)
    assert sum(field.value for field in fields(window, 0, window.size)) == 1_000_000
    assert len(read) == 5
