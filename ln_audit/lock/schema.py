"""What a lockfile holds, version 1: the model it was made of, and each norm with its facts and the digests of its values."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping

NAME, VERSION = "ln-audit.lock", 1
FORMAT = f"{NAME}/{VERSION}"
DEFAULT_FILE = "ln-audit.lock"
Role = Literal["gain", "bias"]

# The digests that a parameter may have, in the order of the file, each over effective values as little-endian float32:
# as they are; rounded to a narrower dtype (to nearest, ties to even); and, where the family's files store gain − offset,
# with that rounded before the offset is added. Values that are not exact in float32 have the digest of their float64
# instead of the first, and one of their float32.
VALUE, FLOAT64 = "value_sha256", "float64_sha256"
DIGESTS = (
    VALUE,
    FLOAT64,
    "float32_sha256",
    "bfloat16_sha256",
    "float16_sha256",
    "bfloat16_before_offset_sha256",
    "float16_before_offset_sha256",
)
STORED = {"F32": "float32", "BF16": "bfloat16", "F16": "float16"}  # dtypes in which a narrower artifact may store them


@dataclass(frozen=True, slots=True)
class Parameter:
    """A norm's gain or bias: how many elements, and its digests; none where the values were not read."""

    elements: int
    digests: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class LockedNorm:
    """One norm under the family's own name. `nth` counts norms of one name within a stack, where there are several.

    `epsilon` is a float32, written as its shortest decimal; `width` and `epsilon` are None where there is none.
    """

    name: str
    role: str
    kind: str
    stack: str | None = None
    layer: int | None = None
    width: int | None = None
    epsilon: float | None = None
    nth: int = 1
    gain: Parameter | None = None
    bias: Parameter | None = None

    @property
    def key(self) -> tuple[str | None, str, int]:
        """What the norm is found by in an artifact."""
        return (self.stack, self.name, self.nth)

    @property
    def parameters(self) -> int:
        """Elements of gain and bias."""
        return sum(part.elements for part in (self.gain, self.bias) if part is not None)

    @property
    def parts(self) -> tuple[tuple[Role, Parameter | None], ...]:
        """Gain and bias by name."""
        return (("gain", self.gain), ("bias", self.bias))


@dataclass(frozen=True, slots=True)
class LockedFile:
    """A file of the container that was locked, and the SHA-256 that its whole content was found to have."""

    name: str
    sha256: str


@dataclass(frozen=True, slots=True)
class Lock:
    """A whole lockfile. `data` tells one version of the family's tables from another; `where` is the file it was read from."""

    norms: tuple[LockedNorm, ...]
    identity: str
    container: str
    revision: str | None = None
    family: str | None = None
    data: str | None = None
    files: tuple[LockedFile, ...] = ()
    where: str = DEFAULT_FILE
