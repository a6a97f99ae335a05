from __future__ import annotations

import random
import struct
import time
import tracemalloc

import pytest

from ln_audit.core import Range
from ln_audit.errors import FormatError, UnsupportedError
from ln_audit.formats import gguf_cursor
from ln_audit.formats.gguf_cursor import MAX_WINDOW, PREFETCH, Cursor
from tests.formats.memory_source import MemorySource


def cursor(data: bytes) -> Cursor:
    return Cursor(MemorySource({"f": data}), "f")


def strings(*texts: bytes) -> bytes:
    return b"".join(struct.pack("<Q", len(text)) + text for text in texts)


def refusal(call, *args) -> str:
    with pytest.raises(FormatError) as caught:
        call(*args)
    return caught.value.message


def test_numbers_come_in_the_byte_order_that_was_set():
    data = struct.pack("<IQ", 1, 2) + struct.pack(">IQ", 3, 4)
    reading = cursor(data)
    assert reading.numbers("IQ", "x") == (1, 2)
    reading.order = ">"
    assert (reading.number("I", "x"), reading.number("Q", "x"), reading.at) == (3, 4, 24)


def test_the_end_of_the_file_is_named_with_what_was_expected_there():
    reading = cursor(b"abcdef")
    reading.skip(4, "x")
    assert refusal(reading.take, 3, "the rank of 'a'") == (
        "f: header byte 4: expected 3 bytes for the rank of 'a', found 2 to the file's end"
    )
    assert "expected 3 bytes for a key, found 2" in refusal(reading.skip, 3, "a key")
    assert reading.take(2, "x") == b"ef"


@pytest.mark.parametrize("at", [PREFETCH + i for i in (-9, -8, -7, -1, 0, 1)])
def test_what_lies_across_the_windows_edge_is_read_right(at):
    data = bytearray(PREFETCH + 100)
    data[at : at + 8] = b"12345678"
    reading = cursor(bytes(data))
    reading.skip(at, "x")
    assert reading.take(8, "x") == b"12345678"


def test_windows_grow_and_start_where_they_are_needed():
    size = 40 * 1024 * 1024
    source = MemorySource({"f": bytes(size)})
    reading = Cursor(source, "f")
    while reading.at < size:
        reading.take(1024, "x")
    asked = [each.end - each.begin for _, ranges in source.reads for each in ranges]
    assert asked[:5] == [PREFETCH, 4 * PREFETCH, 16 * PREFETCH, MAX_WINDOW, MAX_WINDOW]
    assert sum(asked) == size


def test_the_window_is_as_long_as_the_strings_that_are_left():
    data = strings(*[b"x" * 12] * 100_000) + bytes(10_000_000)
    source = MemorySource({"f": data})
    Cursor(source, "f").skip_strings(100_000, "tokens")
    asked = [each.end - each.begin for _, ranges in source.reads for each in ranges]
    assert asked == [PREFETCH, 2_000_000 - PREFETCH // 20 * 20 - 20 + PREFETCH]


def test_skipped_bytes_are_not_read():
    data = bytes(10_000_000) + b"here"
    source = MemorySource({"f": data})
    reading = Cursor(source, "f")
    reading.skip(10_000_000, "scores")
    assert reading.take(4, "x") == b"here"
    assert source.reads == [("f", (Range(0, PREFETCH),)), ("f", (Range(10_000_000, 10_000_004),))]


@pytest.mark.parametrize(
    "lengths", [[0], [1, 0, 300], [PREFETCH - 8], [PREFETCH - 15, 5], [PREFETCH, 3], [5 * PREFETCH, 1]]
)
def test_strings_are_passed_over_wherever_the_window_ends(lengths):
    data = strings(*(b"x" * length for length in lengths)) + b"then"
    reading = cursor(data)
    reading.skip_strings(len(lengths), "tokens")
    assert reading.take(4, "x") == b"then"
    assert reading.at == len(data)


def test_a_string_that_leads_out_of_the_file_is_refused():
    data = strings(b"a", b"b") + struct.pack("<Q", 2**64 - 1)
    assert refusal(cursor(data).skip_strings, 3, "tokens").startswith("f: header byte 0: expected 18,446,744,073,709,5")
    assert "expected 8 bytes for tokens, found 0" in refusal(cursor(strings(b"a" * 16)).skip_strings, 3, "tokens")


def test_a_count_of_strings_that_the_file_cannot_hold_is_refused_before_the_first():
    assert refusal(cursor(strings(b"a")).skip_strings, 2**64 - 1, "tokens") == (
        "f: header byte 0: expected 147,573,952,589,676,412,920 bytes for tokens: 18,446,744,073,709,551,615 strings, "
        "found 9 to the file's end"
    )


def test_too_many_strings_are_refused_not_counted(monkeypatch):
    monkeypatch.setattr(gguf_cursor, "MAX_WALKED", 3)
    reading = cursor(strings(b"a", b"b", b"c", b"d"))
    reading.skip_strings(2, "tokens")
    with pytest.raises(UnsupportedError, match="tokens: expected at most 3 strings in all in this version, found more"):
        reading.skip_strings(2, "tokens")


def test_names_and_texts_are_bounded_together(monkeypatch):
    monkeypatch.setattr(gguf_cursor, "MAX_KEPT", 5)
    reading = cursor(b"abcdef")
    assert reading.text(3, "a key") == "abc"
    with pytest.raises(UnsupportedError, match="at most 5 bytes of names and values"):
        reading.text(3, "a key")


def test_a_header_without_an_end_is_refused(monkeypatch):
    monkeypatch.setattr(gguf_cursor, "MAX_HEADER", 100)
    with pytest.raises(
        UnsupportedError, match="header: expected at most 100 bytes in this version, found scores beyond"
    ):
        cursor(bytes(200)).skip(101, "scores")


def test_a_text_in_another_encoding_is_refused_or_spelt_out():
    reading = cursor(b"a\xffa\xff")
    assert refusal(reading.text, 2, "a key") == "f: header byte 1: expected a key in UTF-8, found 0xff"
    assert reading.text(2, "a value", errors="backslashreplace") == "a\\xff"


def test_the_tokenizer_of_a_large_model_is_passed_over_quickly_and_in_little_memory():
    rng = random.Random(0)
    words = strings(*(b"x" * rng.randrange(1, 14) for _ in range(256_000)))
    data = words + words + b"then"  # tokens and merges
    source = MemorySource({"f": data})
    tracemalloc.start()
    before, start = tracemalloc.get_traced_memory()[0], time.perf_counter()
    reading = Cursor(source, "f")
    reading.skip_strings(256_000, "tokens")
    reading.skip_strings(256_000, "merges")
    seconds, peak = time.perf_counter() - start, tracemalloc.get_traced_memory()[1] - before
    tracemalloc.stop()
    assert reading.take(4, "x") == b"then"
    assert seconds < 2, seconds  # 0.05 without tracemalloc
    assert peak < 3 * MAX_WINDOW, peak
