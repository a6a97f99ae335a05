"""Every way a header can be wrong, each held against the reference reader: nothing is taken that it refuses."""

from __future__ import annotations

import pytest

from ln_audit.errors import FormatError, UnsupportedError
from ln_audit.formats.safetensors_header import MAX_RANK, MAX_SIZES, MAX_STRING, MAX_TENSORS, Entry, parse_header
from scripts.fuzz_safetensors import reference_accepts

A = '"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}'


def one(dtype: str = "F32", shape: str = "[1]", offsets: str = "[0,4]", more: str = "") -> str:
    return f'{{"a":{{"dtype":"{dtype}","shape":{shape},"data_offsets":{offsets}{more}}}}}'


# header, what it says, bytes of data behind it
TAKEN = [
    ("{}", {}, {}, 0),
    (" \t\r\n{ } \n", {}, {}, 0),
    ("{" + A + "}", {"a": Entry("F32", (1,), 0, 4)}, {}, 4),
    ('{"a" : {"shape" : [ 1 ] , "data_offsets":[0 , 4] ,"dtype":"F32"} }', {"a": Entry("F32", (1,), 0, 4)}, {}, 4),
    ('{"__metadata__":{}}', {}, {}, 0),
    ('{"__metadata__":{"k":"\\u00e9\\n\\ud83d\\ude00"},' + A + "}", {"a": Entry("F32", (1,), 0, 4)}, {"k": "é\n😀"}, 4),
    ('{"\\u005f_metadata__":{"k":"v"}}', {}, {"k": "v"}, 0),
    (one(shape="[]"), {"a": Entry("F32", (), 0, 4)}, {}, 4),
    (one(shape="[2,0]", offsets="[0,0]"), {"a": Entry("F32", (2, 0), 0, 0)}, {}, 0),
    (one(shape="[0,18446744073709551615]", offsets="[0,0]"), {"a": Entry("F32", (0, 2**64 - 1), 0, 0)}, {}, 0),
    (one("F4", "[2]", "[0,1]"), {"a": Entry("F4", (2,), 0, 1)}, {}, 1),
    (one("F6_E2M3", "[4]", "[0,3]"), {"a": Entry("F6_E2M3", (4,), 0, 3)}, {}, 3),
    (one("C64", "[1]", "[0,8]"), {"a": Entry("C64", (1,), 0, 8)}, {}, 8),
    (one(more=',"x":null,"y":1.5,"z":"w"'), {"a": Entry("F32", (1,), 0, 4)}, {}, 4),
    (A.join(["{", "}"]).replace('"a"', '""'), {"": Entry("F32", (1,), 0, 4)}, {}, 4),
    (A.join(["{", "}"]).replace('"a"', '"\\u0000\x7f\\/"'), {"\0\x7f/": Entry("F32", (1,), 0, 4)}, {}, 4),
    (A.join(["{", "}"]).replace('"a"', f'"{"n" * 1_000_000}"'), {"n" * 1_000_000: Entry("F32", (1,), 0, 4)}, {}, 4),
]


@pytest.mark.parametrize(("header", "tensors", "metadata", "data"), TAKEN)
def test_a_valid_header_is_read_as_it_is_written(header, tensors, metadata, data):
    raw = header.encode()
    assert parse_header(raw, "f") == (tensors, metadata)
    assert reference_accepts(len(raw).to_bytes(8, "little") + raw + bytes(data))


