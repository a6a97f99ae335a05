"""The policy of a gate: what it is held to, in a file that can be reviewed. It only ever adds; waivers alone take away, and end."""

from ln_audit.policy.applying import apply, held, named, required, strict_by, work
from ln_audit.policy.found import read

__all__ = ["apply", "held", "named", "read", "required", "strict_by", "work"]
