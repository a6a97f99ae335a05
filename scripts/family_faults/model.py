"""A tiny model of one model type: built by transformers, given norms that are not at their initial values, saved and run."""

from __future__ import annotations

import copy
import json
import re
import warnings
import zlib
from typing import TYPE_CHECKING, Any

from scripts.family_faults import tiny_models, truth
from scripts.family_faults.inputs import attempts
from scripts.family_faults.recorded import RecordedModel, RecordedNorm, Rows

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    import numpy as np

_EPSILON = re.compile(r"(^|_)eps(ilon)?$")
_CALLED_NORM = re.compile(r"norm", re.IGNORECASE)
_GAINS = ("weight", "gamma", "scale", "gain")
_USUAL = (1e-5, 1e-6, 1e-12, 1e-8, 1e-7, 1e-3)
_ROWS = 96
_SMALL = 0.03  # transformers' usual standard deviation at the start is 0.02
_DTYPES = ("float32", "bfloat16")


def recorded(model_type: str, folder: Path) -> RecordedModel:
    """Build, save into `folder`, run, and say what every norm did. Raises whatever transformers raises on building."""
    import torch
    from transformers.utils import logging

    torch.set_num_threads(1)
    logging.disable_progress_bar()
    logging.set_verbosity_error()
    seed = zlib.crc32(model_type.encode())
    torch.manual_seed(seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        config = tiny_models.config(model_type)
        _own_epsilons(config)
        model = tiny_models.build(model_type, config).float().eval()
        _own_values(model, torch)
        model.save_pretrained(folder, max_shard_size="5GB")
        notes: list[str] = []
        calls: dict[str, Calls] = {}
        for dtype in _DTYPES:
            torch.manual_seed(seed)
            calls[dtype], note = _run(model, dtype, torch)
            notes += [note] if note else []
    from safetensors.numpy import load_file

    tensors = load_file(folder / "model.safetensors")
    stated = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    norms = tuple(_norms(model, tensors, calls, list(_epsilons(stated))))
    return RecordedModel(model_type, folder, tensors, stated, norms, tuple(notes))


def _own_epsilons(config: Any) -> None:
    """Three times the default in every config key that is an epsilon, so that a loader's default is another value."""
    for key, value in list(vars(config).items()):
        if _EPSILON.search(key) and isinstance(value, float) and 0 < value < 1e-2:
            setattr(config, key, float(f"{3 * value:g}"))
        elif hasattr(value, "to_dict"):
            _own_epsilons(value)


def _epsilons(stated: Mapping[str, Any]) -> Iterator[float]:
    """Every epsilon that a config writes, nested ones too."""
    for key, value in stated.items():
        if isinstance(value, dict):
            yield from _epsilons(value)
        elif isinstance(value, float) and _EPSILON.search(key):
            yield value


def _own_values(model: Any, torch: Any) -> None:
    """Noise on all that is one-dimensional, and on whatever starts at zero: two norms alike would hide a swap.

    Matrices that are no embeddings get larger, so that rows differ by more than their place.
    """
    with torch.no_grad():
        embeddings = {id(each.weight) for each in model.modules() if isinstance(each, torch.nn.Embedding)}
        for parameter in model.parameters():
            if parameter.dim() == 1 or parameter.numel() == max(parameter.shape, default=1):
                parameter.add_(0.2 * torch.randn_like(parameter))
            elif not parameter.any():
                parameter.add_(0.05 * torch.randn_like(parameter))
            elif id(parameter) not in embeddings and parameter.std() < _SMALL:
                parameter.mul_(3)


Calls = dict[str, tuple[int, "Rows"]]  # by module: the order of its call, and its rows


def _run(model: Any, dtype: str, torch: Any) -> tuple[Calls, str | None]:
    """The forward pass in `dtype` that reaches most modules; those that keep their input's shape are recorded.

    Where even that ends with an error, what was recorded until then counts all the same, and the note says so.
    """
    cast = model if dtype == "float32" else copy.deepcopy(model).to(getattr(torch, dtype))
    best: Calls = {}
    note = None
    for given in attempts(cast, torch):
        calls, error = _pass(cast, _cast(given, getattr(torch, dtype), torch), torch)
        if error is None:
            return calls, None
        if note is None or len(calls) > len(best):
            told = (str(error).splitlines() or [""])[0][:160]
            best, note = calls, f"{dtype}: ended after {len(calls)} modules: {type(error).__name__}: {told}"
    return best, note


def _pass(model: Any, given: Mapping[str, Any], torch: Any) -> tuple[Calls, BaseException | None]:
    """One forward pass with hooks, and the error that it ended with."""
    calls: Calls = {}

    def keep(name: str) -> Any:
        def hook(_: Any, given: Any, named: Any, gave: Any) -> None:
            before: Any = given[0] if given else next(iter(named.values()), None)
            same = torch.is_tensor(before) and torch.is_tensor(gave) and before.shape == gave.shape
            if same and name not in calls and before.is_floating_point():
                calls[name] = (len(calls), Rows(*(_array(_some(side), torch) for side in (before, gave))))

        return hook

    hooks = [
        module.register_forward_hook(keep(name), with_kwargs=True)
        for name, module in model.named_modules()
        if not any(True for _ in module.children()) or _CALLED_NORM.search(type(module).__name__)
    ]
    ended: BaseException | None = None
    try:
        with torch.no_grad():
            model(**given)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # noqa: BLE001  # whatever a model raises; a library that it lacks is no Exception
        ended = error
    for hook in hooks:
        hook.remove()
    return calls, ended


def _cast(given: Mapping[str, Any], dtype: Any, torch: Any) -> dict[str, Any]:
    """Inputs that are no numbers of things, in the dtype of the run."""
    return {
        name: value.to(dtype) if torch.is_tensor(value) and value.is_floating_point() else value
        for name, value in given.items()
    }


def _some(tensor: Any) -> Any:
    """No more rows of [..., d] than a recording needs."""
    if tensor.dim() < 2 or tensor.numel() // max(tensor.shape[-1], 1) <= _ROWS:
        return tensor
    return tensor.reshape(-1, tensor.shape[-1])[:_ROWS]


def _array(tensor: Any, torch: Any) -> Any:
    """A copy as NumPy keeps it; bfloat16 by its bits, since NumPy has no such dtype."""
    kept = tensor.detach().contiguous()
    if kept.dtype == torch.bfloat16:
        import ml_dtypes

        return kept.view(torch.int16).numpy().copy().view(ml_dtypes.bfloat16)
    return kept.numpy().copy()


def _norms(
    model: Any,
    tensors: Mapping[str, np.ndarray[Any, Any]],
    calls: Mapping[str, Mapping[str, tuple[int, Rows]]],
    epsilons: Sequence[float],
) -> Iterator[RecordedNorm]:
    """Every module that is called a norm or computes one, by its own numbers."""
    held = {(array.shape, array.tobytes()): name for name, array in reversed(list(tensors.items()))}
    places = _places(model, held)
    for name, module in model.named_modules():
        rows = {dtype: done[name][1] for dtype, done in calls.items() if name in done}
        own = next((float(getattr(module, key)) for key in ("eps", "variance_epsilon", "epsilon", "norm_eps")
                    if isinstance(getattr(module, key, None), float)), None)  # fmt: skip
        tried = [own] if own is not None else list(dict.fromkeys((*epsilons, *_USUAL)))
        found = truth.shown(rows["float32"], tried) if "float32" in rows else None
        leaf = not any(True for _ in module.children())
        if found is None and not (leaf and _CALLED_NORM.search(type(module).__name__)):
            continue
        names = _saved(module, held)
        gain = next((names[key] for key in _GAINS if key in names), None)
        added = None if found is None else truth.offset(found.gain, None if gain is None else tensors[gain])
        stem = next(iter(names.values()), None)
        yield RecordedNorm(
            name=_place(name, places) if stem is None else stem.rpartition(".")[0],
            module=name,
            gain=gain,
            bias=names.get("bias") or names.get("beta"),
            kind=None if found is None or added is None else found.kind,
            offset=added or 0.0,
            eps=own,
            order=calls["float32"][name][0] if name in calls.get("float32", {}) else None,
            rows=rows,
        )


def _places(model: Any, held: Mapping[tuple[tuple[int, ...], bytes], str]) -> dict[str, str]:
    """Where the saved names have each module: the ancestors of a parameter, by the name that it was saved under."""
    found: dict[str, str] = {}
    for path, parameter in model.named_parameters():
        array = parameter.detach().contiguous().numpy()
        saved = held.get((array.shape, array.tobytes()), "")
        parts = path.split(".")
        for depth in range(1, len(parts)):
            rest = "." + ".".join(parts[depth:])
            if saved.endswith(rest):
                found.setdefault(".".join(parts[:depth]), saved.removesuffix(rest))
    return found


def _place(name: str, places: Mapping[str, str]) -> str:
    """A module without parameters stands where its nearest ancestor does."""
    parts = name.split(".")
    for depth in range(len(parts) - 1, 0, -1):
        above = places.get(".".join(parts[:depth]))
        if above is not None:
            return ".".join([above, *parts[depth:]])
    return name


def _saved(module: Any, held: Mapping[tuple[tuple[int, ...], bytes], str]) -> dict[str, str]:
    """The module's own parameters with the names that they have in the saved file, found by their values."""
    found = {}
    for key, parameter in module.named_parameters(recurse=False):
        array = parameter.detach().contiguous().numpy()
        name = held.get((array.shape, array.tobytes()))
        if name is not None:
            found[key] = name
    return found
