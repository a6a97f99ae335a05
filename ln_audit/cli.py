"""The command line: arguments → pipeline → print → exit code. The only module that prints, and the only broad `except`."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ln_audit import call, output, terminal
from ln_audit import options as opt
from ln_audit.demand import Demand
from ln_audit.errors import AuditError, UsageError
from ln_audit.options import Plain, PlainGroup
from ln_audit.policy_commands import commands as policy_commands
from ln_audit.record import asked
from ln_audit.record.recipe import Recipe

if TYPE_CHECKING:
    from ln_audit.result import Report

app = typer.Typer(
    name="ln-audit",
    cls=PlainGroup,
    help="Prove that the normalization layers of a model checkpoint are what they should be.",
    epilog="Exit codes: 0 pass, 1 fail, 2 the call is wrong, 3 incomplete (cannot tell), 4 a bug in ln-audit, 130 interrupted.",
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
    no_args_is_help=True,
)


app.add_typer(policy_commands, name="policy")


@app.callback()
def _top(version: Annotated[bool, typer.Option("--version", help="Print the version and exit.")] = False) -> None:
    """Prove that the normalization layers of a model checkpoint are what they should be."""
    if version:  # the door answers a lone --version; this is for --version among other words
        from ln_audit import __version__

        typer.echo(f"ln-audit {__version__}")
        raise typer.Exit(0)


# In the order of the help: what most calls use comes first.
@app.command(cls=Plain, epilog=opt.ENVIRONMENT)
def verify(
    ctx: typer.Context, targets: opt.Targets = None, against: opt.Against = None, lock: opt.Lock = None,
    recording: opt.Recordings = None, record: opt.RecordNow = False, require: opt.Require = None,
    strict: opt.Strict = False, policy: opt.Policy = None, format_: opt.Format = "text", output_: opt.Output = None,
    quiet: opt.Quiet = False, verbose: opt.Verbose = False,
    family: opt.Family = None, config: opt.Config = None, eps: opt.Eps = None, kind: opt.Kind = None,
    offset: opt.Offset = None, expect: opt.Expect = None,
    norm: opt.NormName = None, before: opt.Before = None, after: opt.After = None,
    output_dtype: opt.OutputDtype = None, before_rounded: opt.BeforeRounded = None,
    text: opt.RecordText = None, random: opt.RecordRandom = None, dtype: opt.RecordDtype = None,
    device: opt.RecordDevice = None,
    values: opt.Values = None, revision: opt.Revision = None, offline: opt.Offline = False, full: opt.Full = False,
    no_color: opt.NoColor = False,
) -> None:  # fmt: skip
    """Are these artifacts' norms what they should be?"""
    demand = Demand(
        recordings=tuple(recording or ()), before=before, after=after, output_dtype=output_dtype,
        before_rounded=before_rounded, norm=norm, config=config, family=family, kind=kind, eps=opt.number("--eps", eps),
        offset=opt.number("--offset", offset), values=call.values(values), against=against,
        expect=call.expect(expect, against), lock=lock, require=tuple(require or ()), strict=strict, revision=revision,
        offline=offline, full=full, progress=terminal.obeys_escapes(sys.stderr) and not quiet,
    )  # fmt: skip
    demand = call.under_policy(demand, targets or (), policy)
    writer = output.Writer.of(
        format_, output_ or (), quiet=quiet, verbose=verbose, no_color=no_color, command=ctx.obj, demand=demand
    )
    demand = replace(demand, pictures=writer.pictures)
    from ln_audit.policy import work

    held = work(demand, targets or ())
    recipe = asked.to_record(record, Recipe(text, dtype=dtype, device=device), random, held)
    from ln_audit.audit import audited

    reports = audited(held, demand) if recipe is None else _recorded(held, recipe, demand)
    raise typer.Exit(writer.write(reports, demand.policy))


def _recorded(held: Sequence[tuple[str, Demand]], recipe: Recipe, demand: Demand) -> tuple[Report, ...]:
    """Each target is run, and held to what it did."""
    from ln_audit.record.here import verified

    shown = output.progress if demand.progress else output.no_progress
    return tuple(report for target, own in held for report in verified(target, own, recipe, shown))


@app.command(cls=Plain)
def report(
    ctx: typer.Context,
    target: opt.Target,
    config: opt.Config = None,
    family: opt.Family = None,
    revision: opt.Revision = None,
    values: opt.Values = None,
    policy: opt.Policy = None,
    offline: opt.Offline = False,
    format_: opt.Format = "text",
    output_: opt.Output = None,
    no_color: opt.NoColor = False,
) -> None:
    """Which norm parameters does it hold, exactly? The accounting, counted from the tensors."""
    demand = Demand(
        config=config, family=family, revision=revision, values=call.values(values) or "all", offline=offline,
        progress=terminal.obeys_escapes(sys.stderr),
    )  # fmt: skip
    demand = call.under_policy(demand, [target], policy)
    writer = output.Writer.of(
        format_, output_ or (), quiet=False, verbose=False, no_color=no_color, command=ctx.obj, demand=demand
    )
    from ln_audit.audit import audit
    from ln_audit.reports import parameters

    reports = audit(target, replace(demand, pictures=writer.pictures))
    raise typer.Exit(writer.write(reports, demand.policy, text=parameters.render))


