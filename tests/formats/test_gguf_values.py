from __future__ import annotations

import struct
import time

import pytest

from ln_audit.errors import FormatError, UnsupportedError
from ln_audit.formats import gguf_cursor
from ln_audit.formats.gguf_cursor import MAX_WALKED, Cursor
from ln_audit.formats.gguf_values import (
    ARRAY_STEPS,
    MAX_DEPTH,
    MAX_KEY,
    MAX_NUMBERS,
    MAX_TEXT,
    NUMBER_BYTES,
    read_values,
)
from tests.formats.gguf_file import ARRAY, BOOL, F32, I32, STRING, U8, U32, U64, GgufFile, small
from tests.formats.memory_source import MemorySource


def values(*pairs, order: str = "<", count: int | None = None) -> dict:
    file = GgufFile(list(pairs), order=order)
    cursor = Cursor(MemorySource({"f": file.header()}), "f")
    cursor.order = order
    cursor.skip(24, "the counts")
    found = read_values(cursor, len(pairs) if count is None else count)
    assert cursor.at == cursor.size
    return found


def refusal(*pairs, **settings) -> str:
    with pytest.raises(FormatError) as caught:
        values(*pairs, **settings)
    return caught.value.message


@pytest.mark.parametrize("order", ["<", ">"])
def test_every_type_of_value_is_read(order):
    assert values(*small().values, order=order) == {
        "general.architecture": "gpt2",
        "general.name": "Small — ✓",
        "general.file_type": 0,
        "general.quantization_version": 2,
        "gpt2.embedding_length": 4,
        "gpt2.block_count": 1,
        "gpt2.attention.layer_norm_epsilon": 9.999999747378752e-06,
        "gpt2.rope": 0.1,
        "gpt2.causal": True,
        "gpt2.small": -3,
        "gpt2.byte": 255,
        "gpt2.short": -300,
        "gpt2.word": 65_535,
        "gpt2.int": -70_000,
        "gpt2.long": -(2**40),
        "gpt2.per_layer": (4, -5),
        "gpt2.flags": (True, False),
        "tokenizer.ggml.tokens": None,
        "nested": None,
    }


def test_a_booleans_type_is_kept():
    found = values(("a", BOOL, True), ("b", U8, 1), ("c", ARRAY, (BOOL, [False])))
    assert [type(found["a"]), type(found["b"]), found["c"]] == [bool, int, (False,)]


def test_epsilon_is_the_float32_that_is_stored():
    assert values(("e", F32, 1e-6))["e"] == struct.unpack("<f", struct.pack("<f", 1e-6))[0] == 9.999999974752427e-07


@pytest.mark.parametrize(
    ("pair", "kept"),
    [
        (("k", STRING, "x" * MAX_TEXT), "x" * MAX_TEXT),
        (("k", STRING, "x" * (MAX_TEXT + 1)), None),
        (("k", ARRAY, (I32, [7] * MAX_NUMBERS)), (7,) * MAX_NUMBERS),
        (("k", ARRAY, (I32, [7] * (MAX_NUMBERS + 1))), None),
        (("k", ARRAY, (BOOL, [True] * (MAX_NUMBERS + 1))), None),
        (("k", ARRAY, (F32, [])), ()),
        (("k", ARRAY, (STRING, [])), None),
        (("k", ARRAY, (ARRAY, [])), None),
    ],
)
def test_what_is_long_is_passed_over(pair, kept):
    assert values(pair, ("next", U32, 5)) == {"k": kept, "next": 5}


def test_a_text_that_is_no_utf8_is_spelt_out():
    raw = struct.pack("<Q", 3) + b"a\xed\xa0"
    assert values(("k", STRING, raw)) == {"k": "a\\xed\\xa0"}


def test_an_unknown_type_of_value_is_refused():
    assert refusal(("k", 13, b"")) == "f: 'k': expected a value type from 0 to 12, found 13"


def test_arrays_of_arrays_end_somewhere():
    def nested(levels: int) -> tuple[int, list]:
        return (U8, [1, 2]) if levels == 1 else (ARRAY, [nested(levels - 1)])

    assert values(("k", ARRAY, nested(MAX_DEPTH))) == {"k": None}
    assert "expected at most 4 levels" in refusal(("k", ARRAY, nested(MAX_DEPTH + 1)))


def test_nested_counts_cannot_multiply():
    empty = struct.pack("<IQ", U8, 0)
    data = struct.pack("<IQ", ARRAY, 60_000) + empty * 60_000
    start = time.perf_counter()
    assert values(("k", ARRAY, data)) == {"k": None}
    assert time.perf_counter() - start < 2
    too_many = MAX_WALKED // ARRAY_STEPS + 1
    assert "strings in all in this version, found more" in refusal(("k", ARRAY, struct.pack("<IQ", ARRAY, too_many)))


def test_kept_numbers_count_towards_what_is_kept(monkeypatch):
    monkeypatch.setattr(gguf_cursor, "MAX_KEPT", 2 * NUMBER_BYTES + 2)
    assert values(("k", ARRAY, (I32, [1, 2]))) == {"k": (1, 2)}
    assert "bytes of names and values" in refusal(("k", ARRAY, (I32, [1, 2, 3])))


@pytest.mark.parametrize("count", [0, 2, MAX_NUMBERS + 1])
@pytest.mark.parametrize("kind", [13, 2**32 - 1])
def test_an_unknown_type_of_elements_is_refused(kind, count):
    raw = struct.pack("<IQ", kind, count)
    expected = f"f: 'k': expected a value type from 0 to 12, found {kind:,}"
    assert refusal(("k", ARRAY, raw)) == expected
    assert refusal(("k", ARRAY, struct.pack("<IQ", ARRAY, 1) + raw)) == expected


def test_an_array_of_more_numbers_than_the_file_has_bytes_is_refused():
    assert refusal(("k", ARRAY, struct.pack("<IQ", 12, 2**64 - 1))).startswith(
        "f: header byte 49: expected 147,573,952"
    )


def test_a_boolean_is_0_or_1():
    assert refusal(("k", BOOL, b"\2")) == "f: 'k': expected a boolean, 0 or 1, found 2"
    assert refusal(("k", ARRAY, struct.pack("<IQ", BOOL, 2) + b"\1\2")) == "f: 'k': expected a boolean, 0 or 1, found 2"


def test_a_key_stands_once():
    assert refusal(("a.b", U32, 1), ("a.b", U32, 1)) == "f: 'a.b': expected the key once, found it twice"


def test_a_key_has_a_name_of_bounded_length():
    assert refusal(("", U32, 1)) == "f: header byte 24: expected a key of 1 to 65,535 bytes, found a length of 0"
    assert "found a length of 65,536" in refusal(("k" * (MAX_KEY + 1), U32, 1))
    assert values(("k" * MAX_KEY, U64, 1)) == {"k" * MAX_KEY: 1}


def test_more_keys_than_any_model_has_are_refused():
    with pytest.raises(UnsupportedError) as caught:
        values(count=2**64 - 1)
    assert caught.value.message == "f: key count: expected at most 65,536, found 18,446,744,073,709,551,615"
