import random
import struct
import time
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from ln_audit.core import Range
from ln_audit.errors import FormatError, UnsupportedError
from ln_audit.formats import hdf5
from ln_audit.formats.hdf5 import Contents, Dataset, read_contents
from tests.formats.hdf5_writer import Writer
from tests.formats.hdf5_writer import hdf5 as written

TREE: dict[str, Any] = {
    "layers": {
        "ln": {"vars": {"0": np.linspace(0.5, 2, 6, dtype=np.float32), "1": np.ones((2, 3), ">f2")}},
        "dense": {"vars": {"0": np.arange(6, dtype=np.int64).reshape(2, 3)}},
    },
    "half": np.array([1.5, -0.0], ml_dtypes.bfloat16),
    "mask": np.array([True, False]),
    "scalar": np.array(2.25),
    "nothing": np.zeros((3, 0), np.float32),
}
TEXTS = {"": {"model_config": '{"a": 1}'}, "layers/ln/vars": {"name": "ln_f"}, "half": {"dtype": "bfloat16"}}
DATA = written(TREE, TEXTS)


def _read(data: bytes) -> Contents:
    return read_contents(lambda begin, end: data[begin:end], len(data), "m.h5")


def test_groups_arrays_and_attributes_are_read():
    contents = _read(DATA)
    found = {path: (held.dtype, held.big_endian, held.shape) for path, held in contents.datasets.items()}
    assert found == {
        "half": ("V2", False, (2,)),
        "layers/dense/vars/0": ("I64", False, (2, 3)),
        "layers/ln/vars/0": ("F32", False, (6,)),
        "layers/ln/vars/1": ("F16", True, (2, 3)),
        "mask": ("BOOL", False, (2,)),
        "nothing": ("F32", False, (3, 0)),
        "scalar": ("F64", False, ()),
    }
    assert contents.attributes == TEXTS
    gain = TREE["layers"]["ln"]["vars"]["0"]
    assert DATA[slice(*contents.datasets["layers/ln/vars/0"].range)] == gain.tobytes()


@pytest.mark.parametrize("per_table", [1, 2, 100])
def test_a_large_group_has_many_tables(per_table):
    names = [f"layer_{i}" for i in range(150)]
    data = written({name: np.zeros(1, np.float32) for name in names}, per_table=per_table)
    assert sorted(_read(data).datasets) == sorted(names)


def test_the_numbers_are_not_read():
    data = written({"w": np.zeros(1_000_000, np.float32), "g": np.ones(4, np.float32)})
    read: list[Range] = []

    def read_range(begin: int, end: int) -> bytes:
        read.append(Range(begin, end))
        return data[begin:end]

    contents = read_contents(read_range, len(data), "m.h5")
    assert sum(end - begin for begin, end in read) <= 3 * hdf5.PAGE
    assert contents.datasets["w"] == Dataset("F32", False, (1_000_000,), contents.datasets["w"].range)


def test_a_file_cut_anywhere_is_refused():
    for length in range(len(DATA)):
        with pytest.raises(FormatError):
            _read(DATA[:length])


def test_bytes_behind_the_end_are_refused():
    with pytest.raises(
        FormatError, match=r"(?m)^m.h5: size: expected [\d,]+ bytes as it says, found [\d,]+$"
    ) as caught:
        _read(DATA + b"\0")
    assert caught.value.hint == "something was appended to it"


def test_changed_bytes_are_read_or_refused_and_soon():
    """The HDF5 library itself runs for ever on some such file among the first hundred."""
    outcomes = {"read": 0, "refused": 0}
    begin = time.monotonic()
    for seed in range(3_000):
        rng = random.Random(seed)
        damaged = bytearray(DATA)
        for _ in range(rng.choice([1, 2, 4])):
            position = rng.randrange(len(damaged))
            damaged[position] = rng.choice([0, 1, 0x7F, 0xFF, damaged[position] ^ 1 << rng.randrange(8)])
        try:
            _read(bytes(damaged))
            outcomes["read"] += 1
        except FormatError:
            outcomes["refused"] += 1
    assert min(outcomes.values()) > 100, outcomes
    assert time.monotonic() - begin < 30


def _patched(position: int, value: bytes) -> bytes:
    return DATA[:position] + value + DATA[position + len(value) :]


@pytest.mark.parametrize(
    ("data", "found"),
    [
        (b"\x89HDF\r\n\x1a\n" + bytes(50), "byte 0: expected an HDF5 superblock, found"),
        (_patched(8, b"\2"), "expected an HDF5 file of the first version, found version 2"),
        (_patched(64, bytes(8)), "'/': expected an object header of version 1, found version 137"),
        (
            _patched(64, b"\xff" * 8),
            "byte 18,446,744,073,709,551,615: expected the header of m.h5: '/', found the file's end",
        ),
    ],
)
def test_what_is_no_such_file_is_called_what_it_is(data, found):
    with pytest.raises(FormatError) as caught:
        _read(data)
    assert caught.value.message.startswith(f"m.h5: {found}")


def test_a_group_inside_itself_is_refused():
    tables = [at for at in range(len(DATA)) if DATA.startswith(b"SNOD", at)]
    assert len(tables) == 6
    for at in tables:
        looped = _patched(at + 16, DATA[64:72])  # the first link of each group leads to the root
        with pytest.raises(UnsupportedError, match="expected one name for each object, found a second for byte "):
            _read(looped)


