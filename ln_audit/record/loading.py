"""A target as transformers loads it: from a folder or the Hub, pinned to one commit, and never running its code."""

from __future__ import annotations

import os
import posixpath
import warnings
from collections.abc import Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ln_audit.errors import RecordingError, UsageError
from ln_audit.printable import first_line
from ln_audit.sources import open_source
from ln_audit.sources.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ln_audit.demand import Demand

# What transformers, tokenizers and torch raise for a model that they cannot load or run.
FAULTS = (OSError, ValueError, RuntimeError, LookupError, TypeError, AttributeError, ImportError, AssertionError)
_CAPTURE = "run it yourself, inside `with ln_audit.capture(model, FILE):`"


@dataclass(frozen=True, slots=True)
class Place:
    """Where transformers finds the model: a folder or a name on the Hub, and how a recording calls it."""

    where: str
    called: str
    options: Mapping[str, Any]


def place(target: str, revision: str | None, demand: Demand) -> Place:
    """The target for `from_pretrained`. Raises `SourceError`, `RecordingError` for what it cannot load."""
    source = open_source(target, Settings(demand.revision, demand.offline))
    entry = source.entry or ""
    folder, name = posixpath.split(entry) if source.kind == "hub" else ("", os.path.basename(entry))  # noqa: PTH119
    options: dict[str, Any] = {"local_files_only": demand.offline}
    if source.kind == "http" or name.endswith((".npz", ".npy", ".h5", ".keras", ".index")):
        raise RecordingError(
            f"{target}: expected a folder or a model on the Hub that transformers loads", hint=_CAPTURE
        )
    if name.endswith(".gguf"):
        options["gguf_file"] = name
    if source.kind == "hub":
        options |= {"revision": revision} | ({"subfolder": folder} if folder else {})
        return Place(source.identity, source.identity, options)
    if source.kind == "sample":
        from ln_audit.families.known import ASSETS

        return Place(str(ASSETS / "sample"), "ln-audit's sample", options)
    where = Path(source.identity)
    where = where.parent if entry else where
    return Place(str(where), name if name.endswith(".gguf") else where.name, options)


def special(config: Mapping[str, Any]) -> set[int]:
    """Ids that stand for no text: padding, ends, images and whatever else a config names as some `…_token_id`."""
    found: set[int] = set()
    for key, value in config.items():
        if isinstance(value, Mapping):
            found |= special(value)
        elif str(key).endswith(("_token_id", "_token_index", "_token_ids")):
            found.update(each for each in (value if isinstance(value, list) else [value]) if isinstance(each, int))
    return found


def local_file(target: str, file: str, demand: Demand) -> Path:
    """A file of a target on this machine. Raises `RecordingError` for one that is elsewhere."""
    source = open_source(target, Settings(demand.revision, demand.offline))
    if source.kind != "local":
        raise RecordingError(
            f"{target}: expected an ONNX model on this machine, found one elsewhere", hint="download it first"
        )
    return Path(source.identity) if source.entry else Path(source.identity) / file


def load(found: Place, dtype: str | None, device: str) -> tuple[Any, frozenset[str]]:
    """The model, ready to run, and the names of parameters that its files do not hold. Raises `RecordingError`, `UsageError`."""
    import torch
    import transformers

    try:
        torch.device(device)
    except RuntimeError as error:
        raise UsageError(f"--device: expected a device that torch knows, found {device!r}") from error
    with quiet(), _as_fault(found, "to load"):
        config = transformers.AutoConfig.from_pretrained(found.where, trust_remote_code=False, **found.options)
        cls = _class(config)
        wanted = "auto" if dtype is None else getattr(torch, dtype)
        options = dict(found.options) | {"dtype": wanted, "output_loading_info": True}
        if "Auto" in cls.__name__:
            options["trust_remote_code"] = False
        model, info = cls.from_pretrained(found.where, config=config, **options)
        return model.to(device).eval(), frozenset(info.get("missing_keys", ()))


def encode(found: Place, text: str) -> list[int]:
    """The text as the model's tokenizer reads it. Raises `RecordingError`."""
    import transformers

    options = {key: value for key, value in found.options.items() if key != "gguf_file"}
    try:
        with quiet():
            tokenizer = transformers.AutoTokenizer.from_pretrained(found.where, trust_remote_code=False, **options)
            ids = [int(each) for each in tokenizer(text)["input_ids"]]
            if text and set(ids) <= set(
                tokenizer.all_special_ids
            ):  # without files transformers makes one without words
                raise ValueError("one that knows none of its words")
            return ids
    except FAULTS as error:
        raise RecordingError(
            f"{found.called}: expected a tokenizer for --text, found: {first_line(error)}",
            hint="give ids with --tokens FILE, or run it on --random N",
        ) from error


@contextmanager
def quiet() -> Iterator[None]:
    """Without the bars and warnings of transformers, which would stand between our own lines."""
    from transformers.utils import logging

    level, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity(logging.CRITICAL)
    logging.disable_progress_bar()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.set_verbosity(level)
        if bars:
            logging.enable_progress_bar()


@contextmanager
def _as_fault(found: Place, doing: str) -> Iterator[None]:
    try:
        yield
    except FAULTS as error:
        raise RecordingError(
            f"{found.called}: expected transformers {doing} it, found: {first_line(error)}", hint=_CAPTURE
        ) from error


@contextmanager
def running(found: Place) -> Iterator[None]:
    """Faults of a forward pass become `RecordingError`s."""
    with quiet(), _as_fault(found, "to run"):
        yield


def _class(config: Any) -> Any:
    """The class that the config names, so that all its norms are built; else what the config's type is for."""
    import transformers

    for name in getattr(config, "architectures", None) or ():
        found = getattr(transformers, name, None)
        if isinstance(found, type) and issubclass(found, transformers.PreTrainedModel):
            return found
    autos = (transformers.AutoModelForCausalLM, transformers.AutoModelForSeq2SeqLM)
    return next((auto for auto in autos if type(config) in auto._model_mapping), transformers.AutoModel)  # noqa: SLF001
