"""The rules in a SARIF log: each with its own document, which is the check's docstring."""

from __future__ import annotations

import re
from typing import Any

from ln_audit import checks

INCOMPLETE = "incomplete"  # no rule of ours: the audit itself came to no verdict
_WORDS = re.compile(r"^(What it does|Why it matters|Example|How to mend):", re.MULTILINE)

INCOMPLETE_RULE: dict[str, Any] = {
    "id": INCOMPLETE,
    "name": "NoVerdict",
    "shortDescription": {"text": "The audit came to no verdict."},
    "fullDescription": {
        "text": "Something that the verdict depends on was not decided: unreadable, unsupported, unknown, or not asked for "
        "rightly. Nothing is known to be wrong with the artifact, and nothing to be right."
    },
    "help": {"text": "Do what the message says, and run ln-audit again."},
    "defaultConfiguration": {"level": "error"},
}


def descriptor(rule: str) -> dict[str, Any]:
    """A rule by its id. Raises `UsageError` for an unknown one, which no finding has."""
    check = checks.find(rule)
    document = checks.document(check)
    return {
        "id": check.RULE.id,
        "name": "".join(word.capitalize() for word in check.RULE.name.split("-")),
        "shortDescription": {"text": checks.summary(check)},
        "fullDescription": {"text": document.partition("\n\n")[2].partition("\n\n")[0].replace("\n", " ")},
        "help": {"text": document, "markdown": _WORDS.sub(r"**\1:**", document)},
        "defaultConfiguration": {"level": "error"},
        "properties": {"name": check.RULE.name},
    }
