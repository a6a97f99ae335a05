"""Another norm's values under this one's name: two norms of a layer, or two layers, changed places."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ln_audit.against.explanation import Explanation

if TYPE_CHECKING:
    from ln_audit.against.difference import Difference

NAME = "swapped"


def explain(difference: Difference) -> Explanation | None:
    """Exactly the values of another norm of the source; which one is named, the same layer's first."""
    holders = difference.twins.holders(difference.part, difference.artifact)
    layer = difference.pair.source.layer
    others = [name for name in holders if name != difference.pair.source.name]
    if not others or len(holders) > _MOST:  # many norms of equal values (all ones) say nothing
        return None
    where = {norm.name: norm for norm in difference.twins.source.norms}
    nearest = min(others, key=lambda name: (name not in where or where[name].layer != layer, others.index(name)))
    kind = (
        "the same layer"
        if nearest in where and where[nearest].layer == layer and layer is not None
        else "another layer"
    )
    told = f"the values of {nearest}, a norm of {kind}"
    return Explanation(NAME, "fail", told, "two norms changed places, or one was copied over the other")


_MOST = 2
