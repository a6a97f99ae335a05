"""Which fast kernels there are and when each pays. A new one is a module and one line in `KERNELS`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from ln_audit.numerics import fast_numba, fast_numpy

if TYPE_CHECKING:
    from ln_audit.numerics.terms import Kernel, Terms


class Fast(Protocol):
    """A module that makes kernels.

    `PAYS_FROM`: bytes of both arrays from which its start-up time is won back. `MOST_PARTS`: how many side by side gain.
    """

    NAME: str
    PAYS_FROM: int
    MOST_PARTS: int

    def available(self) -> bool:
        """Whether what it needs is installed."""

    def kernel(self, terms: Terms) -> Kernel | None:
        """A kernel for one hypothesis; None where it has none for this kind of output."""


KERNELS: tuple[Fast, ...] = (fast_numba, fast_numpy)  # fastest first


def chosen(size: int) -> Fast | None:
    """The fastest that is installed and pays for `size` bytes; None where the reference is soon done itself."""
    return next((each for each in KERNELS if size >= each.PAYS_FROM and each.available()), None)
