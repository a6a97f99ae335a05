"""Whatever callers of the library hand over: the value that it stands for, or a `UsageError` that names the argument."""

import inspect
from fractions import Fraction
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ln_audit
from ln_audit import arguments, in_process
from ln_audit.errors import LnAuditError, UsageError
from ln_audit.saving import verify_saved
from tests.shared import FIXTURES

GOOD = FIXTURES / "good" / "gpt2-recorded"
X = np.random.default_rng(5).normal(size=(2, 4))
Y = ln_audit.layer_norm(X, None, None, 1e-5).y


class Odd:
    """An object all of whose methods fail."""

    def __fspath__(self) -> str:
        raise RuntimeError("odd")

    def __iter__(self) -> Any:
        raise LookupError("odd")

    def __float__(self) -> float:
        raise ZeroDivisionError("odd")

    def __array__(self, *_: object, **__: object) -> Any:
        raise AttributeError("odd")

    def item(self) -> Any:
        raise ValueError("odd")


class BytesPath:
    """A path whose name is bytes."""

    def __fspath__(self) -> bytes:
        return b"x"


ODD: st.SearchStrategy[Any] = st.one_of(
    st.binary(max_size=3),
    st.integers(-3, 3),
    st.sampled_from([
        float("nan"), float("inf"), -1.0, 1j, object(), Odd(), BytesPath(), {}, {"a": 1}, {1}, [], [None], [b"x"], (3,),
        [[1.0], [1.0, 2.0]], True, False, ..., NotImplemented, int, len, np.float64("nan"), np.array([]), np.array(["a"]),
        np.ones((2, 4, 3)), np.ones(3), np.datetime64("2026-01-01"), np.ma.masked_array([1.0]), bytearray(b"x"), memoryview(b"x"),
        Fraction(1, 3), range(2), 10**400, "", "no", "all", "1e-5", "\0", "\ud800", "x" * 5000, f"{'x' * 5000}.toml", "./\udc80", "a\nb",
    ]),
)  # fmt: skip


def generated() -> Any:
    """Something that can be walked through once, and is no word."""
    return (each for each in ("a", b"b"))


@pytest.mark.parametrize(
    ("reader", "value", "expected"),
    [
        (arguments.word, "a", "a"),
        (arguments.word, Path("a/b"), "a/b"),
        (arguments.words, "a", ("a",)),
        (arguments.words, PurePosixPath("a"), ("a",)),
        (arguments.words, ["a", Path("b")], ("a", "b")),
        (arguments.words, (each for each in "ab"), ("a", "b")),
        (arguments.words, (), ()),
        (arguments.switch, True, True),
        (arguments.number, 1, 1.0),
        (arguments.number, np.float32(0.5), 0.5),
        (arguments.number, np.array([[0.5]]), 0.5),
        (arguments.epsilon, 0, 0.0),
        (arguments.whole_number, np.int64(-1), -1),
        (arguments.told, {"a": "b"}, {"a": "b"}),
    ],
)
def test_what_is_meant_is_what_it_becomes(reader: Any, value: Any, expected: Any) -> None:
    assert reader("it", value) == expected


@pytest.mark.parametrize(
    ("reader", "value", "expected"),
    [
        (arguments.word, b"x", "a word or a path, found b'x'"),
        (arguments.word, 3, "a word or a path, found 3"),
        (arguments.word, "\ud800", "a word or a path, found '\\ud800'"),
        (arguments.word, BytesPath(), "a word or a path, found <"),
        (arguments.word, Odd(), "a word or a path, found <"),
        (arguments.words, b"ab", "a word or a path, or a list of them, found b'ab'"),
        (arguments.words, {"a": 1}, "a word or a path, or a list of them, found {'a': 1}"),
        (arguments.words, Odd(), "a word or a path, found <"),
        (arguments.words, 3, "a word or a path, or a list of them, found 3"),
        (arguments.words, ["a", None], "a word or a path, found None"),
        (arguments.words, generated(), "a word or a path, found b'b'"),
        (arguments.switch, "no", "a switch, found 'no'"),
        (arguments.switch, 1, "a switch, found 1"),
        (arguments.number, "1e-5", "a number, found '1e-5'"),
        (arguments.number, True, "a number, found True"),
        (arguments.number, np.ones(2), "a number, found array([1., 1.])"),
        (arguments.number, 10**400, "a number, found 1000"),
        (arguments.number, float("nan"), "a finite number, found nan"),
        (arguments.epsilon, -1e-5, "a number not below 0, found -1e-05"),
        (arguments.whole_number, 1.0, "a whole number, found 1.0"),
        (arguments.whole_number, True, "a whole number, found True"),
        (arguments.whole_number, np.array([]), "a whole number, found array([]"),
        (arguments.told, {"a": 1}, "words by words, a mapping, found {'a': 1}"),
        (arguments.told, "ab", "words by words, a mapping, found 'ab'"),
    ],
)
def test_what_is_something_else_is_said_with_its_name(reader: Any, value: Any, expected: str) -> None:
    with pytest.raises(UsageError) as caught:
        reader("it", value)
    assert caught.value.message.startswith(f"it: expected {expected}")


