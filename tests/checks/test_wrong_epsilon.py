import math
from dataclasses import replace

import pytest

from ln_audit.checks import wrong_epsilon
from ln_audit.core import Declared, Place
from tests.checks.subject_builder import WHOLE, found, norm, subject

CONFIG = Place("config.json: layer_norm_epsilon", 1e-5)


def test_one_epsilon_for_all_norms_is_one_finding():
    assert found(wrong_epsilon, subject(WHOLE, norm("h.0.ln_1"), norm())) == [
        ("pass", "all 2 norms", "epsilon 1e-05 (config.json: layer_norm_epsilon)")
    ]


def test_places_are_compared_as_float32():
    twice = (CONFIG, Place("key", 9.999999747378752e-06))
    assert found(wrong_epsilon, subject(WHOLE, norm(eps_places=twice)))[0][0] == "pass"


@pytest.mark.parametrize(
    ("places", "message"),
    [
        (
            (Place("--eps", 1e-6), CONFIG),
            "config.json: layer_norm_epsilon: expected epsilon 1e-06 (--eps), found 1e-05",
        ),
        ((CONFIG, Place("x", 1e39)), "x: expected epsilon 1e-05 (config.json: layer_norm_epsilon), found 1e+39"),
    ],
)
def test_places_that_differ_fail(places, message):
    assert found(wrong_epsilon, subject(WHOLE, norm(eps_places=places))) == [("fail", "ln_f", message)]


def test_what_the_container_and_recordings_state_counts():
    made = subject(WHOLE, norm(), recorded=(("ln_f", Place("run: eps", 1e-6)), ("other", Place("x", 3.0))))
    assert found(wrong_epsilon, made) == [
        ("fail", "ln_f", "run: eps: expected epsilon 1e-05 (config.json: layer_norm_epsilon), found 1e-06")
    ]
    made = subject(WHOLE, norm())
    made = replace(made, checkpoint=replace(made.checkpoint, declared=(Declared("epsilon", 1e-12, "node 3"),)))
    assert found(wrong_epsilon, made)[0][0] == "fail"


def test_the_loaders_default_is_a_place_too():
    default = norm(
        eps_origin="default", eps_source="the loader's default, config.json has no layer_norm_epsilon", eps_places=()
    )
    assert found(wrong_epsilon, subject(WHOLE, default))[0][0] == "warn"
    made = subject(WHOLE, default, recorded=(("ln_f", Place("run: eps", 1e-6)),))
    assert found(wrong_epsilon, made)[0][0] == "fail"


@pytest.mark.parametrize("value", [math.nan, math.inf, -1e-5])
def test_what_is_no_positive_finite_number_fails(value):
    assert found(wrong_epsilon, subject(WHOLE, norm(eps=value)))[0] == (
        "fail", "ln_f", f"config.json: layer_norm_epsilon: expected a positive finite epsilon, found {value}",
    )  # fmt: skip


def test_one_beyond_float32_is_as_infinite_as_it_will_be_in_the_model():
    assert found(wrong_epsilon, subject(WHOLE, norm(eps=1e308)))[0] == (
        "fail", "ln_f",
        "config.json: layer_norm_epsilon: expected a positive finite epsilon, found 1e+308, infinite as float32",
    )  # fmt: skip


@pytest.mark.parametrize(("value", "told"), [(0.0, "0"), (1e-300, "1e-300, which is 0 as float32")])
def test_zero_is_a_warning(value, told):
    zero = norm(eps=value, eps_places=(Place("config.json: layer_norm_epsilon", value),))
    (finding,) = wrong_epsilon.check(subject(WHOLE, zero))
    assert (finding.status, finding.message) == (
        "warn",
        f"config.json: layer_norm_epsilon: expected a positive epsilon, found {told}",
    )


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        (
            {"eps": None, "eps_origin": "unknown", "eps_source": "nobody says it", "eps_places": ()},
            "epsilon is unknown: give it with --eps or --config",
        ),
        (
            {"eps_origin": "assumed", "eps_source": "assumed: the family's usual value, no config", "eps_places": ()},
            "epsilon 1e-05 is only assumed: give the config with --config, or --eps",
        ),
        (
            {
                "eps": None,
                "eps_origin": "machine",
                "eps_source": "config.json: e is null: the machine epsilon",
                "eps_places": (),
            },
            "config.json: e is null: the machine epsilon: epsilon is unknown: give it with --eps or --config",
        ),
    ],
)
def test_an_epsilon_that_nobody_states_is_undecided_and_the_verdict_depends_on_it(changes, reason):
    (finding,) = wrong_epsilon.check(subject(WHOLE, norm(**changes)))
    assert (finding.status, finding.required, finding.reason) == ("skip", True, reason)


def test_a_config_that_holds_no_number_fails():
    source = "config.json: layer_norm_epsilon: expected a number, found '1e-5'"
    assert found(
        wrong_epsilon, subject(WHOLE, norm(eps=None, eps_origin="wrong", eps_source=source, eps_places=()))
    ) == [("fail", "ln_f", source)]
