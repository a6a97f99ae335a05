"""The gadgets of the pickle literature. Each that can run a command is shown to do so with Python's own pickle first.

Sources: Slaviero, Sour Pickles (Black Hat 2011); trailofbits/fickling; mmaitre314/picklescan; CVE-2024-5480 and kin.
"""

from __future__ import annotations

import copyreg
import os
import pickle
import struct
import time
import tracemalloc
from contextlib import suppress
from typing import TYPE_CHECKING

import pytest

from ln_audit.errors import FormatError
from ln_audit.formats.torch_pickle import read_checkpoint, read_tensors
from tests.formats.memory_source import MemorySource
from tests.formats.torch_files import Raw, Writer, archive, save_legacy

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path


def text(value: str) -> bytes:
    return b"X" + struct.pack("<I", len(value.encode())) + value.encode()


def called(name: str, *arguments: bytes) -> bytes:
    """GLOBAL and REDUCE."""
    module, _, attribute = name.rpartition(".")
    return f"c{module}\n{attribute}\n(".encode() + b"".join(arguments) + b"tR"


def python(command: str) -> str:
    return f"__import__('os').system({command!r})"


IMPORT_OS = called("builtins.__import__", text("os"))

# What runs a command, by the name that it is refused by: command → opcodes without STOP.
RUNNING: dict[str, tuple[str, Callable[[str], bytes]]] = {
    "REDUCE": ("os.system", lambda c: called("os.system", text(c))),
    "REDUCE by the system's own name": (f"{os.name}.system", lambda c: called(f"{os.name}.system", text(c))),
    "STACK_GLOBAL": ("os.system", lambda c: b"\x80\x04\x8c\x02os\x8c\x06system\x93" + text(c) + b"\x85R"),
    "INST": ("os.system", lambda c: b"(" + text(c) + b"ios\nsystem\n"),
    "OBJ": ("os.system", lambda c: b"(cos\nsystem\n" + text(c) + b"o"),
    "BUILD": (
        "argparse.Namespace",
        lambda c: b"cargparse\nNamespace\n)R}" + text("__setstate__") + b"cos\nsystem\nsb" + text(c) + b"b",
    ),
    "EXT1": ("extension code 240", lambda c: b"\x82\xf0" + text(c) + b"\x85R"),
    "EXT2": ("extension code 4660", lambda c: b"\x83\x34\x12" + text(c) + b"\x85R"),
    "EXT4": ("extension code 305419896", lambda c: b"\x84\x78\x56\x34\x12" + text(c) + b"\x85R"),
    "eval": ("builtins.eval", lambda c: called("builtins.eval", text(python(c)))),
    "exec": ("builtins.exec", lambda c: called("builtins.exec", text(python(c)))),
    "Python 2's eval": ("builtins.eval", lambda c: called("__builtin__.eval", text(python(c)))),
    "getattr of an import": (
        "builtins.getattr",
        lambda c: called("builtins.getattr", IMPORT_OS, text("system")) + text(c) + b"\x85R",
    ),
    "attrgetter": (
        "operator.attrgetter",
        lambda c: called("operator.attrgetter", text("system")) + IMPORT_OS + b"\x85R" + text(c) + b"\x85R",
    ),
    "a dotted name": (
        "os.path.os.system",
        lambda c: b"\x80\x04\x8c\x07os.path\x8c\x09os.system\x93" + text(c) + b"\x85R",
    ),
    "a chain of reduces": (
        "builtins.list",
        lambda c: called("builtins.list", called("builtins.map", b"cos\nsystem\n", b"]" + text(c) + b"a")),
    ),
    "partial": ("functools.partial", lambda c: called("functools.partial", b"cos\nsystem\n", text(c)) + b")R"),
    "subprocess": (
        "subprocess.call",
        lambda c: called("subprocess.call", b"](" + text("sh") + text("-c") + text(c) + b"e"),
    ),
    "runpy": ("runpy._run_code", lambda c: called("runpy._run_code", text(python(c)), b"}")),
    "timeit": ("timeit.timeit", lambda c: called("timeit.timeit", text("1"), text(python(c)))),
    "pydoc": ("pydoc.pipepager", lambda c: called("pydoc.pipepager", text(""), text(c))),
    "bdb": (
        "builtins.getattr",
        lambda c: called("builtins.getattr", b"cbdb\nBdb\n)R", text("run")) + text(python(c)) + b"\x85R",
    ),
    "a hidden one after tensors": (
        "os.system",
        lambda c: b"}(" + text("a.b") + b"N" + text("metadata") + called("os.system", text(c)) + b"u",
    ),
    "one that is dropped again": ("os.system", lambda c: called("os.system", text(c)) + b"0}"),
    "a memoized one": ("os.system", lambda c: b"cos\nsystem\nq\x000h\x00" + text(c) + b"\x85R"),
    "a name of the table as argument": (
        "builtins.map",
        lambda c: (
            b"ccollections\nOrderedDict\n" + called("builtins.map", b"cos\nsystem\n", b"]" + text(c) + b"a") + b"\x85R"
        ),
    ),
}

