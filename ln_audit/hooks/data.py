"""Is a changed file a checkpoint, or data under a suffix that is also a checkpoint's? Its content decides, else its name.

What a loader asks for by its name is a checkpoint whatever it holds: it may be damaged. So is what stands for a file that is
still to be fetched, and what cannot be read: its verdict will be "incomplete".
"""

from __future__ import annotations

import os
import posixpath
import re

from ln_audit.errors import AuditError
from ln_audit.families.names import NORM
from ln_audit.formats import FORMATS, Artifact, impostors, read_checkpoint, tf_bundle, torch_pickle
from ln_audit.formats.loader_order import SAYS_CHECKPOINT
from ln_audit.formats.unread import BY_SUFFIX
from ln_audit.sources import local
from ln_audit.sources.settings import Settings

UNREAD = tuple(BY_SUFFIX)  # of checkpoints that this version does not read
_ASKED_FOR = re.compile(rf"{re.escape(torch_pickle.FIRST.removesuffix('.bin'))}[.-]|tf_model\.h5|.*\.weights\.h5")
# What Keras writes into HDF5 files, where names stand as they are: each long enough not to occur among numbers by chance.
_KERAS = re.compile(
    rb"keras_version|layer_names|weight_names|model_config|_layer_checkpoint_dependencies|layer_normalization|vars\0\0\0\0"
)
_PIECE, _OVERLAP = 2**22, 64


def is_data(file: str) -> bool:
    """Whether a file, by whatever suffix, is no checkpoint; False where that cannot be told."""
    name = posixpath.basename(file).lower()
    suffix = posixpath.splitext(name)[1]
    prefix = beginning(file, impostors.SNIFFED)
    if _ASKED_FOR.match(name) or any(name == each.FIRST for each in FORMATS) or prefix is None:
        return False
    if impostors.placeholder(prefix, len(prefix)) is not None:
        return False
    if suffix == ".bin":
        return not torch_pickle.recognises(prefix)
    if suffix in (".h5", ".hdf5"):
        return not _says_keras(file)
    if suffix == ".npz":
        return not _names_a_norm(file)
    if suffix == ".npy":
        return NORM.search(posixpath.splitext(name)[0]) is None
    if suffix == ".index":
        return not tf_bundle.recognises(prefix)
    return suffix in UNREAD and SAYS_CHECKPOINT.search(name) is None


def beginning(file: str, at_most: int) -> bytes | None:
    """The first bytes; None where there is no such file, or it cannot be read."""
    try:
        if not os.path.isfile(file):  # noqa: PTH113 - of a pipe nothing may ever come
            return None
        with open(file, "rb") as opened:  # noqa: PTH123 - a name that is no path has none
            return opened.read(at_most)
    except (OSError, ValueError):
        return None


def _says_keras(file: str) -> bool:
    """Whether an HDF5 file has a name in it that Keras gives; a file that cannot be read to its end may have."""
    tail = b""
    try:
        with open(file, "rb") as opened:  # noqa: PTH123
            while piece := opened.read(_PIECE):
                if _KERAS.search(tail + piece):
                    return True
                tail = piece[-_OVERLAP:]
    except OSError:
        return True
    return False


def _names_a_norm(file: str) -> bool:
    """Whether an array of the archive is called like a norm's; what is no archive may have had one."""
    path = local.only_path(file)
    try:
        source = local.open_source(path, Settings(offline=True))
        names = read_checkpoint(source, Artifact("npz", source.entry or path)).tensors
    except AuditError:
        return True
    return any(NORM.search(name) for name in names)
