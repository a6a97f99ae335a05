"""`ln-audit record`: a target is loaded by transformers and run, and its norms are recorded."""

from __future__ import annotations

import inspect
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ln_audit.errors import RecordingError, UsageError
from ln_audit.examination import promised
from ln_audit.record import loading, metadata, tokens
from ln_audit.record.capture import listening
from ln_audit.record.located import Wanted, located
from ln_audit.record.needed import need
from ln_audit.record.recipe import Made, Recipe
from ln_audit.record.stated import BIASES, GAINS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ln_audit.checks.subject import Subject
    from ln_audit.demand import Demand
    from ln_audit.record.loading import Place
    from ln_audit.record.located import Located


def record(target: str, path: str, recipe: Recipe, demand: Demand, progress: Callable[[int, int], None]) -> Made:
    """Run the target on what the recipe says and write a recording of its norms to `path`.

    `progress` is told the positions that are done, and how many there are. Raises `UsageError` for a norm or a path that is
    none, `AuditError` for a target that cannot be loaded or run.
    """
    subject = promised(target, replace(demand, norm=None))
    if subject.checkpoint.format == "onnx":
        from ln_audit.record import onnx_run

        file = loading.local_file(target, subject.checkpoint.files[0], demand)
        return onnx_run.record(file, file.name, subject, path, recipe, progress)
    need("torch")
    need("transformers")
    found = loading.place(target, subject.revision, demand)
    model, missing = loading.load(found, recipe.dtype, recipe.device or "cpu")
    norms = _norms(model, subject, recipe, demand)
    _refuse_fresh(model, norms, missing, found)
    ids = _ids(model, recipe, found)
    said = _said(found, subject, recipe)
    made_with = f"record on {recipe.reads}"
    with (
        listening(model, path, norms, hidden_states=recipe.hidden_states, said=said, made_with=made_with) as session,
        loading.running(found),
    ):
        _run(model, ids, recipe, progress)
    return Made(path, session.size, tuple(norm.name for norm in norms), session.positions, session.framework)


def _norms(model: Any, subject: Subject, recipe: Recipe, demand: Demand) -> tuple[Located, ...]:
    """The modules to listen at, under the names that the target's checkpoint gives its norms."""
    known = subject.norms if subject.family is not None else None
    wanted = Wanted(
        recipe.norms, recipe.all_norms, demand.kind, demand.eps, demand.offset, demand.family, _digests(subject)
    )
    return located(model, wanted, known)


def _digests(subject: Subject) -> Mapping[str, frozenset[str]]:
    """What each norm's gain may be in memory: as stored, or cast to a narrower dtype."""
    from ln_audit.agreement.recorded_weights import cast_digests
    from ln_audit.formats.dtypes import array

    found = {}
    for norm in subject.norms:
        stored = subject.values.get(norm.gain or "")
        if stored is not None and stored.exact:
            found[norm.name] = frozenset(each for each in cast_digests(array(stored), 0.0) if each is not None)
    return found


def _refuse_fresh(model: Any, norms: Sequence[Located], missing: frozenset[str], found: Place) -> None:
    """Raises `RecordingError` for a norm that transformers started anew because the files do not hold it."""
    names = {id(module): name for name, module in model.named_modules()}
    for norm in norms:
        own = [f"{names.get(id(norm.module))}.{leaf}" for leaf in (*GAINS, *BIASES)]
        fresh = next((name for name in own if name in missing), None)
        if fresh is not None:
            raise RecordingError(
                f"{found.called}: {fresh}: expected in the checkpoint, found none: transformers starts it anew, so that a "
                "recording would show nothing of this checkpoint",
                hint="ln-audit verify says what is missing",
            )


def _ids(model: Any, recipe: Recipe, found: Place) -> Any:
    """The ids to run on, [n]. Raises `RecordingError` for a model that reads no tokens."""
    import numpy as np

    reads = getattr(model, "main_input_name", "input_ids")
    if reads != "input_ids":
        raise RecordingError(
            f"{found.called}: expected a model that reads tokens, found one that reads {reads}",
            hint="run it yourself, inside `with ln_audit.capture(model, FILE):`",
        )
    vocabulary = _vocabulary(model, found)
    if recipe.tokens is not None:
        return tokens.read(recipe.tokens, vocabulary)
    if recipe.random is not None:
        return tokens.random(recipe.random, vocabulary, frozenset(loading.special(model.config.to_dict())))
    ids = loading.encode(found, recipe.text or "")
    if not ids:
        raise UsageError("--text: expected a text of at least one token, found none")
    return np.array(ids)


def _vocabulary(model: Any, found: Place) -> int:
    """Rows of the table that ids are looked up in, else what the config says. Raises `RecordingError`."""
    with loading.running(found):
        try:
            rows = model.get_input_embeddings().weight.shape[0]
        except (NotImplementedError, AttributeError):  # several tables, or none of its own
            rows = 0
        return int(rows or _text(model).vocab_size)


def _run(model: Any, ids: Any, recipe: Recipe, progress: Callable[[int, int], None]) -> None:
    """Forward passes over bounded segments, each a context of its own, on the model's device."""
    import torch

    accepted = inspect.signature(model.forward).parameters
    extra = {"use_cache": False, "logits_to_keep": 1, "output_hidden_states": recipe.hidden_states, "return_dict": True}
    extra = {
        key: value for key, value in extra.items() if key in accepted or key in ("output_hidden_states", "return_dict")
    }
    start, done = _start(model.config), 0
    for segment in tokens.segments(ids, _length(model)):
        inputs = {"input_ids": torch.from_numpy(segment)[None].to(model.device)}
        if getattr(model.config, "is_encoder_decoder", False):
            shifted = torch.cat([torch.full_like(inputs["input_ids"][:, :1], start), inputs["input_ids"][:, :-1]], 1)
            inputs["decoder_input_ids"] = shifted
        with torch.no_grad():
            model(**inputs, **extra)
        done += len(segment)
        progress(done, len(ids))


def _start(config: Any) -> int:
    """The token that a decoder begins with."""
    keys = ("decoder_start_token_id", "bos_token_id", "pad_token_id")
    return next((value for key in keys if isinstance(value := getattr(config, key, None), int)), 0)


def _length(model: Any) -> int:
    """Tokens of one pass: what the model has positions for, less the two that RoBERTa's counting leaves out."""
    config = _text(model)
    limits = [getattr(config, key, None) for key in ("max_position_embeddings", "max_seq_len", "max_sequence_length")]
    known = [limit - 2 for limit in limits if isinstance(limit, int) and limit > 2]
    return min([tokens.LONGEST, *known])


def _text(model: Any) -> Any:
    """The config of what reads and writes tokens; of two, the decoder's."""
    return model.config.get_text_config(decoder=True)


def _said(found: Place, subject: Subject, recipe: Recipe) -> dict[str, str]:
    said = {"model": found.called, "revision": subject.revision or "", "text": metadata.excerpt(recipe.text or "")}
    if recipe.hidden_states:
        said["note"] = (
            "hidden_states.N is what transformers returns: in most models the last one is after the final norm"
        )
    return said
