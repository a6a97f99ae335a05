"""An explanation says what was done, and how it is mended."""

from ln_audit.against.explanation import Explanation


def test_an_explanation_is_told_with_its_remedy():
    found = Explanation("offset", "fail", "offset -1 in every element", "convert again")
    assert (found.status, found.text, found.remedy) == ("fail", "offset -1 in every element", "convert again")
