"""The family's 1: never added, added twice, or added where there is none."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ln_audit.against.explanation import Explanation

if TYPE_CHECKING:
    from ln_audit.against.difference import Difference

NAME = "offset"
_CONSTANTS = (-1.0, 1.0, 2.0, -2.0)
_REMEDY = "convert again with a converter that knows the family's convention"


def explain(difference: Difference) -> Explanation | None:
    """A constant over all elements: −1, +1, +2 or −2."""
    if not difference.whole:
        return None
    constant = next((c for c in _CONSTANTS if difference.fits(difference.source.exact + c)), None)
    if constant is None:
        return None
    ours, theirs = difference.artifact.offset, difference.source.offset
    expected = theirs - ours
    if difference.part == "bias":
        why = "a constant was added to a bias"
    elif expected and constant == -expected:
        why = f"the {expected:+g} between the two conventions was never applied"
    elif expected and constant == expected:
        why = f"the {expected:+g} between the two conventions was applied twice"
    elif ours and constant == -ours:
        why = f"the {ours:g} that the model adds itself was taken off twice"
    elif ours and constant == ours:
        why = f"stored with the {ours:g} that the model adds itself"
    else:
        why = f"expected the source's {expected:+g}" if expected else "expected the source's own values"
    return Explanation(NAME, "fail", f"offset {constant:+g} in every element: {why}", _REMEDY)
