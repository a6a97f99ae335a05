from hypothesis import given
from hypothesis import strategies as st

from ln_audit.formats.crc32c import PIECE, crc32c, unmasked
from tests.formats import tf_writer


def test_the_vectors_of_the_standard():
    """RFC 3720, appendix B.4, and the check value of the CRC catalogue."""
    assert crc32c(b"") == 0
    assert crc32c(b"123456789") == 0xE3069283
    assert crc32c(bytes(32)) == 0x8A9136AA
    assert crc32c(b"\xff" * 32) == 0x62A8AB43
    assert crc32c(bytes(range(32))) == 0x46DD794E
    assert crc32c(bytes(range(31, -1, -1))) == 0x113FDB5C


@given(st.binary(max_size=64), st.integers(0, 3 * PIECE))
def test_the_same_as_bit_by_bit_whatever_the_length(data, zeros):
    data = data + bytes(zeros) + data[::-1]
    assert crc32c(data) == tf_writer.crc32c(data)


@given(st.binary(max_size=16))
def test_unmasked_undoes_the_mask(data):
    assert unmasked(tf_writer.masked(data)) == crc32c(data)