@app.command(cls=Plain)
def lock(
    target: opt.Locked,
    file: opt.NewLock = None,
    config: opt.Config = None,
    family: opt.Family = None,
    revision: opt.Revision = None,
    policy: opt.Policy = None,
    offline: opt.Offline = False,
    full: opt.Full = False,
    quiet: opt.Quiet = False,
) -> None:
    """Write down what its norms are, for `verify --lock` to hold artifacts to. Only what passes is locked."""
    demand = Demand(
        config=config, family=family, revision=revision, values="all", offline=offline, full=full,
        progress=terminal.obeys_escapes(sys.stderr) and not quiet,
    )  # fmt: skip
    demand = call.under_policy(demand, [target], policy)
    from ln_audit.lock.writing import text
    from ln_audit.locking import DEFAULT_FILE, former, made, told

    path = DEFAULT_FILE if file is None else file
    before = None if path == "-" else former(path)
    locking = made(target, demand)
    if locking.lock is None:
        raise typer.Exit(output.not_locked(locking.report, path, demand.policy))
    if path == "-":
        output.emit(text(locking.lock))
        return
    output.write_file(Path(path), text(locking.lock))
    if not quiet:
        output.emit(told(locking, locking.lock, path, before))


@app.command(cls=Plain)
def explain(rule: opt.RuleName = None) -> None:
    """What does a rule check, why, and how is it mended? Without a rule: the formula, one worked token, the rules."""
    from ln_audit.explain import overview, rule_document

    output.emit(overview() if rule is None else rule_document(rule))


@app.command(cls=Plain)
def families(name: opt.FamilyName = None, policy: opt.Policy = None) -> None:
    """Which families are known? With a name: what it promises of its norms, and where that was learnt."""
    from ln_audit.catalogue import known, promises
    from ln_audit.policy import read

    found = read(".", policy)
    own = {} if found is None else found.families
    output.emit(known(own) if name is None else promises(name, own))


@app.command(cls=Plain)
def trace(
    recording: opt.RecordingFile = None,
    target: opt.MaybeTarget = None,
    norm: opt.NormName = None,
    config: opt.Config = None,
    family: opt.Family = None,
    revision: opt.Revision = None,
    policy: opt.Policy = None,
    offline: opt.Offline = False,
    format_: opt.TraceFormat = "text",
    output_: opt.TraceOutput = None,
) -> None:
    """How does the residual stream grow, and what does the final norm do to it?"""
    from ln_audit.policy import read
    from ln_audit.trace.tracing import FORMATS, told, traced

    demand = Demand(
        norm=norm, config=config, family=family, revision=revision, offline=offline, values="final",
        policy=read(".", policy),
    )  # fmt: skip
    writer = output.Writer.of(format_, output_ or (), quiet=False, verbose=False, no_color=True, demand=demand).only(
        FORMATS
    )
    found = traced(recording, target, demand)
    writer.tell(lambda form: told(found, form))


@app.command(cls=Plain)
def record(
    target: opt.Recorded,
    file: opt.NewRecording = None,
    text: opt.RunText = None,
    tokens: opt.RunTokens = None,
    random: opt.RunRandom = None,
    norm: opt.NormNames = None,
    all_norms: opt.AllNorms = False,
    hidden_states: opt.HiddenStates = False,
    dtype: opt.Dtype = None,
    device: opt.Device = None,
    family: opt.Family = None,
    revision: opt.Revision = None,
    policy: opt.Policy = None,
    offline: opt.Offline = False,
    quiet: opt.Quiet = False,
) -> None:
    """Run the model through transformers and record what its final norm read and gave, for `verify --recording`."""
    given = Recipe(text, tokens, None, tuple(norm or ()), all_norms, hidden_states, dtype, device)
    recipe = asked.recipe(given, random)
    if file is None:
        raise UsageError("--output: expected a file to write the recording to, found none", hint="-o run.safetensors")
    demand = call.under_policy(Demand(family=family, revision=revision, offline=offline), [target], policy)
    from ln_audit.record.run import record as run

    shown = output.progress if terminal.obeys_escapes(sys.stderr) and not quiet else output.no_progress
    made = run(target, file, recipe, demand, shown)
    if not quiet:
        output.emit(made.told(target))


def main(arguments: Sequence[str]) -> int:
    """Run the program; the one place where an exception becomes an exit code."""
    if arguments:
        os.environ.pop("_LN_AUDIT_COMPLETE", None)  # a shell asks for completions without a command; nothing else may
    try:
        return _run(arguments)
    except (KeyboardInterrupt, typer.Abort):
        return 130
    except Exception as error:  # noqa: BLE001
        return output.bug(arguments, error)


def _run(arguments: Sequence[str]) -> int:
    """The exit code of a call that ends as it should, or is rejected. Telling why may show a bug too: `main` sees that one."""
    try:
        code = opt.alone(app, arguments)(
            args=list(arguments), prog_name="ln-audit", standalone_mode=False, obj=tuple(arguments)
        )
    except typer.TyperException as error:
        message = error.format_message() or "expected a command, found none"
        return output.rejected(arguments, UsageError(message, hint=f"see {opt.help_for(arguments)}"), 2)
    except UsageError as error:
        return output.rejected(arguments, error, 2)
    except AuditError as error:
        return output.rejected(arguments, error, 3)
    return int(code or 0)
