"""What may explain a difference: the shape that every module of the registry has."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol

if TYPE_CHECKING:
    from ln_audit.against.difference import Difference


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why a parameter differs. `status`: `fail` it is wrong, `warn` a person should look, `skip` nobody can tell from this."""

    name: str
    status: Literal["fail", "warn", "skip"]
    text: str
    remedy: str = ""


class Explains(Protocol):
    """A module of this folder that knows one thing people do to a norm."""

    NAME: str

    def explain(self, difference: Difference) -> Explanation | None:
        """The explanation, if it is this; every element must fit, but for the rounding of the stored dtypes."""
