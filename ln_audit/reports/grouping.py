"""Findings that say the same of many norms, said once: `h.{0…11}.ln_1: expected a gain, found no such tensor`.

Where they say the same but for what was measured, the worst of them says it, in digits that a person reads.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from ln_audit.result import Finding

# A number that stands alone is a measured one (`found 0.25`), and so is a digest; digits inside a name (`h.3.ln_1`) are an index.
_NUMBER = re.compile(
    r"(?P<alone>(?<![\w.])[0-9a-f]{12}(?![\w.])|(?<![\w.])-?[0-9]+(?:,[0-9]{3})*(?:\.[0-9]+)?(?:e[+-]?[0-9]+)?(?!\w|\.\w))|[0-9]+"
)
_WORD = re.compile(r"[^\W\d]*\W*\Z")  # what stands right before a number: `experts.`
_BETWEEN = "\0"  # no finding has one: their text is one printable line
# A measured number, as messages write them: between spaces or brackets, never a part of a name.
_DECIMAL = re.compile(r"(?<![^\s(\[])-?[0-9]+(?:\.[0-9]+(?:e[+-]?[0-9]+)?|e[+-]?[0-9]+)(?=[\s,;)\]]|\Z)")
_WHOLE = re.compile(r"(?<![^\s(\[])-?[0-9]+(?=[\s,;)\]]|\Z)")
_DIGITS, _ALL_DIGITS = 6, 17  # that a person reads, and that tell every float64; JSON has them all
_HOW_FAR = ("apart", "max_error_ratio")  # evidence that says how far off a finding is
_MOST_RUNS = 8
_MOST_DIGITS = 9  # of an index; what is longer is no layer's number


@dataclass(frozen=True, slots=True)
class Group:
    """Findings of one rule whose words are the same, and what they say together. `count` 1: as it stands."""

    first: Finding
    count: int
    subject: str
    message: str
    reason: str


def grouped(findings: Iterable[Finding]) -> list[Group]:
    """The findings in groups, in the order of each one's first.

    A group's names are exact: its members differ in one index, and `{…}` lists all that it takes. Where measured numbers
    differ, the message is that of one member, the one furthest off where the findings say how far each is.
    """
    alike: dict[tuple[object, ...], list[Finding]] = {}
    for finding in findings:
        key = (finding.rule, finding.status, finding.required, _NUMBER.sub("0", _text(finding)))
        alike.setdefault(key, []).append(finding)
    return [group for same in alike.values() for group in _parts(same)]


def _text(finding: Finding) -> str:
    return _BETWEEN.join((finding.subject, finding.message, finding.reason))


def _parts(same: Sequence[Finding]) -> Iterator[Group]:
    """Findings of the same words, apart by every index but the one that takes the most values."""
    texts = [_text(finding) for finding in same]
    columns = [*zip(*(_numbers(text) for text in texts), strict=True)]
    indexes = {column for column, is_index in zip(columns, _index(texts[0]), strict=True) if is_index}
    varying = sorted(
        (column for column in indexes if len(set(column)) > 1), key=lambda column: (-len(set(column)), column)
    )
    if _in_step(texts[0], columns):
        yield from map(_brief, same)
        return
    apart: dict[tuple[str, ...], list[int]] = {}
    for at in range(len(same)):
        apart.setdefault(tuple(column[at] for column in varying[1:]), []).append(at)
    for members in apart.values():
        if not varying or len(members) == 1:  # the same norm more than once: each says something of its own
            yield from (_brief(same[at]) for at in members)
        else:
            yield _together([same[at] for at in members], [texts[at] for at in members])


def _in_step(text: str, columns: Sequence[tuple[str, ...]]) -> bool:
    """Whether two indexes of the subject vary together, as layer and expert may: `{0, 1}` twice would be read as all four."""
    subject = text.index(_BETWEEN)
    words: dict[tuple[str, ...], set[str]] = {}
    for match, column in zip(_NUMBER.finditer(text, 0, subject), columns, strict=False):
        before = _WORD.search(text, 0, match.start())
        words.setdefault(column, set()).add("" if before is None else before[0])
    return any(len(each) > 1 for column, each in words.items() if len(set(column)) > 1)


def _numbers(text: str) -> list[str]:
    return [match[0] for match in _NUMBER.finditer(text)]


def _index(text: str) -> list[bool]:
    """Of each number whether it is part of a name: all of the subject, and those inside words."""
    subject = text.index(_BETWEEN)
    return [match.start() < subject or match["alone"] is None for match in _NUMBER.finditer(text)]


def alone(finding: Finding) -> Group:
    """A finding by itself, word for word."""
    return Group(finding, 1, finding.subject, finding.message, finding.reason)


def _brief(finding: Finding) -> Group:
    return Group(finding, 1, finding.subject, brief(finding.message), brief(finding.reason))


def _together(members: Sequence[Finding], texts: Sequence[str]) -> Group:
    columns = [*zip(*(_numbers(text) for text in texts), strict=True)]
    flags = _index(texts[0])
    names = {column for column, is_index in zip(columns, flags, strict=True) if is_index}
    told = iter(_all_of(column) if column in names else column[0] for column in columns)
    subject, message, reason = _NUMBER.sub(lambda _: next(told), texts[0]).split(_BETWEEN)
    measured = _measured(texts[0], [column not in names and len(set(column)) > 1 for column in columns])
    if any(measured):
        one, which = _worst(members)
        if measured[0]:
            message, reason = f"{one.message}; {which} of {subject}", one.reason
        else:
            reason = f"for example: {one.reason}"
    return Group(members[0], len(members), subject, brief(message), brief(reason))


def _measured(text: str, varies: Sequence[bool]) -> tuple[bool, bool]:
    """Whether a number that is part of no name varies in the message, and in the reason."""
    _, message, _ = text.split(_BETWEEN)
    begins = text.index(_BETWEEN)
    ends = begins + 1 + len(message)
    at = [match.start() for match, vary in zip(_NUMBER.finditer(text), varies, strict=True) if vary]
    return any(begins < place < ends for place in at), any(place > ends for place in at)


def _worst(members: Sequence[Finding]) -> tuple[Finding, str]:
    """The member that is furthest off, as its evidence says, or one of them."""
    for key in _HOW_FAR:
        apart = [finding.evidence.get(key) for finding in members]
        if all(isinstance(each, (int, float)) for each in apart):
            return max(zip(apart, members, strict=True), key=lambda pair: float(pair[0] or 0))[1], "the worst"
    return members[0], "one"


def brief(text: str) -> str:
    """The text with decimal numbers in six digits, or in as many as keep those apart that are not the same."""
    found = {match[0] for match in _DECIMAL.finditer(text)}
    whole = {float(match[0]) for match in _WHOLE.finditer(text)}
    for digits in range(_DIGITS, _ALL_DIGITS):
        shorter = {each: min(f"{float(each):.{digits}g}", each, key=len) for each in found}
        if len(whole.union(map(float, shorter.values()))) == len(whole.union(map(float, found))):
            return _DECIMAL.sub(partial(_as, shorter), text)
    return text


def _as(shorter: Mapping[str, str], match: re.Match[str]) -> str:
    return shorter[match[0]]


def _all_of(values: Sequence[str]) -> str:
    """{0…11}, {0…4, 6…11}, {1, 3}: every value of an index."""
    distinct = [*dict.fromkeys(values)]
    if len(distinct) == 1:
        return distinct[0]
    if any(len(value) > _MOST_DIGITS or not value.isdecimal() or str(int(value)) != value for value in distinct):
        return f"{{{', '.join(distinct[:_MOST_RUNS])}{', …' * (len(distinct) > _MOST_RUNS)}}}"
    numbers = sorted(map(int, distinct))
    starts = [numbers[0], *(after for before, after in pairwise(numbers) if after != before + 1)]
    ends = [*(before for before, after in pairwise(numbers) if after != before + 1), numbers[-1]]
    runs = [_run(start, end) for start, end in zip(starts, ends, strict=True)]
    shown = runs if len(runs) <= _MOST_RUNS else [*runs[: _MOST_RUNS - 2], "…", runs[-1]]
    return f"{{{', '.join(shown)}}}"


def _run(start: int, end: int) -> str:
    return str(start) if start == end else f"{start}, {end}" if end == start + 1 else f"{start}…{end}"
