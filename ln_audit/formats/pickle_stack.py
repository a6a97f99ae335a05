"""What the opcodes of a pickle work on: a stack with marks, a memo, a table of names, and a budget for all of it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from sys import getsizeof
from typing import TYPE_CHECKING

from ln_audit.errors import FormatError, UnsupportedError
from ln_audit.formats.shown import shown

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ln_audit.formats.pickle_tape import Tape

    Place = Tape | str  # of what is read; becomes text only where a message begins with it

MAX_MEMORY = 80_000_000  # bytes of all values ever made, about; one tensor takes 900
MAX_MEMO = 2_000_000  # numbers of the memo; writers count from 0
MAX_MARKS = 1_000  # open at the same time; a container in a container needs one each
_PLAIN_NAME = re.compile(r"[\w. ]{1,200}", re.ASCII)
_NOT_EXECUTED = (
    "nothing of the file was executed; ask its publisher for safetensors, or, where you trust it, load it with PyTorch and "
    "save the state dict alone"
)


class Pairs(list[tuple[object, object]]):
    """A mapping as its key-value pairs, in order, repeated keys included."""

    __slots__ = ()


class Group(list[object]):
    """A set as its members."""

    __slots__ = ()


@dataclass(frozen=True, slots=True, eq=False)
class Known:
    """A global that may stand in a pickle. `make` is what a call of it gives, None where a call is refused.

    `make` gets the arguments and the place that its messages begin with, and raises `FormatError`.
    """

    name: str
    make: Callable[[tuple[object, ...], Place], object] | None = None


class Stack:
    """Stack, marks and memo of one file's pickles, and what is left of the memory they may take."""

    def __init__(self, tape: Tape, names: Mapping[str, Known]) -> None:
        self.tape = tape
        self.names = names
        self.memory = 0
        self.stack: list[object] = []
        self.marks: list[int] = []  # heights of the stack
        self.floor = 0  # the last of them: nothing below it is in reach
        self.memo: list[object] = []

    def push(self, value: object) -> None:
        """Put a new value on the stack."""
        self.memory += getsizeof(value)
        self.stack.append(value)

    def pop(self) -> object:
        """The uppermost value. Raises `FormatError` where there is none above the last mark."""
        if len(self.stack) <= self.floor:
            raise self.tape.fault("a value on the stack", "none")
        return self.stack.pop()

    def top(self) -> object:
        """The uppermost value, left where it is."""
        if len(self.stack) <= self.floor:
            raise self.tape.fault("a value on the stack", "none")
        return self.stack[-1]

    def mark(self) -> None:
        """Remember this height."""
        if len(self.marks) >= MAX_MARKS:
            raise self.beyond(f"{MAX_MARKS:,} open marks")
        self.floor = len(self.stack)
        self.marks.append(self.floor)

    def above_mark(self) -> list[object]:
        """What lies above the last mark, taken off with it."""
        if not self.marks:
            raise self.tape.fault("a mark", "none")
        height = self.marks.pop()
        self.floor = self.marks[-1] if self.marks else 0
        values = self.stack[height:]
        del self.stack[height:]
        return values

    def pairs_above_mark(self) -> list[tuple[object, object]]:
        """The same as keys and values."""
        values = self.above_mark()
        if len(values) % 2:
            raise self.tape.fault("a value for each key", f"{len(values):,} items")
        self.memory += 64 * (len(values) // 2)
        return list(zip(values[::2], values[1::2], strict=True))

    def remember(self, number: int) -> None:
        """Put the uppermost value into the memo."""
        value, size = self.top(), len(self.memo)
        if number < size:
            self.memo[number] = value
        elif number < MAX_MEMO:
            self.memory += 8 * (number + 1 - size)
            self.memo += [_NOTHING] * (number - size)
            self.memo.append(value)
        else:
            raise self.beyond(f"{MAX_MEMO:,} memo numbers")

    def recall(self, number: int) -> None:
        """Put a value of the memo on the stack."""
        if not 0 <= number < len(self.memo) or self.memo[number] is _NOTHING:
            raise self.tape.fault(f"a memo of {number:,} or more values", f"{len(self.memo):,}")
        self.stack.append(self.memo[number])

    def resolve(self, module: str, name: str) -> Known:
        """The global of that name, if it is one that makes tensors. Raises `FormatError` with its name."""
        module = {"__builtin__": "builtins"}.get(module, module)  # Python 2's
        full = f"{module}.{name}"
        known = self.names.get(full)
        if known is None:
            raise self.refusal(full, "a name that makes none")
        return known

    def call(self, function: object, arguments: object) -> None:
        """Put on the stack what the table says a call of `function` gives. Raises `FormatError`; nothing else is called."""
        if not isinstance(function, Known):
            raise self.tape.fault("a name to call", described(function))
        if function.make is None:
            raise self.refusal(function.name, "a call of it")
        if type(arguments) is not tuple:
            raise self.tape.fault(f"a tuple of arguments for {function.name}", described(arguments))
        # Charged before it is made: a copy of a large list, asked for a million times, must end.
        self.memory += 200
        for argument in arguments:
            if isinstance(argument, list | tuple):
                self.memory += 72 * len(argument)
            elif isinstance(argument, str | bytes):
                self.memory += len(argument)
        if self.memory > MAX_MEMORY:
            raise self.beyond(f"{MAX_MEMORY:,} bytes of values")
        self.stack.append(function.make(arguments, self.tape))

    def refusal(self, name: str, found: str) -> FormatError:
        """That something else than tensors is wanted, by name."""
        plain = name if _PLAIN_NAME.fullmatch(name) else shown(name)
        return FormatError(f"{self.tape.file}: {plain}: expected tensors, found {found}", hint=_NOT_EXECUTED)

    def beyond(self, limit: str) -> UnsupportedError:
        """That a budget is spent, to be raised."""
        return UnsupportedError(
            f"{self.tape}: expected at most {limit}, found more",
            hint="save only the state dict, or save it in shards or as safetensors",
        )


def described(value: object) -> str:
    """A value of a pickle as a message may show it: never its contents, which may hold each other a million times."""
    if isinstance(value, Known):
        return value.name
    if value is None or isinstance(value, bool | int | float | str | bytes):
        return shown(value)
    for kind, name in ((Pairs, "a mapping"), (Group, "a set"), (list, "a list"), (tuple, "a tuple")):
        if isinstance(value, kind):
            return name
    return f"a {type(value).__name__.lower()}"


_NOTHING = object()  # in the memo, where no value was put
