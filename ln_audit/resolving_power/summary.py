"""Resolving power in words, for findings and reports."""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from ln_audit.comparison import Comparison
    from ln_audit.core import Norm

    Entry = Mapping[str, Any]

_MOST = 6  # names that are written out


def can_tell(comparison: Comparison) -> str:
    """`74 faults: epsilon, kind (1 of 2), …`; empty where nothing can be told."""
    told, left = by_hypothesis(comparison.can_tell), by_hypothesis(comparison.cannot_tell)
    kinds = [
        f"{name} ({len(entries)} of {len(entries) + len(left[name])})" if name in left else name
        for name, entries in told.items()
    ]
    count = len(comparison.can_tell)
    return f"{count} fault{'' if count == 1 else 's'}: {', '.join(kinds)}" if count else ""


def hidden(comparison: Comparison) -> Mapping[str, Sequence[Entry]]:
    """By hypothesis, the faults that would have passed because these rows hide them."""
    return by_hypothesis(each for each in comparison.cannot_tell if each["hidden_by"] == "these rows")


def not_met(comparison: Comparison) -> Sequence[Entry]:
    """The faults that strike only rows such as were not recorded: huge ones, or of a mean far above their deviation."""
    return [each for each in comparison.cannot_tell if each["hidden_by"] != "these rows"]


def changes(comparison: Comparison) -> str:
    """`a gain off by 8.8e-07 of its value, by 1.2e-06 in channel 15; a bias …`; empty where the norm has neither."""
    said = []
    for each in comparison.smallest_changes:
        least, most, unseen = each["smallest"], each["largest"], each["unseen_channels"]
        if least is None:  # all zero: no change is relative to that
            continue
        if least == inf:
            said.append(f"no {each['parameter']} that is off, in any channel")
            continue
        others = f"{unseen:,} channels, among them " if most == inf and unseen > 1 else ""
        weakest = f"{f'by {most:.2g}' if most < inf else 'none'} in {others}channel {each['weakest_channel']}"
        said.append(f"a {each['parameter']} off by {least:.2g} of its value, {weakest}")
    return "; ".join(said)


def of_rounding(ratio: float) -> str:
    """An error ratio in plain words: 21 % of what rounding explains; 12 times what rounding explains."""
    if ratio < 0.995:
        return f"{100 * ratio:.2g} % of what rounding explains"
    return f"{ratio:.3g} times what rounding explains"


def source_of_epsilon(norm: Norm) -> str:
    """Where epsilon was read, which a recording of large rows cannot confirm."""
    written = norm.eps_origin == "written"
    return f"; epsilon was checked in {norm.eps_source}" if written else f"; epsilon is {norm.eps_source}"


def lines(comparison: Comparison) -> Iterator[str]:
    """What a report says below a recording that fits, besides the findings of LN202."""
    if unmet := not_met(comparison):
        yield f"no row of it could show: {'; '.join(listed(entries) for entries in by_hypothesis(unmet).values())}"
    if seen := changes(comparison):
        yield f"would have seen {seen}"


def by_hypothesis(entries: Iterable[Entry]) -> Mapping[str, list[Entry]]:
    """Grouped, in the order of the registry."""
    groups: dict[str, list[Entry]] = {}
    for each in entries:
        groups.setdefault(str(each["hypothesis"]), []).append(each)
    return groups


def listed(entries: Iterable[Entry]) -> str:
    """Their names with the words that they share written once: `epsilon 0, 1e-12 or 1e-06 instead of 1e-05`."""
    names = list(dict.fromkeys(str(each["name"]) for each in entries))
    shown = [name.split() for name in names[:_MOST]]
    if not shown:
        return ""
    shortest = min(len(words) for words in shown) - 1
    first, *others = shown
    head = next((at for at in range(shortest) if any(words[at] != first[at] for words in others)), shortest)
    room = shortest - head
    tail = next((at for at in range(room) if any(words[-1 - at] != first[-1 - at] for words in others)), room)
    inner = [" ".join(words[head : len(words) - tail]) for words in shown]
    more = f" and {len(names) - len(shown)} more" if len(names) > len(shown) else ""
    last = inner.pop()
    middle = f"{', '.join(inner)}{', ' if more else ' or '}{last}" if inner else last
    return " ".join([*first[:head], middle, *first[len(first) - tail :]]) + more
