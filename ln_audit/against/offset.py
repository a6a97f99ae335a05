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
        why = f"the {expected:+g} was never applied"
    elif expected and constant == expected:
        why = f"the {expected:+g} was applied twice"
    elif ours and constant == -ours:
        why = f"stored without the {ours:g} twice over"
    elif ours and constant == ours:
        why = f"stored with the {ours:g} that the model adds itself: it is added twice"
    else:
        why = f"the gain should be stored as the source's {expected:+g}"
    told = f"offset {constant:+g} in every element, expected stored values to be the source's {expected:+g}: {why}"
    return Explanation(NAME, "fail", told, _REMEDY)
