"""From the files that a commit changes to the targets to verify: a shard, an index and a config stand for their model.

`verify path/to/shard` takes a shard for a whole model, and fails. Here each changed file becomes the target that covers it:
the folder where the folder's loader would read the file, else the file itself. What cannot be told is a target all the same:
its verdict will be "incomplete", never a pass.
"""

from __future__ import annotations

import os
import posixpath
import re
from typing import TYPE_CHECKING

from ln_audit.errors import AuditError
from ln_audit.formats import FORMATS, SUFFIXES, find_artifacts, npy_folder, tf_bundle
from ln_audit.formats.assembly import INDEX_SUFFIX, read_index
from ln_audit.formats.config import FILE, MAX_CONFIG, OTHERS
from ln_audit.formats.unread import holds_weights
from ln_audit.hooks.data import UNREAD, beginning, is_data
from ln_audit.sources import local
from ln_audit.sources.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_SHARD = re.compile(r"-\d{5}-of-\d{5}(?=\.)")
_GGUF_PART = re.compile(r"-\d{5}(-of-\d{5}\.gguf)$")
_OUTSIDE = re.compile(r"(?<=\.onnx)[._]data$", re.IGNORECASE)  # of an ONNX file whose tensors lie beside it
_BUNDLED = re.compile(r"\.data-\d{5}-of-\d{5}$")  # of a TensorFlow checkpoint, beside its index
_WEIGHTS = tuple(
    suffix for each in FORMATS if each.NAME not in ("npz", "npy", "tensorflow") for suffix in each.SUFFIXES
)
_A_MODELS = (b'"model_type"', b'"architectures"')  # keys of a config.json that is a model's


def targets(files: Iterable[str]) -> tuple[str, ...]:
    """The targets that cover all these files, each once; files that belong to no checkpoint have none.

    Every target is a path and nothing else: a folder called like a model, or like `sample`, stays a folder.
    """
    return tuple(dict.fromkeys(local.only_path(target) for file in files for target in _of(posixpath.normpath(file))))


def of_checkpoint(file: str) -> bool:
    """Whether a file, which may be gone, is of a checkpoint by its name: weights of any format, an index, or a config."""
    name = posixpath.basename(file).lower()
    return (
        name in (FILE, *OTHERS)
        or name.endswith((*SUFFIXES, *UNREAD, INDEX_SUFFIX))
        or (_OUTSIDE.search(name) or _BUNDLED.search(name)) is not None
    )


def _of(file: str) -> Iterator[str]:
    folder, name = posixpath.split(file)
    if name.lower() in (FILE, *OTHERS):
        if _is_models(folder, file):
            yield folder or "."
    elif _BUNDLED.search(name):
        yield _BUNDLED.sub(tf_bundle.SUFFIXES[0], file)
    elif holds_weights(name) and not is_data(file):
        yield _covering(folder, name)


def _covering(folder: str, name: str) -> str:
    """The folder, if its loader reads the file; else the file, or the one that stands for it."""
    if name.lower().endswith(npy_folder.SUFFIXES):  # one array of many
        return folder or "."
    name = _GGUF_PART.sub(r"-00001\1", _OUTSIDE.sub("", name))
    index = f"{_SHARD.sub('', name)}{INDEX_SUFFIX}"
    read = _read_with(folder)
    if name in read or (index in read and _SHARD.search(name)):
        return folder or "."
    if _SHARD.search(name) and not name.endswith(".gguf"):
        beside = posixpath.join(folder, index)
        return beside if os.path.lexists(beside) else folder or "." if not read else posixpath.join(folder, name)
    return posixpath.join(folder, name)


def _read_with(folder: str) -> frozenset[str]:
    """The files that a loader of the folder reads; none where that cannot be told, or where it holds several models."""
    try:
        source = local.open_source(local.only_path(folder or "."), Settings(offline=True))
        artifact, *others = find_artifacts(source)
        if others:
            return frozenset()
        shards = read_index(source, artifact.file).weight_map.values() if artifact.file.endswith(INDEX_SUFFIX) else ()
    except AuditError:
        return frozenset()
    return frozenset((artifact.file, *shards))


def has_weights(folder: str) -> bool:
    """Whether a file of the folder is a checkpoint's by its name."""
    try:
        names = os.listdir(folder or ".")  # noqa: PTH208
    except OSError:
        return False
    return any(name.lower().endswith((*_WEIGHTS, INDEX_SUFFIX)) and holds_weights(name) for name in names)


def _is_models(folder: str, file: str) -> bool:
    """Whether a config.json is a model's: weights lie beside it, or its own keys say so. Every other program has one too."""
    if has_weights(folder):
        return True
    data = beginning(file, MAX_CONFIG)
    return data is None or any(key in data for key in _A_MODELS)
