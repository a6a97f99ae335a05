"""The options of the command line, each once, under the same name wherever it makes sense."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from math import isfinite
from typing import Annotated, Any, Optional

import typer
from typer.core import TyperCommand, TyperGroup

from ln_audit import completion, reports
from ln_audit.demand import DTYPES
from ln_audit.errors import UsageError
from ln_audit.record.recipe import LEAST

_TARGET = "a folder, a file, org/name@revision on the Hub, a URL, or sample."

Targets = Annotated[
    Optional[list[str]],
    typer.Argument(metavar="TARGET", help=f"A{_TARGET[1:-1]}; default: the policy's.", show_default=False),
]
Target = Annotated[str, typer.Argument(help=f"What to report: {_TARGET}", show_default=False)]
Locked = Annotated[str, typer.Argument(help=f"What to lock: {_TARGET}", show_default=False)]
MaybeTarget = Annotated[Optional[str], typer.Argument(help=f"The model that it was recorded from: {_TARGET}")]
Recorded = Annotated[str, typer.Argument(help=f"What to run: {_TARGET}", show_default=False)]
RecordingFile = Annotated[Optional[str], typer.Argument(help="A recording (safetensors).", show_default=False)]
RuleName = Annotated[
    Optional[str], typer.Argument(help="A rule's id or name: LN001 or missing-norm.", autocompletion=completion.rules)
]
_FAMILY = "A family, a model_type, or a table of your own: FILE.toml."
FamilyName = Annotated[Optional[str], typer.Argument(help=_FAMILY, autocompletion=completion.families)]


def _option(
    name: str, help_: str, metavar: str | None = None, panel: str | None = None, envvar: str | None = None
) -> Any:
    words = completion.WORDS.get(name)
    return typer.Option(
        name,
        help=help_,
        metavar=metavar,
        rich_help_panel=panel,
        envvar=envvar,
        show_envvar=False,  # a line of its own for each would push what most calls use off the screen; ENVIRONMENT has them
        show_default=False,
        autocompletion=words,
    )


def _switch(name: str, help_: str, panel: str | None = None, envvar: str | None = None) -> Any:
    return _option(name, help_, " ", panel, envvar)  # without typer's `<bool>`


def _written(help_: str) -> Any:
    return typer.Option("-o", "--output", help=help_, metavar="FILE", show_default=False)


ENVIRONMENT = "LN_AUDIT_FORMAT, LN_AUDIT_OUTPUT and LN_AUDIT_OFFLINE say what --format, --output and --offline do."

# What most calls use stands in the first panel, which has no name of its own: it fits one screen.
_RUN, _HELD, _READ, _OUT = "Recordings", "What it is held to", "What is read", "Output"
Text = Optional[str]

Against = Annotated[Text, _option("--against", "Its norms must be those of this source.", "TARGET")]
Lock = Annotated[Text, _option("--lock", "Its norms must be those of this lockfile.", "FILE")]
Recordings = Annotated[
    Optional[list[str]], _option("--recording", "Recorded hidden states to judge; repeatable.", "FILE")
]
RecordNow = Annotated[bool, _switch("--record", "Run the model here, and judge what it computes.")]
Require = Annotated[Optional[list[str]], _option("--require", "RULE, or all, must be decided; repeatable.", "RULE")]
Strict = Annotated[bool, _switch("--strict", "Warnings fail.")]
Policy = Annotated[Text, _option("--policy", "The gate's policy; default: ln-audit.toml here.", "FILE")]
PolicyFile = Annotated[Optional[str], typer.Argument(help="The policy; default: that of the working directory.")]
Format = Annotated[str, _option("--format", f"{', '.join(reports.names())}.", "FORMAT", envvar="LN_AUDIT_FORMAT")]
Output = Annotated[
    Optional[list[str]],
    _option("--output", "Write FILE too, or FORMAT=FILE; repeatable.", "FILE", envvar="LN_AUDIT_OUTPUT"),
]
Quiet = Annotated[bool, _switch("--quiet", "Only the verdict and what failed.")]
Verbose = Annotated[bool, _switch("--verbose", "Every finding on a line of its own.")]

Family = Annotated[Text, _option("--family", "A family's name, or a table of your own.", "NAME|FILE.toml", _HELD)]
Config = Annotated[Text, _option("--config", "A config.json for what has none beside it.", "FILE", _HELD)]
Eps = Annotated[Text, _option("--eps", "Epsilon.", "X", _HELD)]
Kind = Annotated[Text, _option("--kind", "layer_norm or rms_norm.", "KIND", _HELD)]
Offset = Annotated[Text, _option("--offset", "What the model adds to the stored gain.", "N", _HELD)]
Expect = Annotated[Text, _option("--expect", "The source's values, or trained further.", "same|derived", _HELD)]

NormName = Annotated[Text, _option("--norm", "Whose recording it is; default: the final one.", "NAME", _RUN)]
Before = Annotated[Text, _option("--before", "The norm's input: FILE.npy, FILE.npz:name, …", "FILE", _RUN)]
After = Annotated[Text, _option("--after", "The norm's output, in the same forms.", "FILE", _RUN)]
OutputDtype = Annotated[Text, _option("--output-dtype", f"How results are stored: {', '.join(DTYPES)}.", "DTYPE", _RUN)]
BeforeRounded = Annotated[
    Text, _option("--before-rounded", "To what the input was rounded after it was read.", "DTYPE", _RUN)
]
RecordText = Annotated[Text, _option("--text", "With --record: on this text.", "TEXT", _RUN)]
RecordRandom = Annotated[Text, _option("--random", f"With --record: on N random tokens, not {LEAST}.", "N", _RUN)]
RecordDtype = Annotated[Text, _option("--dtype", "With --record: in this dtype.", "DTYPE", _RUN)]
RecordDevice = Annotated[Text, _option("--device", "With --record: on this device.", "DEVICE", _RUN)]

Values = Annotated[Text, _option("--values", "Whose values; default: all here, final elsewhere.", "final|all", _READ)]
Revision = Annotated[Text, _option("--revision", "Branch, tag or commit of a Hub model.", "REV", _READ)]
Offline = Annotated[bool, _switch("--offline", "No network: files, and the Hub's cache.", _READ, "LN_AUDIT_OFFLINE")]
Full = Annotated[bool, _switch("--full", "Whole files, held to their published SHA-256.", _READ)]

TraceFormat = Annotated[str, _option("--format", "text or html.", "FORMAT", _OUT)]
TraceOutput = Annotated[
    Optional[list[str]],
    _option("--output", "Write to FILE too, or in another format to FILE; may be repeated.", "FORMAT=FILE", _OUT),
]
NoColor = Annotated[bool, _switch("--no-color", "No colour (NO_COLOR does the same).", _OUT)]


_MADE, _LOADED = "What is run and recorded", "How it is loaded"
NewRecording = Annotated[Text, _written("The recording to write.")]
NewLock = Annotated[Text, _written("The lockfile to write; default ln-audit.lock, - for standard output.")]
RunText = Annotated[Text, _option("--text", "Run it on this text, through its own tokenizer.", "TEXT", _MADE)]
RunTokens = Annotated[Text, _option("--tokens", "Run it on token ids: a .npy file, or numbers as text.", "FILE", _MADE)]
RunRandom = Annotated[Text, _option("--random", "Run it on N random tokens, the same each time.", "N", _MADE)]
NormNames = Annotated[
    Optional[list[str]],
    _option("--norm", "A norm or module to record; may be repeated. Default: the final one.", "NAME", _MADE),
]
AllNorms = Annotated[bool, _switch("--all-norms", "Record every norm.", _MADE)]
HiddenStates = Annotated[
    bool, _switch("--hidden-states", "Record hidden_states too, as transformers returns them.", _MADE)
]
Dtype = Annotated[Text, _option("--dtype", "float32, bfloat16 or float16; default: as it is stored.", "DTYPE", _LOADED)]
Device = Annotated[Text, _option("--device", "cpu (default), cuda, mps, …", "DEVICE", _LOADED)]


_ON, _OFF = ("1", "true", "yes", "on"), ("0", "false", "no", "off")  # of a switch in the environment


class _AsTyped:
    """Values as the shell gave them. typer 0.29 imports pydantic (a third of a whole run) to turn strings into strings."""

    def coerce(self, value: Any, param: Any, ctx: Any) -> Any:  # noqa: ARG002 - typer's signature
        if param.type_descriptor.annotation is bool and isinstance(value, str):
            if value.lower() not in (*_ON, *_OFF):
                raise UsageError(f"{param.name}: expected one of {', '.join((*_ON, *_OFF))}, found {value!r}")
            return value.lower() in _ON
        return value


def _keep_as_typed(command: Any, ctx: Any) -> None:
    """Should typer rename the attribute that is set here, it goes back to its own conversion: slower, the same results."""
    for param in command.get_params(ctx):
        param._runtime_param = _AsTyped()  # noqa: SLF001


class Plain(TyperCommand):
    """A command whose options are strings, lists of strings and switches, which need no conversion."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """As typer does, with values left as they were typed."""
        _keep_as_typed(self, ctx)
        return super().parse_args(ctx, args)


class PlainGroup(TyperGroup):
    """The same for the program itself, whose own options are --version and those for shell completion."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """As typer does, with values left as they were typed."""
        _keep_as_typed(self, ctx)
        return super().parse_args(ctx, args)


def alone(app: typer.Typer, arguments: Sequence[str]) -> typer.Typer:
    """The program with the command that is called and no other, as typer reads the signatures of all it has; else all of it."""
    first = next(iter(arguments), "")
    called = [each for each in app.registered_commands if getattr(each.callback, "__name__", None) == first]
    if not called:
        return app
    one = copy(app)
    one.registered_commands, one.registered_groups = called, []
    return one


def number(option: str, text: str | None) -> float | None:
    """The number that an option was given. Raises `UsageError` for what is none, or not finite."""
    if text is None:
        return None
    try:
        value = float(text)
    except ValueError as error:
        raise UsageError(f"{option}: expected a number, found {text!r}") from error
    if not isfinite(value):
        raise UsageError(f"{option}: expected a finite number, found {text!r}")
    return value


def help_for(arguments: Sequence[str]) -> str:
    """The help that belongs to a call: `ln-audit verify --help`."""
    command = next((word for word in arguments if not word.startswith("-")), None)
    known = ("verify", "report", "explain", "families", "trace", "record", "lock", "policy")
    return f"ln-audit {command} --help" if command in known else "ln-audit --help"
