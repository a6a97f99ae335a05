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

_TARGET = "sample, gpt2, org/name, org/name@revision, hf://org/name, https://host/file, a folder or a file."

Targets = Annotated[
    Optional[list[str]],
    typer.Argument(help=f"What to verify: {_TARGET} None: what the policy names.", show_default=False),
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
        show_default=False,
        autocompletion=words,
    )


def _written(help_: str) -> Any:
    return typer.Option("-o", "--output", help=help_, metavar="FILE", show_default=False)


_RUN, _HELD, _GATE, _OUT = "Recordings", "What it is held to", "The gate", "Output"
Text = Optional[str]

Recordings = Annotated[
    Optional[list[str]], _option("--recording", "Recorded hidden states; may be repeated.", "FILE", _RUN)
]
Before = Annotated[
    Text, _option("--before", "The norm's input: FILE.npy, FILE.npz:name or FILE.safetensors:name.", "FILE", _RUN)
]
After = Annotated[Text, _option("--after", "The norm's output, in the same forms.", "FILE", _RUN)]
OutputDtype = Annotated[
    Text, _option("--output-dtype", f"Dtype in which the run stored the result: {', '.join(DTYPES)}.", "DTYPE", _RUN)
]
BeforeRounded = Annotated[
    Text, _option("--before-rounded", "Dtype to which `before` was rounded after the norm read it.", "DTYPE", _RUN)
]
NormName = Annotated[
    Text, _option("--norm", "The norm that the recording belongs to; default: the final one.", "NAME", _RUN)
]
Config = Annotated[Text, _option("--config", "A config.json for an artifact that has none beside it.", "FILE", _HELD)]
Family = Annotated[
    Text, _option("--family", "The family it is held to: a name, or a table of your own.", "NAME|FILE.toml", _HELD)
]
Kind = Annotated[Text, _option("--kind", "layer_norm or rms_norm.", "KIND", _HELD)]
Eps = Annotated[Text, _option("--eps", "The epsilon it is held to.", "X", _HELD)]
Offset = Annotated[Text, _option("--offset", "What the model adds to the stored gain.", "N", _HELD)]
Against = Annotated[
    Text, _option("--against", "The source whose norms it must hold, in its own convention.", "TARGET", _HELD)
]
Expect = Annotated[
    Text, _option("--expect", "With --against: same (default), or derived: trained further.", "same|derived", _HELD)
]
Lock = Annotated[Text, _option("--lock", "The lockfile that its norms must be those of.", "FILE", _HELD)]
Policy = Annotated[
    Text,
    _option(
        "--policy", "The policy; default: ln-audit.toml or pyproject.toml of the working directory.", "FILE", _GATE
    ),
]
PolicyFile = Annotated[Optional[str], typer.Argument(help="The policy; default: that of the working directory.")]
Values = Annotated[
    Text,
    _option(
        "--values", "Whose values are read; default: final for remote targets, all for local ones.", "final|all", _GATE
    ),
]
Require = Annotated[
    Optional[list[str]],
    _option("--require", "A skip of RULE makes the verdict incomplete; `all` for every rule.", "RULE", _GATE),
]
Strict = Annotated[bool, _option("--strict", "Warnings fail.", None, _GATE)]
Revision = Annotated[Text, _option("--revision", "Branch, tag or commit of a Hub model.", "REV", _GATE)]
Offline = Annotated[
    bool,
    _option("--offline", "No network: only files and what the Hub's cache holds.", None, _GATE, "LN_AUDIT_OFFLINE"),
]
Full = Annotated[
    bool, _option("--full", "Download whole files and check the SHA-256 that the Hub publishes.", None, _GATE)
]
Format = Annotated[str, _option("--format", f"{', '.join(reports.names())}.", "FORMAT", _OUT, "LN_AUDIT_FORMAT")]
Output = Annotated[
    Optional[list[str]],
    _option(
        "--output",
        "Write to FILE too, in the format named or that of its suffix; may be repeated.",
        "[FORMAT=]FILE",
        _OUT,
        "LN_AUDIT_OUTPUT",
    ),
]
TraceFormat = Annotated[str, _option("--format", "text or html.", "FORMAT", _OUT)]
TraceOutput = Annotated[
    Optional[list[str]],
    _option("--output", "Write to FILE too, or in another format to FILE; may be repeated.", "FORMAT=FILE", _OUT),
]
Quiet = Annotated[bool, _option("--quiet", "Only the verdict and what failed.", None, _OUT)]
Verbose = Annotated[bool, _option("--verbose", "Every finding on a line of its own.", None, _OUT)]
NoColor = Annotated[bool, _option("--no-color", "No colour (NO_COLOR does the same).", None, _OUT)]


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
AllNorms = Annotated[bool, _option("--all-norms", "Record every norm.", None, _MADE)]
HiddenStates = Annotated[
    bool, _option("--hidden-states", "Record hidden_states too, as transformers returns them.", None, _MADE)
]
Dtype = Annotated[Text, _option("--dtype", "float32, bfloat16 or float16; default: as it is stored.", "DTYPE", _LOADED)]
Device = Annotated[Text, _option("--device", "cpu (default), cuda, mps, …", "DEVICE", _LOADED)]
RecordNow = Annotated[
    bool, _option("--record", f"Run the model here and verify what it computed, on {LEAST} random tokens.", None, _RUN)
]
RecordText = Annotated[Text, _option("--text", "With --record: run it on this text instead.", "TEXT", _RUN)]
RecordRandom = Annotated[Text, _option("--random", "With --record: on N random tokens.", "N", _RUN)]
RecordDtype = Annotated[Text, _option("--dtype", "With --record: the dtype that it runs in.", "DTYPE", _RUN)]
RecordDevice = Annotated[Text, _option("--device", "With --record: the device that it runs on.", "DEVICE", _RUN)]


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