# header, the message; the reference refuses all of these whatever data follow
REFUSED = [
    ("", "f: header byte 0: expected an object, found the header's end"),
    ("[]", "f: header byte 0: expected an object, found '[]'"),
    ("\ufeff{}", "f: header byte 0: expected an object, found '\\ufeff{}'"),
    ("{", "f: header byte 1: expected a name in quotes and `:`, found the header's end"),
    ("{} x", "f: header byte 3: expected the header's end, found 'x'"),
    ("{}\0", "f: header byte 2: expected the header's end, found '\\x00'"),
    ("{" + A + ",}", "f: header byte 54: expected a name in quotes and `:`, found '}'"),
    ("{" + A + " " + A + "}", None),
    ('{"a\n":{}}', "f: header byte 1: expected a name in quotes and `:`, found '\"a\\n\":{}}'"),
    ('{"\\x":{}}', "f: header byte 1: expected a name in quotes and `:`, found '\"\\\\x\":{}}'"),
    ('{"\\ud800":{}}', "f: header byte 1: expected a string in UTF-8, found '\"\\\\ud800\":{}}'"),
    ('{"\\u00":{}}', "f: header byte 1: expected a string in UTF-8, found '\"\\\\u00\":{}}'"),
    ('{"a":[]}', "f: header byte 5: expected an object for 'a', found '[]}'"),
    ('{"a":{"b":{}}}', "f: header byte 5: expected an object for 'a', found '{\"b\":{}}}'"),
    ('{"__metadata__":[]}', "f: header byte 16: expected an object, found '[]}'"),
    ('{"__metadata__":{"k":1}}', "f: header byte 21: expected a string for __metadata__ 'k', found '1}}'"),
    ('{"__metadata__":{"k":null}}', "f: header byte 21: expected a string for __metadata__ 'k', found 'null}}'"),
    ('{"__metadata__":{},"__metadata__":{}}', "f: __metadata__: expected one, found two"),
    ("{" + A + "," + A.replace("[0,4]", "[4,8]") + "}", "f: 'a': expected one tensor of that name, found two"),
    ('{"a":{}}', "f: 'a': expected dtype, shape, data_offsets, found no dtype"),
    ('{"a":{"dtype":"F32","data_offsets":[0,4]}}', "f: 'a': expected dtype, shape, data_offsets, found no shape"),
    (one(more=',"dtype":"F32"'), "f: 'a': expected each key once, found ['dtype', 'shape', 'data_offsets', 'dtype']"),
    (one(more=',"x":NaN'), "f: 'a': 'x': expected a plain value, found nan"),
    (one(more=',"x":1e999'), "f: 'a': 'x': expected a plain value, found inf"),
    (one(more=',"x":' + "[" * 9_000 + "]" * 9_000), None),
    (one(more=',"x":' + "9" * 5_000), None),
    (one(shape="[-1]"), None),
    (one(shape="[-0]", offsets="[0,0]"), None),
    (one(shape="[1.0]"), "f: 'a': shape: expected a list of sizes, found [1.0]"),
    (one(shape="[true]"), "f: 'a': shape: expected a list of sizes, found [True]"),
    (one(shape="[01]"), None),
    (one(shape='"1"'), "f: 'a': shape: expected a list of sizes, found '1'"),
    (one(shape="[0,18446744073709551616]", offsets="[0,0]"), None),
    (one(offsets="[0]"), "f: 'a': data_offsets: expected [begin, end], found [0]"),
    (one(offsets="[0,4,8]"), "f: 'a': data_offsets: expected [begin, end], found [0, 4, 8]"),
    (one(offsets="[4,0]"), "f: 'a': data_offsets: expected [begin, end], found [4, 0]"),
    (one(offsets="[0,false]"), "f: 'a': data_offsets: expected a list of sizes, found [0, False]"),
    (one(offsets="[0,8]"), "f: 'a': expected 4 bytes for F32 [1], found offsets of 8"),
    (one("F4", "[3]", "[0,2]"), "f: 'a': expected 1.5 bytes for F4 [3], found offsets of 2"),
    (one(shape="[18446744073709551615,2,0]", offsets="[0,0]"), None),
    (one(shape="[4611686018427387904]"), "f: 'a': shape: expected a size below 2^64, found [4611686018427387904]"),
    (one("G32"), "f: 'a': dtype: expected I32 or U32 or F32, by its shape and size, found 'G32'"),
    (one("f32"), "f: 'a': dtype: expected I32 or U32 or F32, by its shape and size, found 'f32'"),
    (one("MX6"), "f: 'a': dtype: expected 1 values of 6 bits in 4 bytes, found 'MX6'"),
    (one("no dtype"), "f: 'a': dtype: expected a dtype such as F32, found 'no dtype'"),
]  # fmt: skip


