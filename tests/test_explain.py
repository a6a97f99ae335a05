"""The rules' documents and the worked token, as the terminal shows them."""

import inspect

import pytest

from ln_audit import checks, explain
from ln_audit.errors import UsageError


@pytest.mark.parametrize("check", checks.CHECKS, ids=lambda check: check.RULE.name)
def test_a_rule_is_explained_by_id_or_name_in_its_own_words(check):
    document = explain.rule_document(check.RULE.id)
    assert document == explain.rule_document(check.RULE.name) == explain.rule_document(check.RULE.id.lower())
    assert document == f"{check.RULE.id} {check.RULE.name}\n\n{inspect.cleandoc(check.__doc__)}\n"


def test_an_unknown_rule_is_a_usage_error():
    with pytest.raises(UsageError, match="rule 'LN998': expected a rule's id or name"):
        explain.rule_document("LN998")


def test_the_overview_has_formula_token_and_every_rule():
    text = explain.overview()
    assert "y = g·z + b" in text
    assert all(f"  {check.RULE.id}  {check.RULE.name} " in text for check in checks.CHECKS)
    assert [len(line) <= 140 for line in text.splitlines()].count(False) == 0
