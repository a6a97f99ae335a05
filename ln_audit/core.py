"""The nouns of ln-audit and the shape of each seam. Read this first; it imports nothing of ours but the error tree.

One audit is one walk down this page: a `Source` gives bytes by range, a format makes a `Checkpoint` of them, a family says
which `Norm`s the model promises, and `Rows` are what a run recorded of one. What comes of them is in `comparison.py`; findings,
and the report whose verdict *is* the exit code, in `result.py`: read those second and third.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import prod
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol

if TYPE_CHECKING:  # numpy costs more than everything else we import: nobody pays for it who only asks for --help
    from collections.abc import Callable, Iterator, Mapping, Sequence

    import numpy as np

Status = Literal["pass", "fail", "warn", "skip"]
# Where a norm's epsilon comes from: the caller, a place that writes it, the loader's default, the model's code, the family's
# usual value without any config; `machine`: null, torch's machine epsilon of the input; `wrong`: what is written is no number.
Origin = Literal["given", "written", "default", "code", "assumed", "machine", "wrong", "unknown"]
SourceKind = Literal["hub", "local", "http", "sample"]


class Range(NamedTuple):
    """Bytes `begin` to `end` (exclusive) of a file."""

    begin: int
    end: int


@dataclass(frozen=True, slots=True)
class FileUse:
    """What one file cost: its whole size in bytes (None when unknown) and the bytes of it really read.

    `sha256` is the published one, where the whole content was held against it.
    """

    name: str
    size: int | None
    bytes_read: int
    sha256: str | None = None


class Source(Protocol):
    """A place that holds a model's files and reads them by range.

    Every read of a file is pinned to the version first seen (commit and ETag, or modification time and size); a file that
    changes between two reads raises `SourceError`, never gives a mixture.
    """

    @property
    def spec(self) -> str: ...  # what the user typed

    @property
    def kind(self) -> SourceKind: ...

    @property
    def identity(self) -> str: ...  # openai-community/gpt2, an absolute path, a URL without its query

    @property
    def revision(self) -> str | None: ...  # the commit, once known; None where there is none

    @property
    def entry(self) -> str | None: ...  # the one file the user named, or None for a folder or repository

    @property
    def requests(self) -> int: ...  # what went over the wire so far; 0 for local files

    @property
    def used(self) -> Sequence[FileUse]: ...  # every file touched so far

    def exists(self, file: str) -> bool:
        """Whether the file is there. Absence is False; a dangling link or a network fault raises `SourceError`."""

    def size(self, file: str) -> int:
        """Size in bytes. Raises `SourceError`."""

    def read(self, file: str, ranges: Sequence[Range]) -> list[bytes]:
        """The bytes of each range, in order, each exactly as long as asked. Joins neighbours. Raises `SourceError`."""

    def read_prefix(self, file: str, at_most: int) -> bytes:
        """The first `at_most` bytes, or the whole file when it is shorter: one request, size then known."""

    def files(self) -> Sequence[str] | None:
        """Names of all files, or None where listing is impossible or was not asked for."""


@dataclass(frozen=True, slots=True)
class TensorInfo:
    """What a header says of one tensor. `dtype` uses safetensors' names (F32, BF16, …); `nbytes` is its stored size."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    nbytes: int

    @property
    def elements(self) -> int:
        """Number of logical elements (two to the byte for F4)."""
        return prod(self.shape)


@dataclass(frozen=True, slots=True)
class Stored:
    """One tensor's bytes exactly as they are stored. Decoding is a separate step: digests and ULPs need the bytes.

    `exact` is False where the container is quantized and `data` are its dequantized values: nothing has a digest then.
    """

    dtype: str
    shape: tuple[int, ...]
    data: bytes
    exact: bool = True


@dataclass(frozen=True, slots=True)
class Declared:
    """A fact that a container states about the model: a config.json key, a GGUF key, an ONNX attribute."""

    key: str
    value: object
    where: str


@dataclass(frozen=True, slots=True)
class ShardIndex:
    """What an index file claims, beside what the shards hold."""

    file: str
    weight_map: Mapping[str, str]  # tensor → shard, as claimed
    holders: Mapping[str, tuple[str, ...]]  # tensor → shards that really hold it
    total_size: int | None  # bytes, as claimed
    actual_size: int  # bytes, counted from the headers; a tensor in two shards once