@pytest.mark.parametrize(("header", "message"), REFUSED)
def test_a_wrong_header_is_refused_at_its_place_and_by_the_reference_too(header, message):
    raw = header.encode()
    with pytest.raises(FormatError) as caught:
        parse_header(raw, "f")
    assert message is None or caught.value.message == message
    assert "\n" not in caught.value.message
    assert not any(reference_accepts(len(raw).to_bytes(8, "little") + raw + bytes(n)) for n in (0, 4, 8))


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        (b'{"\xff":{}}', "f: header byte 1: expected a string in UTF-8, found '\"\\ufffd\":{}}'"),
        (b'{"\xed\xa0\x80":{}}', "f: header byte 1: expected a string in UTF-8, found '\"\\ufffd\\ufffd\\ufffd\":{}}'"),
        (b'{"a":{"dtype":"\xff"}}', "f: 'a': expected a JSON object, found '{\"dtype\":\"\\ufffd\"}'"),
        (
            '{"a":{"dtype":"F32"}}'.encode("utf-16-le"),
            "f: header byte 1: expected a name in quotes and `:`, found '\\x00\"",
        ),
        (
            b'{"a":{' + '"dtype":"F32"'.encode("utf-16-be") + b"}}",
            "f: 'a': expected a JSON object, found '{\\x00\"\\x00d",
        ),
    ],
)
def test_what_is_not_utf8_is_refused(raw, message):
    with pytest.raises(FormatError) as caught:
        parse_header(raw, "f")
    assert caught.value.message.startswith(message)
    assert not reference_accepts(len(raw).to_bytes(8, "little") + raw)


@pytest.mark.parametrize(
    ("header", "message"),
    [
        ("{" + A + "," + A + "}", "f: 'a': expected one tensor of that name, found two"),
        ('{"__metadata__":{"k":"1","\\u006b":"2"},' + A + "}", "f: __metadata__: 'k': expected one value, found two"),
    ],
)
def test_duplicates_that_the_reference_misses_are_refused(header, message):
    with pytest.raises(FormatError) as caught:
        parse_header(header.encode(), "f")
    assert caught.value.message == message
    assert reference_accepts(len(header).to_bytes(8, "little") + header.encode() + bytes(4))


@pytest.mark.parametrize(
    ("dtype", "shape", "size"),
    [("I4", 8, 4), ("U4", 2, 1), ("C128", 1, 16), ("F8_E3M4", 3, 3), ("F8_E4M3B11FNUZ", 1, 1), ("FOO", 1, 4)],
)
def test_a_dtype_newer_than_this_version_is_no_error_while_nobody_asks_for_it(dtype, shape, size):
    tensors, _ = parse_header(one(dtype, f"[{shape}]", f"[0,{size}]").encode(), "f")
    assert tensors == {"a": Entry(dtype, (shape,), 0, size)}


def test_a_header_of_as_many_tensors_and_dimensions_as_may_be_is_read():
    shape = "[" + ",".join("0" * (MAX_SIZES // MAX_TENSORS)) + "]"
    tensors = ",".join(f'"{i}":{{"dtype":"U8","shape":{shape},"data_offsets":[0,0]}}' for i in range(MAX_TENSORS))
    found, metadata = parse_header(f'{{"__metadata__":{{"k":"v"}},{tensors}}}'.encode(), "f")
    assert (len(found), sum(len(entry.shape) for entry in found.values()), metadata) == (
        MAX_TENSORS,
        MAX_SIZES,
        {"k": "v"},
    )


@pytest.mark.parametrize(
    ("header", "message"),
    [
        ("{" + ",".join(f'"{i}":{{"dtype":"U8","shape":[0],"data_offsets":[0,0]}}' for i in range(MAX_TENSORS + 2)) + "}",
         "f: header: expected at most 131,072 names in this version, found more"),
        ('{"__metadata__":{' + ",".join(f'"{i}":""' for i in range(MAX_TENSORS + 2)) + "}}",
         "f: header: expected at most 131,072 names in this version, found more"),
        ('{"' + "n" * MAX_STRING + '":{}}', "f: header byte 1: expected at most 4,000,000 bytes, found 4,000,002"),
        (one(shape=f"[{','.join(['1'] * (MAX_RANK + 1))}]"), "f: 'a': shape: expected at most 64 dimensions, found 65"),
        ("{" + ",".join(f'"{i}":{{"dtype":"U8","shape":[{"0," * 63}0],"data_offsets":[0,0]}}' for i in range(MAX_SIZES // 64 + 1)) + "}",
         "f: header: expected at most 1,048,576 dimensions in this version, found more"),
    ],
    ids=["tensors", "metadata", "name", "rank", "sizes"],
)  # fmt: skip
def test_what_only_a_hostile_header_holds_is_unsupported(header, message):
    with pytest.raises(UnsupportedError) as caught:
        parse_header(header.encode(), "f")
    assert caught.value.message == message
