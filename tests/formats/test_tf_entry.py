import pytest

from ln_audit.errors import FormatError, UnsupportedError
from ln_audit.formats.tf_entry import Entry, Header, parse_entry, parse_header
from tests.formats.tf_writer import entry, header, masked, nested, number


def test_a_header_says_how_many_data_files_and_which_byte_order():
    assert parse_header(header(3, 1), "i") == Header(3, big_endian=True)
    assert parse_header(header(), "i") == Header(1, big_endian=False)


@pytest.mark.parametrize("data", [header(0), header(5_000), header(1, 2), b""])
def test_an_impossible_header_is_refused(data):
    with pytest.raises(FormatError, match="^i: expected 1 to 4,096 data files, little- or big-endian, found"):
        parse_header(data, "i")


def test_an_entry_says_where_a_tensor_lies():
    data = bytes(24)
    assert parse_entry(entry(1, (2, 3), 100, data, shard=2), "t") == Entry("F32", (2, 3), 2, 100, 124, masked(data), 0)
    assert parse_entry(entry(1, (), 0, bytes(4)), "t") == Entry("F32", (), 0, 0, 4, masked(bytes(4)), 0)
    assert parse_entry(entry(14, (0, 3), 0, b""), "t") == Entry("BF16", (0, 3), 0, 0, 0, 0xA282EAD8, 0)


def test_strings_have_no_dtype_of_numbers_and_any_size():
    assert parse_entry(entry(7, (), 0, bytes(13)), "t").dtype is None


def test_a_tensor_in_slices_has_no_bytes_of_its_own():
    assert parse_entry(entry(1, (1000,), 0, b"", extra=nested(7, b"") + nested(7, b"")), "t").slices == 2


@pytest.mark.parametrize(
    ("data", "found"),
    [
        (entry(1, (2, 3), 0, bytes(23)), "t: expected 24 bytes for F32 \\[2, 3\\], found 23"),
        (entry(1, (-1,), 0, b""), "t: shape: expected a size, found -1"),
        (number(1, 1) + number(4, -8), "t: expected an offset and a size, found -8 and 0"),
        (number(1, 1) + number(4, 2**63 - 1) + number(5, 8), "t: expected an offset and a size, found 9.* and 8"),
        (number(1, 1) + nested(2, number(3, 1)), "t: shape: expected a known rank, found an unknown one"),
    ],
)
def test_what_contradicts_itself_is_refused(data, found):
    with pytest.raises(FormatError, match=f"^{found}$"):
        parse_entry(data, "t")


def test_too_many_dimensions_are_refused():
    with pytest.raises(UnsupportedError, match="^t: expected at most 64 dimensions, found more$"):
        parse_entry(entry(1, [1] * 65, 0, bytes(4)), "t")
