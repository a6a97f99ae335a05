"""Numbers, and what is known of a norm, as people read them."""

import pytest

from ln_audit.reports.wording import count, facts, size
from tests.checks.subject_builder import norm


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0, "0 B"),
        (999, "999 B"),
        (1000, "1.0 kB"),
        (548_105_171, "548.1 MB"),
        (141 * 10**9, "141.0 GB"),
        (2 * 10**15, "2000.0 TB"),
    ],
)
def test_sizes(number, text):
    assert size(number) == text


def test_counts():
    assert [count(n, "request") for n in (0, 1, 2, 1000)] == ["0 requests", "1 request", "2 requests", "1,000 requests"]


@pytest.mark.parametrize(
    ("eps", "told"),
    [(9.999999747378752e-06, "epsilon 1e-05 (m.gguf: eps)"), (None, "epsilon unknown")],
)
def test_what_is_known_of_a_norm(eps, told):
    assert facts(norm(eps=eps, eps_source="m.gguf: eps")) == f"layer_norm, 4 wide, {told}"
