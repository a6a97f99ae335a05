from ln_audit.comparison import Comparison


def test_a_comparison_shows_its_verdict_and_not_its_numbers():
    made = Comparison("ln_f", "rows.npz", "recording", "fail", "off-reference", "expected 1, found 2", positions=3)
    assert repr(made) == "<Comparison ln_f against rows.npz: fail, expected 1, found 2>"


def test_a_comparison_of_unknown_weights_does_not_call_them_the_same():
    assert Comparison("ln_f", "rows.npz", "recording", "pass", "agrees", "agrees").weights == "unknown"