def _dataset(layout: bytes, *more: tuple[int, bytes]) -> bytes:
    writer = Writer()
    space, kind = struct.pack("<BBB5xQ", 1, 1, 0, 4), b"\x11\x20\x1f\x00\x04\0\0\0\0\0\x20\0\x17\x08\0\x17\x7f\0\0\0"
    address = writer.header([(1, space), (3, kind), (8, layout), *more])
    names = writer.put(bytes(8) + b"w\0\0\0\0\0\0\0")
    heap = writer.put(struct.pack("<4sB3xQQQ", b"HEAP", 0, 16, 0, names))
    table = writer.put(struct.pack("<4sBxH", b"SNOD", 1, 1) + struct.pack("<QQIxxxx16x", 8, address, 0))
    tree = writer.put(struct.pack("<4sBBHQQQQQ", b"TREE", 0, 0, 1, 0, 0, 0, table, 0))
    return writer.finish(writer.header([(0x11, struct.pack("<QQ", tree, heap))]))


@pytest.mark.parametrize(
    ("layout", "more", "found"),
    [
        (
            struct.pack("<BBH", 3, 0, 16) + bytes(16),
            (),
            "expected its numbers in one piece, found them inside its header",
        ),
        (struct.pack("<BBBQ", 3, 2, 2, 0), (), "expected its numbers in one piece, found them in chunks"),
        (struct.pack("<BBQI", 4, 3, 0, 0), (), "expected its numbers in one piece, found them in other files"),
        (
            struct.pack("<BBQQ", 3, 1, 96, 16),
            ((7, bytes(32)),),
            "expected its numbers in this file, found them in another",
        ),
        (struct.pack("<BBQQ", 3, 1, 96, 12), (), "expected 16 bytes for F32 [4], found 12 at 96"),
        (
            struct.pack("<BBQQ", 3, 1, 2**63, 16),
            (),
            "expected 16 bytes for F32 [4], found 16 at 9,223,372,036,854,775,808",
        ),
        (struct.pack("<BBQQ", 3, 1, 2**64 - 1, 16), (), "expected 16 bytes for F32 [4], found 0 at 0"),
        (struct.pack("<BBQQ", 1, 1, 96, 16), (), "expected a layout of version 3 or 4, found version 1, class 1"),
    ],
)
def test_numbers_anywhere_else_than_in_one_piece_of_this_file_are_refused(layout, more, found):
    with pytest.raises(FormatError) as caught:
        _read(_dataset(layout, *more))
    assert caught.value.message == f"m.h5: 'w': {found}"


def test_one_piece_of_this_file_is_read():
    assert _read(_dataset(struct.pack("<BBQQ", 3, 1, 96, 16))).datasets["w"].range == Range(96, 112)


def test_links_to_elsewhere_are_refused():
    entry = DATA.index(b"SNOD") + 8
    with pytest.raises(UnsupportedError, match="expected links inside the file, found another$"):
        _read(_patched(entry + 16, b"\2"))


def test_a_tree_that_holds_itself_is_refused():
    tree = DATA.rindex(b"TREE")
    with pytest.raises(FormatError, match="expected a group's tree, found one node twice$"):
        _read(_patched(tree + 32, struct.pack("<Q", tree)))


@pytest.mark.parametrize(("limit", "value"), [("MAX_STEPS", 5), ("MAX_OBJECTS", 3), ("MAX_TEXT", 5)])
def test_what_would_take_long_or_much_memory_is_refused(monkeypatch, limit, value):
    monkeypatch.setattr(hdf5, limit, value)
    with pytest.raises(UnsupportedError):
        _read(DATA)


def test_files_of_h5py_are_read_the_same(tmp_path):
    h5py = pytest.importorskip("h5py", reason="needs h5py to write with")
    with h5py.File(tmp_path / "m.h5", "w") as file:
        file.attrs["model_config"] = '{"a": 1}'
        for path, values in (("layers/ln/vars/0", TREE["layers"]["ln"]["vars"]["0"]), ("half", TREE["half"])):
            file[path] = values
        for i in range(300):
            file[f"many/{i}"] = np.float32(i)
        file["half"].attrs["dtype"] = "bfloat16"
        file["layers/ln/vars"].attrs["name"] = "ln_f"
        file["words"] = "text"
        file.create_dataset("mask", data=np.array([True]))
        offsets = {path: file[path].id.get_offset() for path in ("half", "layers/ln/vars/0", "many/299")}
    contents = _read((tmp_path / "m.h5").read_bytes())
    assert len(contents.datasets) == 304
    assert {path: contents.datasets[path].range.begin for path in offsets} == offsets
    assert contents.attributes == TEXTS
    assert (contents.datasets["words"].dtype, contents.datasets["mask"].dtype) == (None, "BOOL")


@pytest.mark.parametrize("options", [{"libver": "latest"}, {"track_order": True}])
def test_later_versions_that_h5py_can_write_are_refused_with_the_way_out(tmp_path, options):
    h5py = pytest.importorskip("h5py", reason="needs h5py to write with")
    with h5py.File(tmp_path / "m.h5", "w", **options) as file:
        file["a/b"] = np.ones(3)
    with pytest.raises(UnsupportedError):
        _read((tmp_path / "m.h5").read_bytes())


def test_a_compressed_dataset_of_h5py_is_refused(tmp_path):
    h5py = pytest.importorskip("h5py", reason="needs h5py to write with")
    with h5py.File(tmp_path / "m.h5", "w") as file:
        file.create_dataset("w", data=np.ones(300), compression="gzip")
    with pytest.raises(
        UnsupportedError, match="(?m)^m.h5: 'w': expected its numbers in one piece, found them in chunks$"
    ):
        _read((tmp_path / "m.h5").read_bytes())
