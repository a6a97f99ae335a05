"""Other people's malformed files and mutations of good ones: FormatError, at once, or a checkpoint that can be read."""

from __future__ import annotations

import random
import struct
import time
import tracemalloc

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from ln_audit.errors import FormatError
from ln_audit.formats.gguf import read_checkpoint
from scripts.fuzz_gguf import accepts, good_files, main, mutate
from tests.formats.gguf_file import ARRAY, U8, GgufFile, of_arrays, small
from tests.formats.memory_source import MemorySource
from tests.formats.shared import shared

# Valid headers without tensors: 17 that were written as such, and two that a fuzzer arrived at.
HEADERS = {
    "bert-base-uncased", "bitnet-b1.58-2B", "corrupted-embedded-tokenizer", "gpt-neo-1.3b", "gpt2-50k", "gpt2-medium",
    "llama2-32k", "llama2-7b", "llama2-with-sentencepiece", "llama3-128k", "llama3-8b", "llama3-with-hf-tokenizer",
    "t5-base", "vocab-1000", "vocab-128256", "vocab-32000", "vocab-50257",
}  # fmt: skip
FOUND_BY_FUZZING = {"899e590b2346f119ed3f6e8f69c3a1c8296673ee", "e05007331db1d247640b402ea31c675556372c2b"}
CRASHES = {
    "crash-69e8aa7487115a5484cc9c94c0decd84c1361bcb": (
        "f: tensor count: expected at most 65,536, found 308,962,753,280,623"
    ),
    "crash-8052f5de4a2a64de976c40f34a950131912e678d": "f: header byte 60: expected a key in UTF-8, found 0xce",
}

FILES = good_files()
PLAIN = small()
PLAIN.tensors.pop()  # the quantized one, which only the gguf package can read
GOOD = PLAIN.whole()


def refusal(data: bytes) -> str:
    with pytest.raises(FormatError) as caught:
        read_checkpoint(MemorySource({"f": data}), "f")
    return caught.value.message


def test_the_corpus_of_a_fuzzer_is_refused_at_once_but_for_its_headers():
    paths = sorted(shared("hostile/gguf").iterdir())
    assert len(paths) == 244
    accepted, slowest = set(), 0.0
    tracemalloc.start()
    for path in paths:
        data = path.read_bytes()
        start = time.perf_counter()
        if accepts(data):
            accepted.add(path.name.removesuffix(".gguf"))
        slowest = max(slowest, time.perf_counter() - start)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert accepted == HEADERS | FOUND_BY_FUZZING
    assert slowest < 1
    assert peak < 20_000_000


@pytest.mark.parametrize("name", CRASHES)
def test_a_file_that_crashed_another_reader_is_refused(name):
    assert refusal((shared("hostile/gguf") / name).read_bytes()) == CRASHES[name]


@pytest.mark.parametrize("data", FILES, ids=["little", "big", "version 2"])
def test_a_file_cut_at_any_length_is_refused(data):
    for length in range(len(data) - 28):  # the last tensor has 68 of its 96 bytes, what follows is padding
        assert refusal(data[:length])
    assert accepts(data[:-28])


def test_where_nothing_is_padding_every_cut_and_every_byte_too_many_is_refused():
    data = of_arrays({"a": np.ones(3, np.float32), "b": np.zeros((2, 0), np.float16), "c": np.arange(2)})
    assert accepts(data)
    for length in range(len(data)):
        assert refusal(data[:length])
    assert refusal(data + b"\0").startswith("f: size: expected at most ")


def test_a_flipped_byte_anywhere_is_read_or_refused_never_a_crash():
    outcomes = {True: 0, False: 0}
    for position in range(len(GOOD)):
        for flip in (0x01, 0x20, 0x80, 0xFF):
            damaged = bytearray(GOOD)
            damaged[position] ^= flip
            outcomes[accepts(bytes(damaged))] += 1
    assert min(outcomes.values()) > 500, outcomes


@pytest.mark.parametrize("value", [2**16, 2**31, 2**32 - 1, 2**61, 2**63, 2**64 - 1])
def test_a_number_blown_up_anywhere_ends_at_once(value):
    raw = struct.pack("<Q", value)
    header = len(PLAIN.header())
    start = time.perf_counter()
    for position in range(8, header - 8):
        accepts(GOOD[:position] + raw + GOOD[position + 8 :])
    assert time.perf_counter() - start < 20  # 2,000 files


def test_the_49_bytes_that_the_gguf_packages_reader_never_comes_back_from():
    data = GgufFile([("k", ARRAY, struct.pack("<IQ", U8, 2**64 - 1))]).header()
    assert len(data) == 49
    assert refusal(data) == (
        "f: header byte 49: expected 18,446,744,073,709,551,615 bytes for 'k', found 0 to the file's end"
    )


edits = st.lists(
    st.tuples(
        st.integers(0, len(GOOD)),
        st.integers(0, 12),
        st.binary(max_size=12) | st.integers(0, 2**64 - 1).map(lambda n: struct.pack("<Q", n)),
    ),
    min_size=1,
    max_size=3,
)


@settings(max_examples=300, deadline=2_000)
@example([(8, 8, b"\xff" * 8)])
@given(edits)
def test_nothing_but_a_format_error_comes_out(changes):
    data = bytearray(GOOD)
    for at, removed, put in changes:
        data[at : at + removed] = put
    if not accepts(bytes(data)):
        assert refusal(bytes(data)).startswith("f: ")


def test_random_mutations_reach_both_verdicts():
    rng = random.Random(11)
    verdicts = [accepts(mutate(rng, rng.choice(FILES))) for _ in range(2_000)]
    assert 100 < sum(verdicts) < 1_000


def test_the_fuzzer_counts_what_it_did(capsys):
    assert main(50, 0) == 0
    out = capsys.readouterr().out
    assert "refused" in out
    assert "slowest" in out