# What names code in a way that Python's pickle does not run by itself, or only where PyTorch is there.
INERT: dict[str, tuple[str, bytes]] = {
    "NEWOBJ": ("subprocess.Popen", b"csubprocess\nPopen\n(X\x02\0\0\0lst\x81"),
    "NEWOBJ_EX": ("subprocess.Popen", b"csubprocess\nPopen\n)}\x92"),
    "a name that is only mentioned": ("os.system", b"cos\nsystem\n"),
    "torch.load": ("torch.serialization.load", called("torch.serialization.load", text("/tmp/other.pt"))),
    "bytes to be loaded": ("torch.storage._load_from_bytes", called("torch.storage._load_from_bytes", b"C\x01.")),
    "a compiled function": ("torch._inductor.codecache.compile_file", b"ctorch._inductor.codecache\ncompile_file\n"),
    "numpy's loader": ("numpy.load", called("numpy.load", text("/tmp/other.npy"))),
    "a numpy scalar": ("numpy.core.multiarray.scalar", b"cnumpy.core.multiarray\nscalar\n"),
    "a library of C": ("ctypes.CDLL", called("ctypes.CDLL", text("/tmp/evil.so"))),
    "a page": ("webbrowser.open", called("webbrowser.open", text("https://example.org"))),
    "a package": ("pip.main", called("pip.main", b"]")),
    "an attribute of what is known": (
        "torch._utils._rebuild_tensor_v2.__globals__",
        b"\x80\x04\x8c\x0ctorch._utils\x8c\x1e_rebuild_tensor_v2.__globals__\x93",
    ),
    "a name of many lines": ("'os\\nimport.system'", b"\x80\x04\x8c\x09os\nimport\x8c\x06system\x93"),
    "a persistent id of code": ("persistent id", called("collections.OrderedDict") + b"Q"),
    "a persistent id of a class": ("persistent id", b"(" + text("module") + text("os") + text("a.py") + text("import os") + b"tQ"),
    "a persistent id of text": ("persistent id", b"Pos.system\n"),
}  # fmt: skip


def containers(code: bytes) -> Iterator[bytes]:
    """The gadget wherever a file of PyTorch has a pickle, and as a pickle by itself."""
    writer, magic = Writer(), Writer().pickle(0x1950A86A20F9469CFC6C)
    whole = code if code.startswith(b"\x80") else b"\x80\x02" + code
    yield archive({"m/data.pkl": whole + b".", "m/version": b"3\n"})
    yield whole + b"."
    yield magic + whole + b"."
    yield magic + writer.pickle(1001) + whole + b"."
    yield magic + writer.pickle(1001) + writer.pickle({}) + whole + b"."
    yield magic + writer.pickle(1001) + writer.pickle({}) + writer.pickle({}) + whole + b"."
    if not code.startswith(b"\x80"):
        yield code + b"."
        yield save_legacy({"a.b": 1, "c": Raw(code)})


