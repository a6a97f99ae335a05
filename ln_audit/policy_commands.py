"""`ln-audit policy`: what the policy asks for, in words, and its JSON Schema."""

from __future__ import annotations

import typer

from ln_audit import options as opt
from ln_audit import output
from ln_audit.options import Plain, PlainGroup

commands = typer.Typer(
    cls=PlainGroup, help="The policy of a gate: is it right, and what does it ask for?", no_args_is_help=True
)


@commands.command(cls=Plain)
def check(file: opt.PolicyFile = None) -> None:
    """Is the policy right? Says what it asks for, and warns of what never applies. Opens no target."""
    from ln_audit.policy.telling import told

    output.emit(told(".", file))


@commands.command(cls=Plain)
def schema() -> None:
    """Print the JSON Schema of ln-audit.toml, for editors."""
    from ln_audit.policy.telling import schema as text

    output.emit(text())
