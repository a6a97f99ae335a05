from __future__ import annotations

import struct
import sys

import numpy as np
import pytest

from ln_audit.errors import UnsupportedError
from ln_audit.formats.gguf_quants import DEQUANTIZED, MAX_ELEMENTS, dequantized, readable
from ln_audit.formats.gguf_types import TYPES

BY_NAME = {kind.name: kind for kind in TYPES.values()}
WITHOUT_DEQUANTIZER = {"Q8_1", "Q8_K", "Q1_0", "Q2_0"}  # of the gguf package 0.19


def needs_gguf():
    return pytest.importorskip("gguf", reason="the gguf package is not installed")


def refused(*args) -> UnsupportedError:
    with pytest.raises(UnsupportedError) as caught:
        dequantized(*args)
    return caught.value


def test_q8_0_is_its_scale_times_its_integers():
    needs_gguf()
    data = struct.pack("<e32b", 0.5, *range(-16, 16)) + struct.pack("<e32b", -2, *range(32))
    expected = [0.5 * i for i in range(-16, 16)] + [-2 * i for i in range(32)]
    for shape in ((64,), (2, 32), (1, 2, 32)):
        assert np.frombuffer(dequantized(data, BY_NAME["Q8_0"], shape, "f: 'a'"), "<f4").tolist() == expected


@pytest.mark.parametrize("kind", [kind for kind in TYPES.values() if not kind.plain], ids=lambda kind: kind.name)
def test_every_quantized_type_gives_as_many_floats_as_it_has_elements_or_is_refused_by_name(kind):
    needs_gguf()
    data = bytes(range(256)) * 5
    shape = (2, 2 * kind.block)
    raw = data[: 4 * kind.nbytes]
    if kind.name in WITHOUT_DEQUANTIZER:
        error = refused(raw, kind, shape, "f: 'a'")
        assert error.message == f"f: 'a': expected a type that the gguf package can dequantize, found {kind.name}"
        assert error.hint == f"pip install --upgrade gguf, if a newer one knows {kind.name}"
    else:
        assert len(dequantized(raw, kind, shape, "f: 'a'")) == 4 * 4 * kind.block


@pytest.mark.parametrize("name", ["Q4_0", "Q5_1", "Q8_0", "MXFP4"])
def test_what_the_package_quantizes_comes_back_as_it_dequantizes_it(name):
    gguf = needs_gguf()
    values = np.random.default_rng(3).normal(1, 0.2, (3, 64)).astype(np.float32)
    kind = gguf.GGMLQuantizationType[name]
    raw = gguf.quants.quantize(values, kind)
    ours = np.frombuffer(dequantized(raw.tobytes(), BY_NAME[name], (3, 64), "f: 'a'"), "<f4").reshape(3, 64)
    assert ours.tolist() == gguf.quants.dequantize(raw, kind).tolist()
    assert np.abs(ours - values).max() < 0.3


def test_an_infinite_scale_is_a_value_and_no_warning():
    needs_gguf()
    data = struct.pack("<e32b", float("inf"), 0, *[1] * 31)
    values = np.frombuffer(dequantized(data, BY_NAME["Q8_0"], (32,), "f: 'a'"), "<f4")
    assert np.isnan(values[0])
    assert np.isinf(values[1:]).all()


def test_no_elements_are_no_bytes():
    needs_gguf()
    assert dequantized(b"", BY_NAME["Q8_0"], (0,), "f: 'a'") == b""


def test_a_tensor_that_can_be_no_norm_is_not_blown_up():
    error = refused(b"", BY_NAME["Q4_K"], (MAX_ELEMENTS + 256,), "f: 'a'")
    assert error.message == "f: 'a': Q4_K: expected at most 16,777,216 elements to dequantize, found 16,777,472"


def test_without_the_package_the_message_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "gguf", None)
    error = refused(bytes(34), BY_NAME["Q8_0"], (32,), "f: 'output_norm.weight'")
    assert error.message == (
        "f: 'output_norm.weight': Q8_0: expected the gguf package, which dequantizes it, found it is not installed"
    )
    assert error.hint == 'pip install "ln-audit[gguf]"'


def test_what_is_promised_to_be_dequantized_is(monkeypatch):
    needs_gguf()
    for name in DEQUANTIZED:
        kind = BY_NAME[name]
        assert len(dequantized(bytes(kind.nbytes), kind, (kind.block,), "f: 'a'")) == 4 * kind.block
    assert readable(big_endian=False) == DEQUANTIZED
    assert readable(big_endian=True) == frozenset()
    monkeypatch.setattr("ln_audit.formats.gguf_quants.find_spec", lambda name: None)
    assert readable(big_endian=False) == frozenset()
