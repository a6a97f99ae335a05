from __future__ import annotations

import zipfile

import numpy as np
import pytest

from ln_audit.errors import FormatError, UnsupportedError
from ln_audit.formats.torch_archive import MAX_UNPACKED, recognises
from ln_audit.formats.torch_pickle import read_checkpoint
from tests.formats.memory_source import MemorySource
from tests.formats.torch_files import Tensor, Writer, archive, save

BASE = np.arange(24, dtype=np.float32)
VALUE = {"a.b": Tensor("0", BASE, 2, (2, 3), (6, 1)), "c.d": Tensor("1", np.arange(5.0), 0, (5,), (1,))}
PICKLE = Writer().pickle(VALUE)
MEMBERS = {"m/data.pkl": PICKLE, "m/data/0": BASE.tobytes(), "m/data/1": np.arange(5.0).tobytes(), "m/version": b"3\n"}


def refusal(data: bytes) -> FormatError:
    with pytest.raises(FormatError) as caught:
        read_checkpoint(MemorySource({"f": data}), "f").read(["a.b", "c.d"])
    return caught.value


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_tensors_are_read_from_their_members(method):
    checkpoint = read_checkpoint(MemorySource({"f": archive(MEMBERS, method)}), "f")
    stored = checkpoint.read(["c.d", "a.b"])
    assert np.frombuffer(stored["a.b"].data, "<f4").tolist() == [2, 3, 4, 8, 9, 10]
    assert np.frombuffer(stored["c.d"].data, "<f8").tolist() == [0, 1, 2, 3, 4]


def test_only_the_storages_asked_for_are_read():
    big = np.zeros(200_000, np.float32)
    value = {"first.b": Tensor("2", big, 0, (200_000,), (1,)), **VALUE, "last.b": Tensor("3", big, 0, (200_000,), (1,))}
    source = MemorySource({"f": save(value)})
    checkpoint = read_checkpoint(source, "f")
    asked = sum(end - begin for _, ranges in source.reads for begin, end in ranges)
    assert asked < 140_000  # the beginning, and the end with the directory
    before = len(source.reads)
    checkpoint.read(["a.b", "c.d"])
    headers, data = (ranges for _, ranges in source.reads[before:])
    assert [end - begin for begin, end in headers] == [30 + len("model/data/0")] * 2
    assert [end - begin for begin, end in data] == [9 * 4, 5 * 8]


def test_a_big_endian_file_is_turned_and_another_order_refused():
    arrays = {"a.b": Tensor("0", BASE.astype(">f4"), 2, (2, 3), (6, 1))}
    stored = read_checkpoint(MemorySource({"f": save(arrays, byteorder=b"big")}), "f").read(["a.b"])["a.b"]
    assert np.frombuffer(stored.data, "<f4").tolist() == [2, 3, 4, 8, 9, 10]
    assert refusal(save(VALUE, byteorder=b"middle")).message == "f: byteorder: expected little or big, found b'middle'"
    long = "f: 'model/byteorder': expected at most 64 bytes, found 1,000,000"
    assert refusal(save(VALUE, byteorder=bytes(10**6))).message == long


def changed(**new: bytes | None) -> bytes:
    """The archive with some members replaced, added, or (None) left out; `__` stands for a slash, `_` for a dot."""
    members = {**MEMBERS, **{name.replace("__", "/").replace("_", "."): content for name, content in new.items()}}
    return archive({name: content for name, content in members.items() if content is not None})


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (changed(m__data_pkl=None), "f: expected one <name>/data.pkl in the archive, found 3 members: 'm/data/0', 'm/data/1', 'm/version'"),
        (changed(x__data_pkl=PICKLE), "f: expected one <name>/data.pkl in the archive, found 2 of them"),
        (archive({"data.pkl": PICKLE}), "f: expected one <name>/data.pkl in the archive, found 1 members: 'data.pkl'"),
        (archive({}), "f: expected a PyTorch file, found an empty zip archive"),
        (changed(m__data__0=None), "f: storage '0': expected 96 bytes in 'm/data/0', found no such member"),
        (changed(m__data__0=bytes(95)), "f: storage '0': expected 96 bytes in 'm/data/0', found 95"),
        (changed(m__data__1=bytes(41)), "f: storage '1': expected 40 bytes in 'm/data/1', found 41"),
        (changed(m__data_pkl=PICKLE + b"."), f"f: data.pkl byte {len(PICKLE)}: expected the pickle's end at the end of data.pkl, found 1 bytes more"),
        (changed(m__data_pkl=PICKLE[:-1]), f"f: data.pkl byte {len(PICKLE) - 1}: expected one more byte, found the end after 0"),
        (changed(m__version=None), "f: version: expected 1 to 10 of the format, found b'none'"),
        (changed(m__version=b"11\n"), "f: version: expected 1 to 10 of the format, found b'11'"),
        (changed(m__data_pkl=b""), "f: data.pkl byte 0: expected one more byte, found the end after 0"),
    ],
)  # fmt: skip
def test_an_archive_that_torch_did_not_write_is_refused(data, message):
    assert refusal(data).message == message


def test_a_torchscript_archive_is_refused_with_the_way_out():
    for extra in ("m/constants.pkl", "m/code/__torch__.py"):
        error = refusal(archive({**MEMBERS, extra: b"import os"}))
        assert isinstance(error, UnsupportedError)
        assert error.message == "f: expected a state dict, found a TorchScript program with its weights"
        assert error.hint.startswith("save `torch.jit.load(FILE).state_dict()` instead")


def test_a_storage_key_that_leads_out_of_the_archive_finds_nothing():
    value = {"a.b": Tensor("../../../etc/passwd", BASE, 0, (24,), (1,))}
    pickle = Writer().pickle(value)
    assert refusal(archive({"m/data.pkl": pickle, "m/version": b"3"})).message == (
        "f: storage '../../../etc/passwd': expected 96 bytes in 'm/data/../../../etc/passwd', found no such member"
    )


def test_a_deflated_bomb_is_refused_before_it_is_unpacked():
    pickle_bomb = archive({"m/data.pkl": b"N" * 10**8}, zipfile.ZIP_DEFLATED)
    assert refusal(pickle_bomb).message == "f: 'm/data.pkl': expected at most 24,000,000 bytes, found 100,000,000"
    size = MAX_UNPACKED // 4 + 1
    value = {"a.b": Tensor("0", np.zeros(size, np.float32), 0, (6,), (1,)), "c.d": VALUE["c.d"]}
    writer = Writer()
    members = {"m/data.pkl": writer.pickle(value), **{f"m/data/{k}": v.tobytes() for k, v in writer.storages.items()}}
    members["m/version"] = b"3"
    message = "f: 'm/data/0': expected at most 67,108,864 bytes to unpack at a time, found 67,108,868 in 2 members"
    assert refusal(archive(members, zipfile.ZIP_DEFLATED)).message == message


def test_its_beginning_is_recognised():
    assert recognises(save(VALUE)[:512])
    assert not recognises(archive({"weights.npy": b"x"})[:512])
    assert not recognises(b"PK\3\4")
    assert read_checkpoint(MemorySource({"f": save(VALUE)}), "f").tensors["a.b"].shape == (2, 3)
