"""The trace as it stands in the terminal, whole."""

from typing import Any

from ln_audit.trace.stream import Magnitude, Outlier, Trace
from ln_audit.trace.text import render


def magnitude(name: str, mean_norm: float | None, outliers: tuple[Outlier, ...] = ()) -> Magnitude:
    return Magnitude(name, 3, mean_norm, outliers)


def a_trace(**changes) -> Trace:
    fields: dict[str, Any] = {
        "recording": "run.safetensors",
        "norm": "ln_f",
        "width": 768,
        "states": (
            magnitude("hidden_states.0", 4.0),
            magnitude("hidden_states.1", 6.0),
            magnitude("hidden_states.2", 8.0),
        ),
        "before": magnitude("before", 12.0),
        "after": magnitude("after", 8.0),
        "equal_to_before": (),
        "equal_to_after": ("hidden_states.2",),
        "reproduces_after": None,
    }
    return Trace(**(fields | changes))


def test_a_whole_trace_is_drawn_in_the_order_of_the_layers():
    assert render(a_trace()) == (
        "run.safetensors: 3 positions, 768 channels\n"
        "residual stream, mean L2 norm per position\n"
        "  hidden_states.0         4.00  ████████\n"
        "  hidden_states.1         6.00  ████████████              +2.00  ×1.500\n"
        "  before                 12.00  ████████████████████████  +6.00  ×2.000\n"
        "the norm ln_f\n"
        "  before                 12.00  ████████████████████████\n"
        "  after                   8.00  ████████████████          -4.00  ×0.667\n"
        "outlier channels (mean |x| above 6 × the median channel's): none\n"
        "hidden_states.2 equals after in every number: the norm is already applied (usual for the last state that transformers returns)"
    )


def test_bars_are_drawn_to_an_eighth_of_a_character():
    lines = render(a_trace(after=magnitude("after", 12.0 * 21 / 192))).splitlines()
    assert "  after                   1.31  ██▋                       -10.69  ×0.109" in lines


def test_outlier_channels_are_named_with_size_and_ratio_and_counted_beyond_five():
    outliers = tuple(Outlier(channel, 100.0 - channel, 50.0 - channel) for channel in range(7))
    lines = render(a_trace(before=magnitude("before", 12.0, outliers))).splitlines()
    assert lines[-3:-1] == [
        "outlier channels (mean |x| above 6 × the median channel's)",
        "  before            0 (100.00, 50.0 ×), 1 (99.00, 49.0 ×), 2 (98.00, 48.0 ×), 3 (97.00, 47.0 ×), 4 (96.00, 46.0 ×) and 2 more",
    ]


def test_a_state_that_is_not_finite_has_neither_bar_nor_growth():
    lines = render(a_trace(before=magnitude("before", None))).splitlines()
    assert lines[3:8] == [
        "  hidden_states.1         6.00  ██████████████████        +2.00  ×1.500",
        "  before            not finite",
        "the norm ln_f",
        "  before            not finite",
        "  after                   8.00  ████████████████████████",
    ]


def test_all_zero_states_have_empty_bars_and_no_ratio():
    zero = magnitude("before", 0.0)
    text = render(a_trace(states=(), before=zero, after=magnitude("after", 0.0), equal_to_after=()))
    assert text.splitlines()[1:4] == [
        "the norm ln_f",
        "  before                     0",
        "  after                      0",
    ]


def test_very_large_and_very_small_magnitudes_keep_their_digits():
    lines = render(a_trace(before=magnitude("before", 1.25e9), after=magnitude("after", 1.25e-7))).splitlines()
    assert [line.split()[1] for line in lines[5:8]] == ["norm", "1.25e+09", "1.25e-07"]


def test_without_hidden_states_it_says_so():
    lines = render(a_trace(states=(), equal_to_after=())).splitlines()
    assert lines[1] == "the norm ln_f"
    assert lines[-1] == "no hidden states recorded: only the two sides of the norm"


def test_what_the_parameters_showed_is_said():
    fitting = render(a_trace(equal_to_before=("hidden_states.1",), reproduces_after=("hidden_states.1",))).splitlines()
    assert fitting[-3:] == [
        "hidden_states.2 equals after in every number: the norm is already applied (usual for the last state that transformers returns)",
        "hidden_states.1 equals before in every number: it is what the norm was given",
        "hidden_states.1, put through the norm, gives after within its tolerance",
    ]
    nothing = render(a_trace(equal_to_after=(), reproduces_after=())).splitlines()
    assert nothing[-2:] == [
        "none of the hidden states equals before or after",
        "none of the hidden states, put through the norm, gives after",
    ]


def test_names_from_the_file_cannot_steer_the_terminal():
    text = render(a_trace(recording="a\x1b[2Jb", norm="\x1b]0;x\x07"))
    assert text.startswith("a\\x1b[2Jb: 3 positions")
    assert "the norm \\x1b]0;x\\x07\n" in text
