"""Every fault with the norms that it strikes and how it has to be seen: by which rule, of which subject, with which cause."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from scripts.family_faults import faults, own_size
from scripts.family_faults.expected import Expected
from scripts.family_faults.planting import RECORDINGS, Planted

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from scripts.family_faults.case import Case
    from scripts.family_faults.expected import Trial
    from scripts.family_faults.recorded import RecordedNorm

Struck = Literal["final", "block", "each pattern", "all judged"]
NONE, SINGLE, NARROW, STATED = RECORDINGS


@dataclass(frozen=True)
class Fault:
    """One fault. `expected` holds the right answer for each kind of recording that is given with it."""

    name: str
    short: str
    plant: Callable[[Case, RecordedNorm], Planted]
    strikes: tuple[Struck, ...]
    expected: Mapping[str, Expected]
    recorded: Literal["struck", "final"] = "struck"  # whose recording is given
    alone: Callable[[str], Trial] | None = None  # tried on the model type, not on the recorded model


def _fails(rule: str, subject: str = "{norm}$", says: str = "") -> Expected:
    return Expected("fails by", rule, subject, says)


def _by_rows(explained: str, *hidden: str) -> Expected:
    return Expected("fails by", "LN201", "{norm} against ", explained=explained, hidden=hidden)


def _values(explained: str) -> dict[str, Expected]:
    """A wrong value: the recording's digests say it first, without them the rows do.

    A digest of gain + 1 is also that of a stored gain + 1; then the rows say it with digests too.
    """
    rows = _by_rows(explained)
    stated = Expected("fails by", "LN203", "{norm} against ", otherwise=rows)
    return {SINGLE: rows, NARROW: stated, STATED: stated}


def _healthy(_case: Case, _norm: RecordedNorm) -> Planted:
    """No fault."""
    return Planted()


def _saved_narrow(case: Case, _norm: RecordedNorm) -> Planted:
    """No fault: the whole checkpoint in bfloat16, as most are published."""
    import ml_dtypes

    held = case.model.tensors
    return Planted({name: each.astype(ml_dtypes.bfloat16) for name, each in held.items() if each.dtype == "float32"})


_ALL = r"all \d+ gains|gain [+−-] 1"
_MOST = r"\d+ of \d+ gains|all \d+ gains"  # in bfloat16 the ones that are nearly right are right
_EPSILON = r"(best-fitting )?epsilon"
# A norm without parameters gives normed rows back as they are: then it is said that they were normed already.
_NORMED = replace(_by_rows(".*after is the same"), otherwise=Expected("warns by", "LN201", "{norm} against "))
_BOTH: tuple[Struck, ...] = ("final", "block")
_PASSES = Expected("passes")

FAULTS: tuple[Fault, ...] = (
    Fault("healthy", "healthy", _healthy, _BOTH, dict.fromkeys(RECORDINGS, _PASSES)),
    Fault("healthy, saved in bfloat16", "saved bf16", _saved_narrow, _BOTH, {NONE: _PASSES, NARROW: _PASSES}),
    Fault("healthy, every norm", "every", _healthy, ("all judged",), {SINGLE: _PASSES, NARROW: _PASSES}),
    Fault("healthy, at its own size", "own size", _healthy, (), {NONE: _PASSES}, alone=own_size.trial),
    Fault("final norm missing", "no final", faults.missing, ("final",), {NONE: _fails("LN001"), SINGLE: _fails("LN001")}),
    Fault("one other norm missing", "no block", faults.missing, ("each pattern",), {NONE: _fails("LN001")}),
    Fault("wrong shape", "shape", faults.wrong_shape, (*_BOTH, "each pattern"), {NONE: _fails("LN002")}),
    Fault("gain + 1", "+1", faults.gain_plus_one, _BOTH, _values(_ALL)),
    Fault("gain − 1", "−1", faults.gain_minus_one, _BOTH, _values(_ALL)),
    Fault(
        "reset to ones",
        "ones",
        faults.reset_to_ones,
        _BOTH,
        {NONE: Expected("warns by", "LN103", "{norm}$"), **_values(_MOST)},
    ),
    Fault("gain all zero", "zero", faults.all_zero, _BOTH, {NONE: _fails("LN102"), SINGLE: _fails("LN102")}),
    Fault("NaN", "NaN", faults.not_a_number, _BOTH, {NONE: _fails("LN101"), SINGLE: _fails("LN101")}),
    Fault("one exponent bit", "bit", faults.exponent_bit, _BOTH, _values(r"1 of \d+ gains")),
    Fault("norms of a layer swapped", "in layer", faults.swapped_in_layer, ("block",), _values("matches ")),
    Fault("layers swapped", "layers", faults.swapped_layers, ("block",), _values("matches ")),
    Fault(
        "epsilon × 10",
        "eps × 10",
        faults.epsilon_times_ten,
        _BOTH,
        {
            SINGLE: _by_rows(_EPSILON, "epsilon"),
            NARROW: _by_rows(_EPSILON, "epsilon"),
            STATED: _fails("LN008", "", "expected epsilon"),
        },
    ),
    Fault(
        "epsilon key dropped",
        "no eps",
        faults.epsilon_dropped,
        _BOTH,
        {
            NONE: Expected("warns by", "LN008", "", says="the loader's default"),
            SINGLE: _by_rows(_EPSILON, "epsilon"),
            NARROW: _by_rows(_EPSILON, "epsilon"),
            STATED: _fails("LN008", "", "expected epsilon"),
        },
    ),
    Fault("bias zeroed", "bias 0", faults.bias_zeroed, _BOTH, _values(r".*biases differ")),
    Fault("bias added", "bias +", faults.bias_added, _BOTH, {NONE: _fails("LN003")}),
    Fault("other kind stated", "kind told", faults.kind_stated, _BOTH, {STATED: _fails("LN009", ".*: kind$")}),
    Fault(
        "other kind run",
        "kind run",
        faults.kind_run,
        _BOTH,
        {SINGLE: _by_rows(r".* fits, .* does not", "kind"), NARROW: _by_rows(r".* fits, .* does not", "kind")},
    ),
    Fault(
        "hidden_states[-1] as before",
        "after",
        faults.after_as_before,
        ("final",),
        {SINGLE: _NORMED, NARROW: _NORMED},
    ),
    Fault(
        "hidden_states[-1] normed again",
        "again",
        faults.normed_again,
        ("final",),
        {SINGLE: Expected("warns by", "LN201", "{norm} against ")},
    ),
    Fault(
        "recording of another norm",
        "another",
        faults.another_norms_rows,
        _BOTH,
        _values("matches "),
    ),
    Fault(
        "other norm's values, final norm recorded",
        "unseen",
        faults.gain_plus_one,
        ("block",),
        {SINGLE: Expected("cannot be seen without the source", reason="finite, trained looking values of a norm that no "
                          "recording is of: only the source or a recording of that very norm shows them")},
        recorded="final",
    ),
)  # fmt: skip
