"""`capture`: record a norm around any PyTorch forward pass."""

from __future__ import annotations

from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ln_audit import arguments
from ln_audit.demand import KINDS
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
    path, about = arguments.word("path", path), {} if said is None else arguments.told("said", said)
    wanted = _wanted(all_norms, kind, eps, offset, family)
    if onnx_session.is_session(model):
        with onnx_session.capture(model, path, norm, kind=wanted.kind, eps=wanted.eps, said=about) as counted:
            yield counted
        return
    need("torch")
    if not hasattr(model, "named_modules"):
        raise arguments.wrong("model", "a torch.nn.Module or an onnxruntime session", model)
    states = arguments.switch("hidden_states", hidden_states)
    norms = located(unwrapped(model), replace(wanted, norms=_named(norm)))
    with listening(model, path, norms, hidden_states=states, said=about, made_with="capture") as session:
        yield session


def _wanted(all_norms: object, kind: object, eps: object, offset: object, family: object) -> Wanted:
    """What the caller asks for beside the norms themselves. Raises `UsageError`."""
    return Wanted(
        (),
        arguments.switch("all_norms", all_norms),
        None if kind is None else arguments.choice("kind", kind, KINDS),
        None if eps is None else arguments.epsilon("eps", eps),
        None if offset is None else arguments.number("offset", offset),
        None if family is None else arguments.word("family", family),
    )


def _named(norm: Any) -> tuple[Any, ...]:
    """The norms that the caller names or gives; none where the family has to say. Raises `UsageError`."""
    asked = norm if isinstance(norm, (list, tuple)) else () if norm is None else (norm,)
    for each in asked:
        if not isinstance(each, str) and not hasattr(each, "register_forward_hook"):
            raise arguments.wrong("norm", "the name of a norm, a module, or a list of them", each)
    return tuple(asked)


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
