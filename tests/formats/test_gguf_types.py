from __future__ import annotations

import pytest

from ln_audit.formats.dtypes import DTYPES
from ln_audit.formats.gguf_types import REMOVED, TYPES, GgmlType


def test_plain_types_are_those_of_safetensors_with_the_same_width():
    plain = {kind.name: kind.nbytes * 8 for kind in TYPES.values() if kind.plain}
    assert plain == {name: DTYPES[name].bits for name in ("F32", "F16", "BF16", "F64", "I8", "I16", "I32", "I64")}


def test_no_quantized_type_can_be_taken_for_a_dtype():
    assert not {kind.name for kind in TYPES.values() if not kind.plain} & DTYPES.keys()


def test_removed_types_are_not_read():
    assert not REMOVED.keys() & TYPES.keys()


def test_the_table_is_that_of_the_gguf_package():
    constants = pytest.importorskip("gguf.constants", reason="the gguf package is not installed")
    theirs = {
        int(kind): GgmlType(kind.name, block, nbytes) for kind, (block, nbytes) in constants.GGML_QUANT_SIZES.items()
    }
    assert {number: kind for number, kind in TYPES.items() if number in theirs} == theirs
    assert theirs.keys() <= TYPES.keys()
