"""A recording session: hooks that listen at norms while a model runs, and the file that comes of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ln_audit.errors import RecordingError
from ln_audit.record import call, metadata
from ln_audit.record.stated import stated
from ln_audit.record.tensors import block, held, name_of, of_array, whole_numbers

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from ln_audit.record.located import Located
    from ln_audit.record.stated import Stated
    from ln_audit.recording.writer import RecordingWriter


@dataclass(slots=True)
class Heard:
    """One norm under way: reads that have not returned yet, what the first call showed, how many rows there are."""

    norm: Located
    prefix: str
    pending: list[call.Read] = field(default_factory=list)
    facts: dict[str, str] = field(default_factory=dict)
    first: Stated | None = None
    rows: int = 0
    refused: bool = False

    @property
    def there(self) -> bool:
        """Whether there are rows of it."""
        return self.rows > 0 and not self.refused


class Session:
    """Listens at norms and writes what they read and gave, block by block."""

    def __init__(self, writer: RecordingWriter, norms: Sequence[Located], *, hidden_states: bool) -> None:
        self._writer = writer
        self._heard = [Heard(norm, f"{norm.name}/" if len(norms) > 1 else "") for norm in norms]
        self._states = hidden_states
        self.size = 0  # bytes of the file, once it is written
        self.framework = ""
        self._tokens = 0
        self._notes: list[str] = []

    @property
    def positions(self) -> int:
        """How many rows have been recorded of the norm that has most."""
        return max((heard.rows for heard in self._heard), default=0)

    def listen(self, model: Any, wrap: Callable[[Any], Any]) -> Iterator[Any]:
        """Put hooks on the model and its norms, each through `wrap`; gives their handles."""
        yield model.register_forward_pre_hook(wrap(self._on_tokens), with_kwargs=True)
        if self._states:
            yield model.register_forward_hook(wrap(self._on_states))
        for heard in self._heard:
            yield heard.norm.module.register_forward_pre_hook(wrap(self._on_read(heard)), with_kwargs=True)
            yield heard.norm.module.register_forward_hook(wrap(self._on_given(heard)))

    def finish(self, said: Mapping[str, str]) -> None:
        """Write the file. Raises `RecordingError` where no norm was called."""
        called = [heard for heard in self._heard if heard.there]
        silent = ", ".join([heard.norm.name for heard in self._heard if not heard.there and not heard.refused][:8])
        if not called:
            raise RecordingError(
                f"{self._writer.label}: expected a forward pass through {silent}, found none: no file is written",
                hint="run the model inside the `with`; where torch.compile compiled it before, call torch.compiler.reset() first",
            )
        if silent:
            self._notes.append(f"never called: {silent}")
        for heard in called:
            self._parameters(heard)
        if all(heard.rows != self._tokens for heard in called):
            self._writer.drop("tokens")  # those of another stack, or of passes that did not reach the norm
        told = metadata.merged({heard.norm.name: heard.facts for heard in called}) | dict(said)
        if len(self._heard) == 1:
            told["norm"] = self._heard[0].norm.name
        notes = [*([told["note"]] if "note" in told else []), *self._notes]
        self.framework = told.get("framework", "")
        self.size = self._writer.finish(told | ({"note": "; ".join(notes)} if notes else {}))

    def _on_tokens(self, _: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> None:
        """Whole numbers that go into the model: a decoder's own before its encoder's."""
        given = [kwargs.get("decoder_input_ids"), kwargs.get("input_ids"), *args[:1]]
        for ids in given:
            if (
                _is_tensor(ids)
                and not ids.is_floating_point()
                and ids.dim() in (1, 2)
                and held(ids)
                and not _backward()
            ):
                found = whole_numbers(ids)
                self._writer.append("tokens", found.dtype, found.shape, found.data, kept=0)
                self._tokens += ids.numel()
                return

    def _on_states(self, _: Any, __: Any, output: Any) -> None:
        """`hidden_states` as transformers returns them, where the caller asked the model for them."""
        states = getattr(output, "hidden_states", None) or getattr(output, "decoder_hidden_states", None) or ()
        for number, state in enumerate(states):
            if _is_tensor(state):
                name = f"hidden_states.{number}"
                found = block(state, name)
                self._writer.append(name, found.dtype, found.shape, found.data)

    def _on_read(self, heard: Heard) -> Callable[..., None]:
        def listen(module: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> None:
            if not heard.refused and not _backward():
                heard.pending.append(call.read(module, args, kwargs, heard.norm.name))

        return listen

    def _on_given(self, heard: Heard) -> Callable[..., None]:
        def listen(module: Any, _: Any, output: Any) -> None:
            if not heard.pending or _backward():
                return
            try:
                self._write(heard, call.rows(heard.pending.pop(), output, module, heard.norm.name))
            except RecordingError:
                if not heard.norm.guessed:
                    raise
                heard.refused = True
                for side in ("before", "after"):
                    self._writer.drop(f"{heard.prefix}{side}")

        return listen

    def _write(self, heard: Heard, rows: call.Rows) -> None:
        if not rows.before.numel():
            return
        before, after = (block(each, heard.norm.name) for each in (rows.before, rows.after))
        if heard.first is None:
            heard.first = stated(heard.norm.module, before.shape[-1], heard.norm.offset)
            heard.facts = _facts(heard.norm, heard.first, rows)
        for side, found in (("before", before), ("after", after)):
            self._writer.append(f"{heard.prefix}{side}", found.dtype, found.shape, found.data)
        heard.rows += rows.before.numel() // before.shape[-1]

    def _parameters(self, heard: Heard) -> None:
        """Gain, bias and their digests, if they are at the end what they were at the beginning."""
        if heard.first is None:
            return
        width = self._writer.shape(f"{heard.prefix}before")[-1]
        now = stated(heard.norm.module, width, heard.norm.offset)
        if (now.gain_digest, now.bias_digest) != (heard.first.gain_digest, heard.first.bias_digest):
            self._notes.append(f"{heard.norm.name}: its parameters changed while it was recorded, so they are not here")
            return
        for role, values, digest in (("gain", now.gain, now.gain_digest), ("bias", now.bias, now.bias_digest)):
            if digest is not None:
                heard.facts[f"{role}_value_sha256"] = digest
            if values is not None and not heard.prefix:
                found = of_array(values)
                self._writer.append(role, found.dtype, found.shape, found.data)


def _facts(norm: Located, first: Stated, rows: call.Rows) -> dict[str, str]:
    """What metadata says of one norm, as far as it is known."""
    known = {
        "kind": norm.kind,
        "eps": None if norm.eps is None else repr(norm.eps),
        "output_dtype": name_of(rows.after.dtype),
        "param_dtype": first.param_dtype,
        "compute_dtype": name_of(rows.before.dtype),
        "before_rounded": rows.rounded,
    }
    return {key: value for key, value in known.items() if value is not None}


def _is_tensor(value: Any) -> bool:
    import torch

    return isinstance(value, torch.Tensor)


def _backward() -> bool:
    """Whether this is a backward pass, in which gradient checkpointing runs the forward once more."""
    import torch

    return bool(torch._C._current_graph_task_id() != -1)  # noqa: SLF001 - torch has no public way to ask
