from __future__ import annotations

import io
import pickle
import zipfile

import numpy as np
import pytest

from ln_audit.errors import FormatError
from ln_audit.formats import FORMATS
from ln_audit.formats.impostors import identify, placeholder, refuse
from ln_audit.formats.unread import unread_format
from tests.formats.shared import shared

LFS = b"version https://git-lfs.github.com/spec/v1\noid sha256:8890e201\nsize 9932343992\n"


def _zip() -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("data.pkl", b"x")
    return buffer.getvalue()


def _npy() -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, np.zeros(2))
    return buffer.getvalue()


@pytest.mark.parametrize(
    ("data", "what", "stands_for_a_file"),
    [
        (b"", "an empty file (0 bytes)", True),
        (LFS, "a Git LFS pointer to a file of 9,932,343,992 bytes", True),
        (LFS.split(b"size")[0], "a Git LFS pointer to a file of unknown size", True),
        (b"# xet version 0\nfilesize = 1234\nhash = 'ab'\n", "a Git Xet pointer to a file of 1,234 bytes", True),
        (b"../../blobs/5934c2a2", "a link written out as text, to '../../blobs/5934c2a2'", True),
        (b"<!DOCTYPE html>\n<html>", "an HTML page", True),
        (b"\xef\xbb\xbf\r\n <HTML lang=en>", "an HTML page", True),
        (b"<?xml version='1.0'?><Error><Code>AccessDenied</Code></Error>", "an XML document", True),
        (b'{"error":"Invalid username or password."}', "a JSON error message", True),
        (b'{\n "model_type": "gpt2"}', "a JSON document", True),
        (b"Entry not found", "an error message: entry not found", True),
        (b"GGUF\x03\0\0\0", "a GGUF file", False),
        (_zip(), "a zip archive (PyTorch, npz and Keras files are)", False),
        (pickle.dumps({}, 2), "a Python pickle (an old PyTorch file)", False),
        (pickle.dumps({}, 4), "a Python pickle", False),
        (_npy(), "a NumPy array", False),
        (b"\x89HDF\r\n\x1a\n", "an HDF5 file (Keras, TensorFlow)", False),
        (b"\x1f\x8b\x08", "a gzip stream", False),
        (bytes(600), "only zero bytes at its beginning", False),
    ],
)
def test_a_file_is_called_what_it_is(data, what, stands_for_a_file):
    found = identify(data, len(data))
    assert found is not None
    assert found.what == what
    assert found.hint
    assert placeholder(data, len(data)) == (found if stands_for_a_file else None)


@pytest.mark.parametrize("data", [b"\x3c\0\0\0\0\0\0\0{}", b"hello", b"\0\0", b"#!/bin/sh\n", b"versions of the model"])
def test_what_is_not_known_is_not_guessed(data):
    assert identify(data, len(data)) is None
    refuse("f", data, len(data), "a safetensors file")  # returns


def test_a_path_is_a_link_only_if_it_is_the_whole_file():
    assert identify(b"/etc/passwd", 4_000_000) is None


def test_a_refusal_names_the_file_both_sides_and_the_way_out():
    with pytest.raises(FormatError) as caught:
        refuse("model.safetensors", LFS, len(LFS), "a safetensors file")
    expected = (
        "model.safetensors: expected a safetensors file, found a Git LFS pointer to a file of 9,932,343,992 bytes"
    )
    assert (caught.value.message, caught.value.hint) == (expected, "run `git lfs pull` to get the file itself")


def test_pointers_that_people_committed_are_all_recognised():
    pointers = [path for path in shared("hostile/lfs-pointers").rglob("*") if path.is_file() and path.suffix != ".json"]
    assert len(pointers) == 13
    for path in pointers:
        data = path.read_bytes()
        size = int(data.rsplit(b"size ", 1)[1])
        found = placeholder(data, len(data))
        assert found is not None
        assert found.what == f"a Git LFS pointer to a file of {size:,} bytes"
        assert any(path.name.endswith(each.SUFFIXES) for each in FORMATS) or unread_format(path.name) is not None
