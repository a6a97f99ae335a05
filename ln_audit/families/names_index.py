"""Which tables of names there are, and the one that a checkpoint needs: each is read once, and most checkpoints need none.

`data/names/index.json` is generated, and says which file to read; see `names_table.py` for what they hold.
"""

from __future__ import annotations

import json
import tomllib
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Container as Holding
    from collections.abc import Mapping

    from ln_audit.families.names_table import Container, Layout, Names

DATA = Path(__file__).with_name("data") / "names"
_SAME = {"npy": "npz"}  # an unpacked archive
_NOTHING: Mapping[str, Any] = MappingProxyType({})


@lru_cache(maxsize=1)
def index() -> Mapping[str, Any]:
    """`gguf`: architecture → family; `layouts`: what tells each; `families`: family → the first architecture that is it."""
    loaded: Mapping[str, Any] = json.loads((DATA / "index.json").read_text(encoding="utf-8"))
    return loaded


@lru_cache(maxsize=8)
def container(format_: str) -> Container | None:
    """The table of a format, None where names are the Hub's."""
    path = DATA / f"{_SAME.get(format_, format_)}.toml"
    if not path.exists():
        return None
    from ln_audit.families.names_table import of_format

    return of_format(_table(path))


def of_architecture(format_: str, architecture: str, tensors: Holding[str] = ()) -> Names | None:
    """The names of one architecture of a format, None where we know none. Its keys carry the architecture in front.

    Some have variants, told by a tensor that the others lack.
    """
    if architecture not in index().get(format_, _NOTHING):
        return None
    variants = index().get("variants", _NOTHING).get(format_, _NOTHING).get(architecture, ())
    return _of_file(format_, next((file for there, file in variants if there in tensors), architecture))


@lru_cache(maxsize=16)
def _of_file(format_: str, file: str) -> Names:
    from ln_audit.families.names_table import names

    rows = _table(DATA / format_ / f"{file}.toml")
    return names(rows, f"{rows['architecture']}.")


@lru_cache(maxsize=8)
def layout(name: str) -> Layout:
    """The table of a layout."""
    from ln_audit.families.names_table import of_layout

    return of_layout(name, _table(DATA / "layouts" / f"{name}.toml"))


def _table(path: Path) -> dict[str, Any]:
    return tomllib.loads(path.read_text(encoding="utf-8"))
