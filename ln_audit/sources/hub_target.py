"""How a model on the Hub is written: `org/name[@revision]`, `hf://org/name[@revision][/path/in/repo]`, short names."""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import unquote

from ln_audit.errors import SourceError, UsageError
from ln_audit.sources.file_names import check_inside, printable

# Names from before the Hub had organisations; it redirects them, which would cost a request each time.
SHORT_NAMES = {
    "gpt2": "openai-community/gpt2",
    "gpt2-medium": "openai-community/gpt2-medium",
    "gpt2-large": "openai-community/gpt2-large",
    "gpt2-xl": "openai-community/gpt2-xl",
    "distilgpt2": "distilbert/distilgpt2",
}
_SCHEME = "hf://"
# huggingface_hub's validate_repo_id without importing it: letters, digits, `-_.`, no `--`, no `..`, at most 96.
_PART = r"(?!.*(?:--|\.\.))[A-Za-z0-9_](?:[A-Za-z0-9_.-]{0,94}[A-Za-z0-9_])?"
_REPO = re.compile(rf"{_PART}(?:/{_PART})?", re.ASCII)
_NO_MODELS = frozenset({"datasets", "spaces", "kernels", "buckets"})
# A word that ends like a checkpoint means a file; a repository of such a name is written with hf://.
_SUFFIX = re.compile(
    r".*\.(?:safetensors|bin|pt|pth|ckpt|gguf|onnx|npz|npy|h5|hdf5|keras|json|index|msgpack|pkl|zip|tar|gz|toml|txt|tflite"
    r"|pb|mlmodel|nemo|pdparams)",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class HubTarget:
    """`revision` None: not said (the Hub's default is `main`); `path`: the file named, None for the repository."""

    repo: str
    alias: str | None  # the short name of the same repository, under which older caches hold it
    revision: str | None
    path: str | None


def looks_like_hub(spec: str) -> bool:
    """Whether a word is written as a model on the Hub is."""
    if spec.startswith(_SCHEME):
        return True
    repo, _, revision = spec.partition("@")
    return _REPO.fullmatch(repo) is not None and "/" not in revision and _SUFFIX.fullmatch(repo) is None


def parse(spec: str, revision: str | None) -> HubTarget:
    """The target's parts; `revision` is what --revision says. Raises `SourceError`, `UsageError`."""
    word = spec.removeprefix(_SCHEME)
    if spec.startswith(_SCHEME):
        word = word.removeprefix("models/")
    repo, named, path = _split(word)
    if repo.partition("/")[0] in _NO_MODELS or _REPO.fullmatch(repo) is None:
        raise SourceError(
            f"{printable(spec)}: expected a model as org/name on the Hub, found {printable(repo)!r}",
            hint="write hf://org/name[@revision][/path/in/repo]; data sets, spaces and buckets hold no model",
        )
    if path is not None:
        check_inside(printable(spec), path)
    if named is not None and revision is not None and named != revision:
        raise UsageError(
            f"{printable(spec)}: expected one revision, found {printable(named)!r} in the target and "
            f"{printable(revision)!r} with --revision",
            hint="give one of them",
        )
    repo = SHORT_NAMES.get(repo, repo)
    alias = next((short for short, full in SHORT_NAMES.items() if full == repo), None)
    chosen = named if named is not None else revision
    if chosen is not None:
        _check_revision(spec, chosen)
    return HubTarget(repo, alias, chosen, path)


def _split(word: str) -> tuple[str, str | None, str | None]:
    """org/name@revision/path → its three parts. Only the first two segments can hold the `@`."""
    segments = word.split("/")
    owned = 1 if "@" in segments[0] or segments[0] in SHORT_NAMES else 2
    name, at, revision = "/".join(segments[:owned]).partition("@")
    path = "/".join(segments[owned:]) if len(segments) > owned else None
    return name, unquote(revision) if at else None, path


def _check_revision(spec: str, revision: str) -> None:
    """Git forbids these in a reference, and the cache would take them for a path."""
    bad = not revision or revision.startswith(("/", "-")) or revision.endswith("/") or ".." in revision
    if bad or not revision.isprintable() or "\\" in revision or " " in revision or len(revision) > 255:
        raise UsageError(
            f"{printable(spec)}: expected a branch, tag or commit as revision, found {printable(revision)!r}"
        )
