from __future__ import annotations

import struct

import numpy as np
import pytest

from ln_audit.core import Range
from ln_audit.errors import FormatError, UnsupportedError
from ln_audit.formats.torch_legacy import MAGIC, recognises
from ln_audit.formats.torch_pickle import PREFETCH, read_checkpoint
from tests.formats.memory_source import MemorySource
from tests.formats.torch_files import Raw, Tensor, Writer, save, save_legacy, tensors

BASE = np.arange(24, dtype=np.float32)
VALUE = {"a.b": Tensor("7", BASE, 2, (2, 3), (6, 1)), "c.d": Tensor("3", np.arange(5, dtype=np.int64), 0, (5,), (1,))}
DATA = save_legacy(VALUE)
STORAGES = len(DATA) - (8 + 5 * 8) - (8 + 24 * 4)  # where they begin: "3", then "7"


def refusal(data: bytes) -> FormatError:
    with pytest.raises(FormatError) as caught:
        read_checkpoint(MemorySource({"f": data}), "f").read(["a.b"])
    return caught.value


def pickles(*values: object) -> bytes:
    writer = Writer(legacy=True)
    return b"".join(writer.pickle(value) for value in values)


def test_tensors_are_read_by_range_with_the_count_before_their_storage():
    source = MemorySource({"f": DATA})
    checkpoint = read_checkpoint(source, "f")
    stored = checkpoint.read(["a.b"])["a.b"]
    assert np.frombuffer(stored.data, "<f4").tolist() == [2, 3, 4, 8, 9, 10]
    data = STORAGES + 48 + 8
    assert source.reads == [
        ("f", (Range(0, PREFETCH),)),
        ("f", (Range(data - 8, data), Range(data + 8, data + 8 + 9 * 4))),
    ]


def test_a_pickle_longer_than_the_prefetch_is_brought_in_growing_pieces():
    arrays = {f"layer.{number}.weight": np.full(1, number, np.float32) for number in range(3_000)}
    data = save_legacy(tensors(arrays))
    source = MemorySource({"f": data})
    checkpoint = read_checkpoint(source, "f")
    asked = [ranges for _, (ranges,) in source.reads]
    assert asked == [Range(0, PREFETCH), Range(PREFETCH, 4 * PREFETCH), Range(4 * PREFETCH, len(data))]
    assert {name: np.frombuffer(value.data, "<f4")[0] for name, value in checkpoint.read(list(arrays)).items()} == {
        name: value[0] for name, value in arrays.items()
    }


def test_it_is_recognised_by_its_magic_number_in_every_protocol():
    import pickle

    assert all(recognises(pickle.dumps(MAGIC, protocol)) for protocol in range(6))
    assert not recognises(pickle.dumps(MAGIC + 1, 2))
    assert not recognises(save({}))


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (pickles({"a.b": 1}), "f: magic number: expected 119547037146038801333356, found a mapping"),
        (pickles(True), "f: magic number: expected 119547037146038801333356, found True"),
        (pickles(MAGIC, 1002), "f: protocol version: expected 1001, found 1002"),
        (pickles(MAGIC, 1001, []), "f: expected facts of the writer's system, found a list"),
        (pickles(MAGIC, 1001, {}, {"a.b": 1}, ()), "f: expected the keys of the storages, found a tuple"),
        (pickles(MAGIC, 1001, {}, VALUE, ["3"]), "f: storage keys: expected '7' among them, found 1 others"),
        (pickles(MAGIC, 1001, {}, VALUE, ["3", "3"]), "f: storage keys: expected each storage of the object once, found '3'"),
        (pickles(MAGIC, 1001, {}, VALUE, ["3", "8"]), "f: storage keys: expected each storage of the object once, found '8'"),
        (pickles(MAGIC, 1001, {}, VALUE, ["3", 7]), "f: storage keys: expected each storage of the object once, found 7"),
        (DATA[:-1], f"f: size: expected {len(DATA):,} bytes as its storages say, found {len(DATA) - 1:,}"),
        (DATA + b"\0", f"f: size: expected {len(DATA):,} bytes as its storages say, found {len(DATA) + 1:,}"),
    ],
)  # fmt: skip
def test_what_is_not_as_torch_writes_it_is_refused(data, message):
    assert refusal(data).message == message


def test_a_count_that_contradicts_the_pickle_is_refused_when_its_storage_is_read():
    damaged = bytearray(DATA)
    damaged[STORAGES + 48 : STORAGES + 56] = struct.pack("<q", 25)
    assert refusal(bytes(damaged)).message == "f: storage '7': expected 24 elements, found 25"


def test_a_file_cut_at_any_length_is_refused():
    for length in range(len(DATA)):
        refusal(DATA[:length])


def test_a_tar_archive_of_the_first_pytorch_is_named():
    error = refusal(b"sys_info".ljust(257, b"\0") + b"ustar\x0000".ljust(255, b"\0"))
    assert isinstance(error, UnsupportedError)
    assert error.message == "f: expected a zip archive or a pickle of PyTorch, found a tar archive (PyTorch 0.1)"


def test_a_view_of_a_storage_in_another_is_read_at_its_place():
    inner = Raw(
        Writer(legacy=True).value(("storage", Raw(b"ctorch\nFloatStorage\n"), "7", "cpu", 24, ("9", 4, 6))) + b"Q"
    )
    code = Writer().value((inner, 1, (3,), (1,)))
    value = {"x.y": Raw(b"ctorch._utils\n_rebuild_tensor\n" + code + b"R"), **VALUE}
    checkpoint = read_checkpoint(MemorySource({"f": save_legacy(value)}), "f")
    assert np.frombuffer(checkpoint.read(["x.y"])["x.y"].data, "<f4").tolist() == [5, 6, 7]
