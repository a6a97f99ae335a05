"""Token ids come from a file or by chance, and in segments of bounded length."""

import os

import numpy as np
import pytest

from ln_audit.errors import UsageError
from ln_audit.record import tokens


@pytest.mark.parametrize("text", ["1 2 3", "1,2,\n3\n", "[1, 2, 3]"])
def test_numbers_as_text(tmp_path, text):
    (tmp_path / "ids.txt").write_text(text)
    assert tokens.read(str(tmp_path / "ids.txt"), 4).tolist() == [1, 2, 3]


@pytest.mark.parametrize("dtype", ["int64", "uint16", "int32"])
def test_an_array_is_mapped_whatever_its_shape_and_name(tmp_path, dtype):
    with (tmp_path / "ids").open("wb") as file:
        np.save(file, np.array([[1, 2], [3, 0]], dtype))
    ids = tokens.read(str(tmp_path / "ids"), 4)
    assert isinstance(ids, np.memmap)
    assert ids.tolist() == [1, 2, 3, 0]


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("1 x", "expected an array (.npy) or a text of token ids, found: invalid literal"),
        ("", "expected at least one token id, found none"),
        ("1 4", "expected ids from 0 to 3, found 4"),
        ("-1 3", "expected ids from 0 to 3, found -1"),
        ("1 99999999999999999999", "expected an array (.npy) or a text of token ids, found: Python int too large"),
    ],
)
def test_a_file_that_cannot_be_used(tmp_path, content, told):
    (tmp_path / "ids.txt").write_text(content)
    with pytest.raises(UsageError) as caught:
        tokens.read(str(tmp_path / "ids.txt"), 4)
    assert caught.value.message.startswith(f"--tokens {tmp_path / 'ids.txt'}: {told}")


def test_an_array_that_is_none_of_whole_numbers(tmp_path):
    np.save(tmp_path / "ids.npy", np.ones(3))
    with pytest.raises(UsageError, match="expected whole numbers, found float64"):
        tokens.read(str(tmp_path / "ids.npy"), 4)
    np.save(tmp_path / "ids.npy", np.array([None]), allow_pickle=True)
    with pytest.raises(UsageError, match="expected an array"):
        tokens.read(str(tmp_path / "ids.npy"), 4)


def test_no_such_file():
    with pytest.raises(UsageError, match="--tokens ./none: expected an array"):
        tokens.read("./none", 4)


def test_chance_gives_the_same_each_time_and_no_special_token():
    ids = tokens.random(2_000, 9, frozenset({0, 8, 700}))
    assert (len(ids), ids[:].tolist()) == (2_000, tokens.random(2_000, 9, frozenset({0, 8, 700}))[:].tolist())
    assert sorted(set(ids[:].tolist())) == [1, 2, 3, 4, 5, 6, 7]
    assert set(tokens.random(50, 2, frozenset({0, 1}))[:].tolist()) == {0, 1}


@pytest.mark.parametrize("words", [0, -3, 10**15])
def test_a_vocabulary_that_no_model_has_is_refused_before_memory_is_asked_for(words):
    with pytest.raises(UsageError, match="--random: expected a vocabulary of 1 to 16,777,216 words, found"):
        tokens.random(5, words, frozenset())


def test_chance_is_drawn_when_it_is_asked_for():
    ids = tokens.random(10**12, 50_000, frozenset())
    first, second = (part.tolist() for part, _ in zip(tokens.segments(ids, 5), range(2), strict=False))
    assert len(first) == len(second) == 5
    assert first != second


def test_segments():
    found = list(tokens.segments(np.arange(5, dtype=np.uint16), 2))
    assert [(each.tolist(), each.dtype) for each in found] == [([0, 1], "int64"), ([2, 3], "int64"), ([4], "int64")]


def test_a_pipe_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "ids")
    with pytest.raises(UsageError, match="expected an array .* of token ids, found: no ordinary file"):
        tokens.read(str(tmp_path / "ids"), 10)
