import pytest

from ln_audit.errors import FormatError, UnsupportedError
from ln_audit.formats import sstable
from tests.formats import tf_writer

ITEMS = [(f"model/h{i:03d}/ln_1/{part}".encode(), part.encode() * i) for i in range(50) for part in "bg"]


@pytest.mark.parametrize("per_block", [1, 7, 16, 1000])
def test_keys_and_values_come_back_in_order(per_block):
    assert list(sstable.entries(tf_writer.table(ITEMS, per_block), "t")) == ITEMS


def test_a_table_without_entries_has_none():
    assert list(sstable.entries(tf_writer.table([]), "t")) == []


def test_a_table_cut_anywhere_is_refused():
    data = tf_writer.table(ITEMS[:20])
    for length in range(len(data)):
        with pytest.raises(FormatError):
            list(sstable.entries(data[:length], "t"))


def test_a_flipped_bit_in_any_block_is_seen_by_its_checksum():
    data = tf_writer.table(ITEMS[:20])
    refused = 0
    for position in range(len(data) - sstable.FOOTER):
        damaged = bytearray(data)
        damaged[position] ^= 0x04
        try:
            assert list(sstable.entries(bytes(damaged), "t")) == ITEMS[:20]
        except FormatError:
            refused += 1
    assert refused == len(data) - sstable.FOOTER - len(tf_writer.block([]))  # the empty block of metadata is not read


def test_a_flipped_bit_in_the_footer_changes_nothing_or_is_refused():
    data = tf_writer.table(ITEMS[:20])
    for position in range(len(data) - sstable.FOOTER, len(data)):
        for bit in range(8):
            damaged = bytearray(data)
            damaged[position] ^= 1 << bit
            try:
                assert list(sstable.entries(bytes(damaged), "t")) == ITEMS[:20]  # padding, the block of metadata
            except FormatError:
                continue


def test_a_compressed_block_is_refused_by_the_name_of_its_method():
    with pytest.raises(UnsupportedError) as caught:
        list(sstable.entries(tf_writer.table(ITEMS, compression=1), "t"))
    assert caught.value.message.endswith(": expected no compression, found snappy")
    assert "save it again" in caught.value.hint


def test_a_checksum_that_differs_names_the_block_and_both_sides():
    data = bytearray(tf_writer.table([(b"a", b"bcd")]))
    data[4] ^= 1
    with pytest.raises(
        FormatError, match=r"(?m)^t: block at byte 0: expected CRC32C 0x[0-9a-f]{8}, found 0x[0-9a-f]{8}$"
    ):
        list(sstable.entries(bytes(data), "t"))


@pytest.mark.parametrize("items", [[(b"b", b""), (b"a", b"")], [(b"a", b"1"), (b"a", b"2")]])
def test_keys_out_of_order_and_keys_twice_are_refused(items):
    with pytest.raises(FormatError, match="expected keys in order, found 'a' behind '[ab]'$"):
        list(sstable.entries(tf_writer.table(items), "t"))


def _of(piece: bytes, index: bytes) -> bytes:
    """A table of one block."""
    place = (len(piece), len(index) - 5)
    return piece + index + tf_writer.footer(place, place)


def _handle(piece: bytes) -> bytes:
    return tf_writer.varint(0) + tf_writer.varint(len(piece) - 5)


def test_more_restart_points_than_the_block_has_room_for_are_refused():
    index = tf_writer.sealed(b"", [9, 9])[8:]  # says two and has none
    index = index[:5] + tf_writer.masked(index[:5]).to_bytes(4, "little")
    with pytest.raises(FormatError, match="expected restart points inside the block, found 2 of them"):
        list(sstable.entries(_of(b"", index), "t"))


def test_a_key_that_repeats_itself_into_gigabytes_is_refused_at_once():
    entries = tf_writer.varint(0) + tf_writer.varint(4_004) + b"\0" + b"k" * 4_004
    for i in range(1, 10_000):
        entries += tf_writer.varint(4_000) + b"\x04\0" + b"l" + i.to_bytes(3, "big")
    piece = tf_writer.sealed(entries)
    assert len(piece) < 100_000  # and 40 MB of keys written out
    with pytest.raises(
        UnsupportedError, match="expected at most 131,072 keys of 32,000,000 bytes together, found more"
    ):
        list(sstable.entries(_of(piece, tf_writer.block([(b"l", _handle(piece))])), "t"))


def test_too_long_a_key_is_refused():
    with pytest.raises(FormatError, match="expected an entry inside its block, found 0 \\+ 4,097 and [03] bytes"):
        list(sstable.entries(tf_writer.table([(b"k" * (sstable.MAX_KEY + 1), b"")]), "t"))


def test_one_block_named_many_times_is_refused():
    piece = tf_writer.block([(b"a", b"")])
    index = tf_writer.block([(bytes([i]), _handle(piece)) for i in range(50)])
    with pytest.raises(FormatError, match="expected a block behind byte 17, found one at 0"):
        list(sstable.entries(_of(piece, index), "t"))


def test_an_index_of_more_blocks_than_any_checkpoint_has_is_refused(monkeypatch):
    monkeypatch.setattr(sstable, "MAX_BLOCKS", 3)
    assert len(list(sstable.entries(tf_writer.table(ITEMS[:3], per_block=1), "t"))) == 3
    with pytest.raises(UnsupportedError, match="^t: expected at most 3 blocks, found more$"):
        list(sstable.entries(tf_writer.table(ITEMS[:4], per_block=1), "t"))
