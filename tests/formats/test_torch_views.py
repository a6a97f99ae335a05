from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.lib.stride_tricks import as_strided

from ln_audit.core import Range, Stored, TensorInfo
from ln_audit.errors import FormatError, UnsupportedError
from ln_audit.formats.torch_views import MAX_APART, Storage, View, size, sizes, stored, wanted

BASE = np.arange(1_000, dtype="<f4")
STORAGE = Storage("0", "F32", 4, BASE.nbytes)


def view(offset: int, shape: tuple[int, ...], stride: tuple[int, ...]) -> View:
    return View(STORAGE, "F32", 4, offset, shape, stride)


def content(it: View) -> np.ndarray:
    begin, end = it.range
    result = stored(it, BASE.tobytes()[begin:end])
    assert (result.dtype, result.shape) == ("F32", it.shape)
    return np.frombuffer(result.data, "<f4").reshape(it.shape)


@st.composite
def shapes_and_strides(draw: st.DrawFn) -> tuple[int, tuple[int, ...], tuple[int, ...]]:
    shape = tuple(draw(st.lists(st.integers(0, 4), max_size=5)))
    stride = tuple(draw(st.integers(0, 40)) for _ in shape)
    return draw(st.integers(0, 100)), shape, stride


@given(shapes_and_strides())
def test_any_view_gives_the_elements_that_numpy_finds(case):
    offset, shape, stride = case
    expected = as_strided(BASE[offset:], shape, [4 * step for step in stride])
    it = view(offset, shape, stride).check("f")
    assert content(it).tolist() == expected.tolist()
    assert it.contiguous == (it.elements == 0 or expected.flags.c_contiguous)


def test_a_view_knows_the_bytes_it_needs():
    assert view(10, (2, 3), (100, 5)).range == Range(40, 40 + 4 * (100 + 10 + 1))
    assert view(10, (0, 3), (100, 5)).range == Range(40, 40)
    assert view(10, (), ()).range == Range(40, 44)
    inner = View(Storage("0", "F32", 4, 400, begin=80), "F32", 4, 1, (2,), (1,))
    assert inner.range == Range(84, 92)
    assert view(0, (2, 3), (3, 1)).info("a") == TensorInfo("a", "F32", (2, 3), 24)


@pytest.mark.parametrize(
    ("offset", "shape", "stride", "needed"),
    [
        (0, (1_001,), (1,), "4,004"),
        (1_000, (1,), (1,), "4,004"),
        (0, (2, 2), (999, 1), "4,004"),
        (1_001, (0,), (1,), "4,004"),
        (0, (2**40, 2**40), (2**40, 1), "4,835,703,278,458,516,698,824,704"),
        (0, (2,), (2**62,), "18,446,744,073,709,551,620"),
    ],
)
def test_a_view_that_reaches_out_of_its_storage_is_refused(offset, shape, stride, needed):
    with pytest.raises(FormatError) as caught:
        view(offset, shape, stride).check("f: byte 9")
    said = f"f: byte 9: storage '0': expected at least {needed} bytes for F32 {list(shape)}, found 4,000"
    assert caught.value.message == said


def test_a_repeated_element_of_more_bytes_than_64_bits_count_is_refused():
    with pytest.raises(FormatError, match="expected at least 4 bytes"):
        view(0, (2**40, 2**40), (0, 0)).check("f")


def test_a_view_that_makes_much_of_little_is_not_read():
    assert wanted(view(0, (MAX_APART // 4,), (0,)), "a") == Range(0, 4)
    with pytest.raises(UnsupportedError, match="found 67,108,868 bytes of a tensor in 4 of the file"):
        wanted(view(0, (MAX_APART // 4 + 1,), (0,)), "a")


def test_a_view_that_needs_little_of_much_is_not_read():
    big = Storage("0", "F32", 4, 2**40)
    assert wanted(View(big, "F32", 4, 0, (2, 2**24), (2**24, 1)), "a") == Range(0, 2**27)
    with pytest.raises(
        UnsupportedError, match=r"^'a': expected elements that lie together, found 8 bytes of a tensor in"
    ):
        wanted(View(big, "F32", 4, 0, (2,), (2**30,)), "a")


def test_a_big_endian_storage_is_turned():
    kinds = {"F64": ("f8", 8), "F32": ("f4", 4), "I16": ("i2", 2), "U8": ("u1", 1)}
    for dtype, (kind, width) in kinds.items():
        values = np.arange(1, 5)
        it = View(Storage("0", dtype, width, 4 * width), dtype, width, 0, (4,), (1,))
        expected = Stored(dtype, (4,), values.astype(f"<{kind}").tobytes())
        assert stored(it, values.astype(f">{kind}").tobytes(), big_endian=True) == expected
    halves = View(Storage("0", "C64", 8, 8), "C64", 8, 0, (1,), (1,))
    assert stored(halves, b"\0\1\2\3\4\5\6\7", big_endian=True).data == b"\3\2\1\0\7\6\5\4"


@pytest.mark.parametrize("value", [True, 1.0, "1", None, -1, 2**63, [1]])
def test_only_63_bits_are_a_size(value):
    with pytest.raises(FormatError, match=r"^f: offset: expected an integer from 0 to 2\^63 - 1, found "):
        size(value, "f", "offset")
    with pytest.raises(FormatError, match=r"^f: size: expected an integer"):
        sizes((1, value), "f", "size")


def test_sizes_are_a_tuple_or_list_of_at_most_64():
    assert sizes([1, 2], "f", "size") == sizes((1, 2), "f", "size") == (1, 2)
    assert len(sizes((1,) * 64, "f", "size")) == 64
    with pytest.raises(FormatError, match=r"^f: size: expected at most 64 dimensions, found 65$"):
        sizes((1,) * 65, "f", "size")
    with pytest.raises(FormatError, match=r"^f: size: expected a tuple of integers, found 3$"):
        sizes(3, "f", "size")
