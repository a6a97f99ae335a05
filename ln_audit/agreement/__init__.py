"""Recordings against norms: which recording belongs to which norm, and what it shows."""

from ln_audit.agreement.carried import carried_norm
from ln_audit.agreement.comparing import claims, compare, recorded_epsilon
from ln_audit.agreement.pairs import Given, Pair, chosen, find, given, pairs

__all__ = ["Given", "Pair", "carried_norm", "chosen", "claims", "compare", "find", "given", "pairs", "recorded_epsilon"]