def test_a_choice_is_one_of_its_words():
    assert arguments.choice("it", "b", ("a", "b", "c")) == "b"
    others: tuple[Any, ...] = ("d", 1, [], None, np.array(["a"]))
    for value in others:
        with pytest.raises(UsageError, match="it: expected a, b or c, found ") as caught:
            arguments.choice("it", value, ("a", "b", "c"), "take b")
        assert caught.value.hint == "take b"
    with pytest.raises(UsageError, match="kind: expected layer_norm or rms_norm, found 'layernorm'") as caught:
        arguments.choice("kind", "layernorm", ("layer_norm", "rms_norm"), "otherwise")
    assert caught.value.hint.startswith("did you mean layer_norm")


def test_an_option_that_is_none_was_not_given():
    assert arguments.options({"lock": None, "eps": 1, "strict": False, "require": "all"}) == {
        "eps": 1.0,
        "strict": False,
        "require": ("all",),
    }


FUNCTIONS: dict[str, tuple[Any, tuple[Any, ...], dict[str, Any]]] = {
    "verify": (ln_audit.verify, (GOOD,), {}),
    "report": (ln_audit.report, (GOOD,), {}),
    "compare_recording": (ln_audit.compare_recording, (GOOD / "run.safetensors", GOOD), {}),
    "load_norms": (ln_audit.load_norms, (GOOD,), {}),
    "verify_saved": (verify_saved, (GOOD,), {"on_failure": "warn"}),
    "assert_norm": (ln_audit.assert_norm, (X, Y), {"kind": "layer_norm", "eps": 1e-5}),
    "compare_arrays": (ln_audit.compare_arrays, (X, Y), {"kind": "layer_norm", "eps": 1e-5}),
    "layer_norm": (ln_audit.layer_norm, (X, None, None, 1e-5), {}),
    "rms_norm": (ln_audit.rms_norm, (X, None, None, 1e-5), {}),
    "render": (ln_audit.render, (ln_audit.verify(GOOD),), {}),
}
# Where a value of another type than the signature's is what it stands for.
_TARGETS = ("target", "targets", "folder", "recording", "against", "config", "lock")


@pytest.fixture(autouse=True)
def alone(tmp_path, monkeypatch):
    """No network, and a working directory in which no word is a path."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")


def test_every_public_function_is_here_or_has_a_test_of_its_own():
    functions = {name for name in ln_audit.__all__ if inspect.isroutine(getattr(ln_audit, name))}
    assert functions - set(FUNCTIONS) == {"capture"}  # tests/peers/test_capture.py: it needs torch


@pytest.mark.parametrize("name", FUNCTIONS)
def test_an_odd_argument_is_said_and_is_never_a_bug_or_another_pass(name):
    function, positional, named = FUNCTIONS[name]
    names = [each for each in inspect.signature(function).parameters if each != "options"]
    asked = inspect.signature(ln_audit.verify).parameters if name == "verify_saved" else ()
    names += [each for each in asked if each not in ("targets", "pictures")]

    @settings(max_examples=150, deadline=None)
    @given(argument=st.sampled_from(names), value=ODD)
    def property_(argument: str, value: Any) -> None:
        given_, options = list(positional), dict(named)
        place = (
            list(inspect.signature(function).parameters).index(argument)
            if argument in inspect.signature(function).parameters
            else 99
        )
        if place < len(given_):
            given_[place] = value
        else:
            options[argument] = value
        try:
            found = function(*given_, **options)
        except UsageError:
            return
        except (LnAuditError, AssertionError):
            assert name != "verify"
        else:
            meant(argument, value, found)

    property_()


def meant(argument: str, value: Any, found: Any) -> None:
    """That a value which was accepted is one of those that the argument takes, or that nothing passed."""
    reports = found if isinstance(found, tuple) else getattr(found, "reports", ())
    if argument in _TARGETS and isinstance(value, str):
        assert all(getattr(report, "verdict", 1) != 0 for report in reports), (argument, value)
    elif argument in ("strict", "offline", "full", "pictures"):
        assert isinstance(value, bool)
    elif argument in ("eps", "offset", "weight_offset"):
        assert not isinstance(value, (bool, str, bytes))
        assert np.isfinite(np.asarray(value).item())
    elif argument == "require":
        assert isinstance(value, (str, list, dict, set, np.ndarray, range))


@pytest.mark.parametrize("empty", [[], (), iter(()), {}.keys()])
def test_no_recording_where_some_are_named_is_a_pattern_that_matched_none(empty):
    with pytest.raises(UsageError) as caught:
        ln_audit.verify(GOOD, recording=empty)
    assert caught.value.message == "recording: expected at least one recording, found none"
    with pytest.raises(UsageError, match="recording: expected at least one recording, found none"):
        in_process.verified(GOOD, recording=[])
    assert ln_audit.verify(GOOD, recording=None).verdict == "pass"
