"""Every fault, its column in the table, and how it has to be seen."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from scripts.source_faults import faults, stated_faults
from scripts.source_faults.faults import block, final, gains, shifted

if TYPE_CHECKING:
    from collections.abc import Callable

    from scripts.source_faults.artifacts import Artifact
    from scripts.source_faults.faults import Planted

_LN301 = "LN301"


@dataclass(frozen=True)
class Seen:
    """How a fault is seen: by a finding of this status and rule, with this explanation ("" for none) where it is LN301's."""

    status: Literal["fail", "warn", "skip"]
    rule: str = _LN301
    explanation: str = ""
    why: str = ""  # where it is no failure: the reason


@dataclass(frozen=True)
class Fault:
    """One fault. `seen` may depend on the conversion: what the source and the artifact are."""

    name: str
    short: str
    plant: Callable[[Artifact], Planted | None]
    seen: Seen
    otherwise: tuple[Seen, ...] = ()  # other right answers


OFFSET = Seen("fail", explanation="offset")
EPSILON = Seen("fail")
BY_PLACES = Seen("fail", "LN008")  # the artifact contradicts itself, or its container asks for one
RESET = Seen("fail", explanation="initial values")
UNDECIDED = Seen(
    "skip",
    why="ones may be what a rotation folds into the next matrix, and matrices are compared only where both sides are "
    "safetensors or both GGUF: a recording decides",
)
STRANGE = Seen("warn", "LN003", why="a name that GGUF does not have for the family, which its loaders do not take")
FOLDED = Seen(
    "warn",
    explanation="folded scale",
    why="the config says that its method folds scales into norms; the other half was not read",
)

HEALTHY, NEVER, ANOTHER = "healthy", "the family's 1 never added", "another checkpoint of the same shape"

FAULTS: tuple[Fault, ...] = (
    Fault("final norm missing", "missing", faults.missing, Seen("fail", "LN001")),
    Fault("wrong shape", "shape", faults.longer, Seen("fail", "LN002"), (Seen("fail", explanation="a part"),)),
    Fault("first half of a sharded gain", "half", faults.first_half, Seen("fail", explanation="a part")),
    Fault("gain + 1, all norms", "+1 all", shifted(1, gains), OFFSET),
    Fault("gain + 1, the final norm only", "+1 final", shifted(1, final), OFFSET),
    Fault("gain + 1, one layer only", "+1 layer", shifted(1, faults.layer), OFFSET),
    Fault("gain + 1, one norm only", "+1 one", shifted(1, block), OFFSET),
    Fault("the family's 1 added twice", "+1 twice", faults.applied_twice, OFFSET),
    Fault(NEVER, "+1 never", faults.never_applied, OFFSET),
    Fault("gain − 1, all norms", "−1 all", shifted(-1, gains), OFFSET),
    Fault("truncated to bfloat16", "cut off", faults.cut_off, Seen("fail", explanation="truncated")),
    Fault("reset to ones", "ones", faults.reset, RESET, (UNDECIDED,)),
    Fault("all zero", "zero", faults.all_zero, RESET),
    Fault("NaN", "NaN", faults.not_a_number, Seen("fail", "LN101")),
    Fault("one bit", "bit", faults.one_bit, Seen("fail", explanation="one bit")),
    Fault("two norms of a layer swapped", "in layer", faults.swapped_in_layer, Seen("fail", explanation="swapped")),
    Fault("two layers swapped", "layers", faults.swapped_layers, Seen("fail", explanation="swapped")),
    Fault("epsilon × 10", "eps × 10", stated_faults.epsilon_times_ten, EPSILON, (BY_PLACES,)),
    Fault("epsilon missing", "no eps", stated_faults.epsilon_missing, EPSILON, (BY_PLACES,)),
    Fault("bias zeroed", "bias 0", faults.bias_zeroed, RESET),
    Fault(ANOTHER, "another", faults.another, Seen("fail")),
    Fault("a gain where the family has none", "gain +", faults.gain_added, Seen("fail", "LN003"), (STRANGE,)),
    Fault("a permutation", "order", faults.permuted, Seen("fail", explanation="permuted")),
    Fault("one factor", "factor", faults.scaled, Seen("fail", explanation="factor")),
    Fault("a factor for each channel", "channels", faults.channel_factors, Seen("fail")),
    Fault("the same, the config says AWQ, the matrices changed", "AWQ", stated_faults.folded_and_told, FOLDED),
    Fault(
        "the same, the config says AWQ, the matrices did not",
        "AWQ?",
        stated_faults.told_alone,
        Seen("fail", explanation="folded scale"),
        (FOLDED,),
    ),
)
