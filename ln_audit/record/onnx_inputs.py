"""What an exported language model is given: token ids, and what exporters ask for beside them."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

from ln_audit.errors import RecordingError, UsageError
from ln_audit.record import loading, tokens

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import numpy as np

    from ln_audit.checks.subject import Subject
    from ln_audit.record.recipe import Recipe

_WHOLE = {"tensor(int64)": "int64", "tensor(int32)": "int32"}
_FLOATS = {"tensor(float)": "float32", "tensor(float16)": "float16", "tensor(double)": "float64"}
_VOCABULARY = ("vocab_size", "text_config.vocab_size")
_LARGEST = 2**28  # elements of a cache that a graph wants filled
_UNFOLDED = 4  # operations between a stored table and the look-up: a cast, a scale, a transposition
_POSITIONS = ("max_position_embeddings", "n_positions", "text_config.max_position_embeddings")


def ids(recipe: Recipe, subject: Subject, model: Any, file: Path, called: str) -> np.ndarray[Any, Any] | tokens.Chance:
    """The ids to run on, [n]. Raises `RecordingError` where nobody says how many words the model knows."""
    import numpy as np

    if recipe.text is not None:
        from ln_audit.record.needed import need

        need("transformers")
        found = loading.encode(loading.Place(str(file.parent), called, {"local_files_only": True}), recipe.text)
        if not found:
            raise UsageError("--text: expected a text of at least one token, found none")
        return np.array(found)
    words = _number(subject, _VOCABULARY) or _embedded(model)
    if words is None:
        raise RecordingError(f"{called}: expected a vocabulary, found no vocab_size beside it and no embedding in it")
    if recipe.tokens is not None:
        return tokens.read(recipe.tokens, words)
    special = () if subject.config is None else loading.special(subject.config.data)
    return tokens.random(recipe.random or 1, words, frozenset(special))


def length(subject: Subject) -> int:
    """Tokens of one pass."""
    positions = _number(subject, _POSITIONS)
    return tokens.LONGEST if positions is None or positions <= 2 else min(tokens.LONGEST, positions - 2)


def feed(inputs: Sequence[Any], segment: np.ndarray[Any, Any], called: str) -> dict[str, Any]:
    """A value for each input of the graph: [1, n] of ids, a full mask, an empty cache.

    Raises `RecordingError` for an input that nobody knows.
    """
    import numpy as np

    count = len(segment)
    known = {
        "input_ids": segment,
        "decoder_input_ids": segment,
        "position_ids": np.arange(count),
        "token_type_ids": np.zeros(count),
        "attention_mask": np.ones(count),
        "encoder_attention_mask": np.ones(count),
    }
    given: dict[str, Any] = {}
    for each in inputs:
        if each.name in known and each.type in _WHOLE:
            given[each.name] = known[each.name].astype(_WHOLE[each.type])[None]
        elif each.name.startswith("past_") and each.type in _FLOATS:
            given[each.name] = np.zeros(_empty(each, called), _FLOATS[each.type])
        elif each.type == "tensor(bool)":  # use_cache_branch
            given[each.name] = np.zeros(1, bool)
        else:
            raise RecordingError(
                f"{called}: {each.name}: expected an input of a language model, found {each.type} {each.shape}",
                hint="run it yourself with the norm's values as outputs, and give them with --before and --after",
            )
    return given


def _empty(asked: Any, called: str) -> list[int]:
    """A cache of no positions: the first open axis is the batch, the others are positions."""
    shape = [1 if at == 0 else size if isinstance(size, int) else 0 for at, size in enumerate(asked.shape)]
    if prod(shape) > _LARGEST:
        raise RecordingError(f"{called}: {asked.name}: expected at most {_LARGEST:,} elements, found {asked.shape}")
    return shape


def _embedded(model: Any) -> int | None:
    """Rows of the table that ids are looked up in, be it stored as it is or quantized and unfolded on the way."""
    tables = {tensor.name: tensor.dims for tensor in model.graph.initializer if len(tensor.dims) == 2}
    makers = {output: node for node in model.graph.node for output in node.output}
    near = [
        n.input[0]
        for n in model.graph.node
        if n.op_type == "Gather" and n.input[1] in ("input_ids", "decoder_input_ids")
    ]
    for _ in range(_UNFOLDED):
        found = next((name for name in near if name in tables), None)
        if found is not None:
            return int(tables[found][0])
        near = [name for each in near if each in makers for name in makers[each].input]
    return None


def _number(subject: Subject, keys: Sequence[str]) -> int | None:
    found = (None if subject.config is None else subject.config.get(key) for key in keys)
    return next((value for value in found if type(value) is int and value > 0), None)
