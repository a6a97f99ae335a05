import numpy as np
import pytest

from ln_audit.core import Range
from ln_audit.errors import FormatError
from ln_audit.formats import npy_folder
from ln_audit.formats.dtypes import array
from tests.formats.memory_source import MemorySource
from tests.formats.test_npy_header import npy

GAIN, BIAS = np.linspace(0.5, 2, 6, dtype=np.float32), np.linspace(-1, 1, 6, dtype=">f2")
FILES = {"m/ln_f/g.npy": npy(GAIN), "m/ln_f/b.npy": npy(BIAS), "m/names.npy": npy(np.array(["a"])), "m/README.md": b"#"}


def test_every_file_of_the_folder_is_a_tensor_named_by_its_path():
    checkpoint = npy_folder.read_checkpoint(MemorySource(FILES), "m/names.npy")
    assert (checkpoint.format, checkpoint.files) == ("npy", ("m/ln_f/b.npy", "m/ln_f/g.npy"))
    stored = checkpoint.read(["ln_f/g", "ln_f/b"])
    assert {name: (s.dtype, array(s).tolist()) for name, s in stored.items()} == {
        "ln_f/g": ("F32", GAIN.tolist()),
        "ln_f/b": ("F16", BIAS.tolist()),
    }


def test_only_the_numbers_that_are_asked_for_are_read():
    source = MemorySource(FILES)
    checkpoint = npy_folder.read_checkpoint(source, "m/names.npy")
    source.reads.clear()
    checkpoint.read(["ln_f/g"])
    assert source.reads == [("m/ln_f/g.npy", (Range(128, 152),))]


class OneFile(MemorySource):
    def files(self):
        return None


def test_a_file_that_the_user_named_stands_alone():
    assert list(npy_folder.read_checkpoint(OneFile(FILES), "m/ln_f/g.npy").tensors) == ["g"]


def test_a_file_cut_anywhere_is_refused():
    data = npy(GAIN)
    for length in range(len(data)):
        with pytest.raises(FormatError):
            npy_folder.read_checkpoint(MemorySource({"g.npy": data[:length]}), "g.npy")


def test_a_folder_without_numbers_is_refused():
    with pytest.raises(FormatError, match="^a.npy: expected arrays of numbers, found none among 1 files$"):
        npy_folder.read_checkpoint(MemorySource({"a.npy": npy(np.array(["a"]))}), "a.npy")


def test_recognises_its_own_beginning():
    assert npy_folder.recognises(npy(GAIN)[:512])
    assert not npy_folder.recognises(b"")