@dataclass(frozen=True, slots=True)
class NormSite:
    """One normalization that a container's graph computes (ONNX, Keras). `gain` and `bias` are tensor names or None; `eps`
    is what the operation really uses, its operator's default where the attribute is absent (`eps_where` says which).
    """

    name: str
    kind: str
    gain: str | None
    bias: str | None
    eps: float | None
    eps_where: str
    axis: int | None = -1  # that it normalizes, from the end; None where that depends on a rank nobody wrote down
    bias_certain: bool = True  # False: `bias` is None because what is added could not be recognised, if anything is
    reads: str = field(default="", compare=False)  # the graph's names for what goes in and what comes out of it; empty
    gives: str = field(default="", compare=False)  # where no value of the graph is that. The same norm may stand twice


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """One model's tensors: names and shapes from the headers, values only when `read` is asked for them."""

    format: str
    files: tuple[str, ...]
    tensors: Mapping[str, TensorInfo]
    read: Callable[[Sequence[str]], Mapping[str, Stored]]
    declared: tuple[Declared, ...] = ()
    norm_sites: tuple[NormSite, ...] = ()
    computes: bool = False  # it holds the graph that is run: a norm that is not among `norm_sites` may not be computed
    index: ShardIndex | None = None
    read_from: Callable[[str, str], Stored] | None = None  # (shard, tensor): one copy of a tensor stored twice
    read_beginning: Callable[[str, int], bytes] | None = (
        None  # (tensor, n): its first n stored bytes, where that is cheap
    )
    dequantizes: frozenset[str] = frozenset()  # dtypes that `read` gives as inexact float32
    beside: tuple[str, ...] = ()  # other artifacts of the same folder that a loader would not take


@dataclass(frozen=True, slots=True)
class Place:
    """One place where a value (here: epsilon) is written."""

    where: str
    value: float


@dataclass(frozen=True, slots=True)
class Norm:
    """One normalization layer that the model promises, with the tensor names it has in this checkpoint.

    `gain` and `bias` are tensor names, None where the family has none. `width` and `eps` are None when they cannot be known.
    `chain` names where the run rounds on its way (`once`, `before_gain`, …), None when the family does not say.
    """

    name: str
    role: Literal["final", "block", "embedding", "qk", "other"]
    stack: str | None
    layer: int | None
    kind: str
    gain: str | None
    bias: str | None
    width: int | None
    width_source: str
    eps: float | None
    eps_source: str
    eps_places: tuple[Place, ...] = ()
    weight_offset: float = 0.0
    chain: str | None = None
    bias_optional: bool = False  # the family allows the bias to be absent; the loader then starts it at zero
    misnamed: tuple[tuple[str, str], ...] = ()  # (name found, name that the loader expects)
    promised: str = ""  # what the family calls it, whatever the container does
    copies: tuple[tuple[str, str], ...] = ()  # (tensor taken, another that a loader may take for it)
    pattern: str = ""  # the family's name for all norms of its kind, over `{layer}` and other indexes
    main: bool = True  # of the stack whose final norm a recording is taken to be of; a vision tower's is not
    eps_origin: Origin = "written"
    split: tuple[int, ...] = ()  # its parameters may have these axes instead of one: a head's gain for each head
    doubt: str = ""  # why nobody knows whether the model has it at all; empty where the family and the config say so

    @property
    def tensors(self) -> tuple[str, ...]:
        """The tensor names that belong to this norm, gain first."""
        return tuple(name for name in (self.gain, self.bias) if name is not None)


@dataclass(frozen=True, slots=True)
class Recognised:
    """The family that was recognised, and by what: `model_type "gpt2" in config.json`, `given by the caller`."""

    name: str
    evidence: str


class Rows(Protocol):
    """Recorded rows of one norm, as many as one likes, never all in memory. Can be walked through more than once."""

    @property
    def width(self) -> int: ...

    @property
    def positions(self) -> int: ...

    @property
    def before_dtype(self) -> str: ...  # numpy's name: float32, bfloat16, …

    @property
    def after_dtype(self) -> str: ...

    @property
    def leading(self) -> tuple[int, ...]: ...  # the shape without its last axis: turns a row number into an index

    def blocks(self, rows: int) -> Iterator[tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]]:
        """Blocks of at most `rows` rows: before and after, each [n, width], native dtype."""
