"""Other people's malformed files, and mutations of a good one, each held against the reference reader."""

from __future__ import annotations

import random

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from ln_audit.errors import FormatError
from ln_audit.formats.safetensors import read_checkpoint
from scripts.fuzz_safetensors import accepts, good_file, main, mutate, reference_accepts, unknown_dtypes
from tests.formats.memory_source import MemorySource
from tests.formats.shared import shared

# The reference implementation's own unit tests, by name; the rest it refuses.
VALID = {
    "deserialization": {"test": [2, 2]},
    "empty_shapes_allowed": {"test": []},
    "lifetimes": {"test": [2, 2]},
    "whitespace_leading_padded_header": {},
    "whitespace_padded_header": {},
    "zero_sized_tensor": {"test": [2, 0]},
}
INVALID = {
    "header_too_large": "header length: expected at most 100,000,000 bytes, found 18,446,742,974,197,923,900",
    "header_too_small": "expected a safetensors file, found an empty file (0 bytes)",
    "invalid_header_length": "size: expected at least 68 bytes for its header, found 8",
    "invalid_header_non_utf8": "header byte 0: expected an object, found '\\ufffd'",
    "invalid_header_not_json": "header byte 1: expected a name in quotes and `:`, found the header's end",
    "invalid_info": "'test': expected 16 bytes for I32 [2, 2], found offsets of 4",
    "metadata_incomplete_buffer_1": "size: expected 84 bytes as its header says, found 118",
    "metadata_incomplete_buffer_2": "size: expected 84 bytes as its header says, found 82",
    "validation_overflow_1": "'test': shape: expected a size below 2^64, found [2, 18446744073709551614]",
    "validation_overflow_2": "'test': shape: expected a size below 2^64, found [2, 9223372036854775807]",
}


@pytest.mark.parametrize("name", VALID)
def test_a_valid_file_of_the_references_tests_is_read(name):
    data = (shared("hostile/safetensors") / f"{name}.safetensors").read_bytes()
    checkpoint = read_checkpoint(MemorySource({"f": data}), "f")
    assert {tensor: list(info.shape) for tensor, info in checkpoint.tensors.items()} == VALID[name]
    assert accepts(data)
    assert reference_accepts(data)


@pytest.mark.parametrize("name", INVALID)
def test_an_invalid_file_of_the_references_tests_is_refused(name):
    data = (shared("hostile/safetensors") / f"{name}.safetensors").read_bytes()
    with pytest.raises(FormatError) as caught:
        read_checkpoint(MemorySource({"f": data}), "f")
    assert caught.value.message == f"f: {INVALID[name]}"
    assert not reference_accepts(data)


def test_all_sixteen_files_are_named_here():
    found = {path.stem for path in shared("hostile/safetensors").glob("*.safetensors")}
    assert found == VALID.keys() | INVALID.keys()


GOOD = good_file()
replacement = st.binary(max_size=12) | st.sampled_from([b"[", b"{", b'"', b"-0", b"1e9"])
edits = st.lists(st.tuples(st.integers(0, len(GOOD)), st.integers(0, 12), replacement), min_size=1, max_size=3)


@settings(max_examples=300, deadline=2_000)
@example([(9, 0, b"\xff")])
@given(edits)
def test_nothing_is_accepted_that_the_reference_refuses(changes):
    data = bytearray(GOOD)
    for at, removed, put in changes:
        data[at : at + removed] = put
    assert reference_accepts(bytes(data)) or not accepts(bytes(data)), bytes(data)


def test_the_good_file_is_accepted_by_both():
    assert accepts(GOOD)
    assert reference_accepts(GOOD)


def test_the_mutations_reach_both_verdicts_and_let_no_unknown_dtype_pass():
    rng = random.Random(11)
    verdicts = set()
    for _ in range(1_500):
        data = mutate(rng, GOOD)
        verdicts.add((ours := accepts(data), theirs := reference_accepts(data)))
        assert theirs or not ours, data
        assert unknown_dtypes(data) == set(), data
    assert {(True, True), (False, False)} <= verdicts


def test_the_fuzzer_counts_what_it_did(capsys):
    assert main(50, 0) == 0
    out = capsys.readouterr().out
    assert "ours refuses, reference refuses" in out
    assert "slowest" in out
