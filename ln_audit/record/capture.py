"""`capture`: record a norm around any PyTorch forward pass."""

from __future__ import annotations

from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

from ln_audit.record import metadata, onnx_session
from ln_audit.record.located import Wanted, located
from ln_audit.record.names import unwrapped
from ln_audit.record.needed import need
from ln_audit.record.session import Session
from ln_audit.recording.writer import RecordingWriter

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from ln_audit.record.located import Located


@contextmanager
def capture(
    model: Any,
    path: str | os.PathLike[str],
    norm: Any = None,
    *,
    all_norms: bool = False,
    hidden_states: bool = False,
    kind: str | None = None,
    eps: float | None = None,
    offset: float | None = None,
    family: str | None = None,
    said: Mapping[str, str] | None = None,
) -> Iterator[Session | onnx_session.Counted]:
    """Record what norms of `model` read and give in every forward pass inside the `with`, to the safetensors file `path`.

        with ln_audit.capture(model, "run.safetensors"), torch.no_grad():
            model(tokens)

    Without `norm` it is the final norm, which the model's family tells (by `model.config.model_type`, or `family`: a name or
    a TOML file). `norm` is the name of a norm or module, a module, or a list of these; `all_norms` takes every norm. A norm of
    one's own may say `kind` ("layer_norm", "rms_norm"), `eps` and `offset` (what it adds to its stored gain). Several forward
    passes are appended. `hidden_states` also writes what the model returns under that name. `said` goes into the metadata.

    `model` may also be an onnxruntime session whose graph has what the norm reads and gives among its outputs: `norm` is then
    the pair of their names.

    The file is written when the block ends, in place of what had its name; a block that raises leaves nothing behind.

    Raises `UsageError` for a norm or a path that is none; `RecordingError` where nobody says which norm, where none was
    called, or where one's rows are no floats.
    """
    if onnx_session.is_session(model):
        with onnx_session.capture(model, path, norm, kind=kind, eps=eps, said=said or {}) as counted:
            yield counted
        return
    need("torch")
    asked = norm if isinstance(norm, (list, tuple)) else () if norm is None else (norm,)
    wanted = Wanted(tuple(asked), all_norms, kind, eps, offset, family)
    norms = located(unwrapped(model), wanted)
    with listening(model, path, norms, hidden_states=hidden_states, said=said or {}, made_with="capture") as session:
        yield session


@contextmanager
def listening(
    model: Any,
    path: str | os.PathLike[str],
    norms: Sequence[Located],
    *,
    hidden_states: bool,
    said: Mapping[str, str],
    made_with: str,
) -> Iterator[Session]:
    """The same with norms that were found already. Raises as `capture` does."""
    inner = unwrapped(model)
    frameworks = ["torch", *(["transformers"] if _is_transformers(inner) else [])]
    writer = RecordingWriter(path)
    session = Session(writer, norms, hidden_states=hidden_states)
    try:
        with ExitStack() as hooks:
            compiled = _compiled(model)
            if compiled:
                hooks.callback(_forget_compiled)
                _forget_compiled()
            for handle in session.listen(inner, _untraced if compiled else _as_it_is):
                hooks.callback(handle.remove)
            yield session
        about = {"model": _name(inner)} | metadata.general(frameworks, made_with) | dict(said)
        session.finish({key: value for key, value in about.items() if value})
    finally:
        writer.discard()


def _compiled(model: Any) -> bool:
    """Whether torch.compile has to do with it: what it compiled before does not see hooks that come later."""
    return hasattr(model, "_orig_mod") or any(
        getattr(each, "_compiled_call_impl", None) is not None for each in model.modules()
    )


def _forget_compiled() -> None:
    import torch

    torch.compiler.reset()


def _untraced(hook: Callable[..., None]) -> Callable[..., None]:
    """The hook as a break in the compiled graph: the norm is compiled by itself, and its rows are real."""
    import torch

    wrapped: Callable[..., None] = torch.compiler.disable(hook)
    return wrapped


def _as_it_is(hook: Callable[..., None]) -> Callable[..., None]:
    return hook


def _is_transformers(model: Any) -> bool:
    return any(cls.__module__.startswith("transformers.") for cls in type(model).__mro__)


def _name(model: Any) -> str:
    """What the model says it was loaded from, without this machine's folders; else its class."""
    told = getattr(getattr(model, "config", None), "_name_or_path", "") or ""
    return (
        told
        if told.count("/") == 1 and told[0] not in "./~"
        else told.rstrip("/").rpartition("/")[2] or type(model).__name__
    )
