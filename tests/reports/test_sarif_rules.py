"""Every rule has a descriptor that says what it checks and how it is mended."""

import pytest

from ln_audit import checks
from ln_audit.reports.sarif_rules import descriptor


@pytest.mark.parametrize("check", checks.CHECKS, ids=lambda check: check.RULE.name)
def test_a_descriptor_is_the_rules_own_document(check):
    made = descriptor(check.RULE.id)
    assert (made["id"], made["properties"]["name"]) == (check.RULE.id, check.RULE.name)
    assert made["name"].lower() == check.RULE.name.replace("-", "")
    assert made["shortDescription"]["text"] == checks.summary(check)
    assert made["fullDescription"]["text"].startswith("What it does: ")
    assert all(
        f"\n**{word}:** " in made["help"]["markdown"]
        for word in ("What it does", "Why it matters", "Example", "How to mend")
    )
