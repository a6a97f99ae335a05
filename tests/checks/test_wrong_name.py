import pytest

from ln_audit.checks import wrong_name
from tests.checks.subject_builder import WHOLE, found, norm, subject


def test_right_names_pass_and_show_the_spelling():
    assert found(wrong_name, subject(WHOLE, norm())) == [
        ("pass", "model.safetensors", "names as the loader expects them (ln_f.weight, …)")
    ]


@pytest.mark.parametrize(
    ("name", "expected", "reason"),
    [
        ("ln_f.gamma", "ln_f.weight", "the loader re-initialises it: rename 'gamma' to 'weight'"),
        (
            "module._orig_mod.ln_f.weight",
            "ln_f.weight",
            "the loader re-initialises it: strip the prefix 'module._orig_mod.'",
        ),
        ("module.ln_f.gamma", "ln_f.weight", "the loader re-initialises it: rename it to ln_f.weight"),
    ],
)
def test_a_wrong_name_fails_with_the_way_to_mend_it(name, expected, reason):
    (finding,) = wrong_name.check(subject(WHOLE, norm(misnamed=((name, expected),))))
    assert (finding.status, finding.message, finding.reason) == (
        "fail", f"model.safetensors: {name}: expected {expected}, found another name", reason,
    )  # fmt: skip


def test_nothing_there_says_nothing():
    assert found(wrong_name, subject({}, norm())) == []