def refusals(code: bytes) -> set[str]:
    """What is said of it in each container, without its place."""
    found = set()
    for data in containers(code):
        for read in (read_checkpoint, lambda source, file: read_tensors(source, file, ["a"])):
            with pytest.raises(FormatError) as caught:
                read(MemorySource({"f.pt": data}), "f.pt")
            found.add(caught.value.message)
    return found


@pytest.fixture
def registered() -> Iterator[None]:
    entries = (("os", "system", 240), (os.name, "system", 0x1234), ("subprocess", "getoutput", 0x12345678))
    for entry in entries:
        copyreg.add_extension(*entry)
    yield
    for entry in entries:
        copyreg.remove_extension(*entry)


@pytest.mark.parametrize("gadget", RUNNING)
def test_a_gadget_that_runs_is_never_run_and_named(gadget, tmp_path: Path, registered):
    name, code = RUNNING[gadget]
    marker = tmp_path / "executed"
    command = f"touch {marker}"
    with suppress(Exception):
        pickle.loads(code(command) + b".")
    assert marker.exists(), "this gadget is none"
    marker.unlink()
    said = refusals(code(command))
    assert not marker.exists()
    assert len(said) == 1
    assert said.pop().startswith(f"f.pt: {name}: expected tensors, found a name ")


@pytest.mark.parametrize("gadget", INERT)
def test_a_name_that_makes_no_tensor_is_refused_by_its_name(gadget):
    name, code = INERT[gadget]
    for said in refusals(code):
        assert f" {name}: expected " in said


def test_the_way_out_is_said():
    with pytest.raises(FormatError) as caught:
        read_checkpoint(MemorySource({"f.pt": b"\x80\x02cos\nsystem\n."}), "f.pt")
    assert caught.value.hint.startswith("nothing of the file was executed")


# Small files that grow: as lists of lists, copies of copies, repeated elements, or only in what they say of themselves.
GROWING = {
    "laughs": b"]q\x00" + b"".join(b"0](h%ch%ceq%c" % (n, n, n + 1) for n in range(250)),
    "laughs in mappings": b"}q\x00" + b"".join(b"0}(Nh%ch%ch%cuq%c" % (n, n, n, n + 1) for n in range(250)),
    "copies of a mapping": b"ccollections\nOrderedDict\nq\x00(" + b"NN\x86" * 60_000 + b"lq\x010" + b"h\0h\1\x85R0" * 300_000,
    "a bytearray": b"cbuiltins\nbytearray\n\x8a\x08\xff\xff\xff\xff\xff\xff\xff\x0f\x85R",
    "a set": b"cbuiltins\nset\n\x8a\x08\xff\xff\xff\xff\xff\xff\xff\x0f\x85R",
    "a string that is not there": b"X\xff\xff\xff\xff",
    "bytes that are not there": b"\x8e" + b"\xff" * 8,
    "an integer that is not there": b"\x8b\xff\xff\xff\x7f",
    "a frame that is not there": b"\x80\x04\x95" + b"\xff" * 8,
    "digits": b"(L" + b"9" * 4_000 + b"L\n",
    "keys that hash alike": b"}(" + b"".join(b"\x8a\x0a" + (k * (2**61 - 1)).to_bytes(10, "little") + b"N" for k in range(100_000)) + b"u",
    "keys that take for ever to hash": b"}N\x85" + b"2\x86" * 100 + b"Ns",
}  # fmt: skip


@pytest.mark.parametrize("bomb", GROWING)
def test_a_growing_pickle_is_refused_in_little_time_and_memory(bomb):
    for data in containers(GROWING[bomb]):
        begin = time.perf_counter()
        with pytest.raises(FormatError):
            read_checkpoint(MemorySource({"f.pt": data}), "f.pt")
        assert time.perf_counter() - begin < 5
    source = MemorySource({"f.pt": next(containers(GROWING[bomb]))})
    tracemalloc.start()
    try:
        with pytest.raises(FormatError):
            read_checkpoint(source, "f.pt")
        assert tracemalloc.get_traced_memory()[1] < 150e6
    finally:
        tracemalloc.stop()
