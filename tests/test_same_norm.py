"""Norms are called the same in every container."""

from ln_audit.same_norm import keyed
from tests.checks.subject_builder import norm


def test_the_familys_own_name_and_the_stack_tell_a_norm():
    one, two = norm("transformer.ln_f"), norm("vision.ln_f", promised="ln_f", stack="vision")
    assert keyed([one, two]) == {("decoder", "ln_f", 1): one, ("vision", "ln_f", 1): two}


def test_norms_of_one_name_in_one_stack_are_counted():
    one, two = norm("talker.norm", promised="norm"), norm("thinker.norm", promised="norm")
    assert list(keyed([one, two])) == [("decoder", "norm", 1), ("decoder", "norm", 2)]


def test_what_no_family_names_has_its_own_name_on_one_line():
    assert list(keyed([norm("a\nb", promised="", stack=None)])) == [(None, "a\\nb", 1)]
