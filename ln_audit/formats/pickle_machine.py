"""A pickle run on a machine of our own, which makes plain containers and what a table of names allows, and nothing else.

A pickle is a program. `pickle.Unpickler` with a `find_class` of ours would keep it from calling code, but not from taking
memory and time: its memo, its strings and its containers know no limit, and it hashes keys of the file's choosing. Here
opcodes, strings, the memo and the memory of all that is made are counted; a mapping is kept as its pairs, nothing of
the file is ever hashed, compared or called, and no name is looked up but in the table. Opcodes: CPython's `pickletools.py`.
"""

from __future__ import annotations

import re
from sys import getsizeof
from typing import TYPE_CHECKING, NoReturn

from ln_audit.formats.pickle_stack import MAX_MEMORY, Group, Known, Pairs, Stack, described
from ln_audit.formats.pickle_tape import VALUES

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ln_audit.formats.pickle_stack import Place
    from ln_audit.formats.pickle_tape import Tape

MAX_OPCODES = 2_000_000  # in all pickles of a file: 2 to 3 s; one tensor takes 35
PROTOCOLS = range(6)
STOP = ord(".")


class Machine(Stack):
    """Runs the pickles on one tape, one after the other, on one budget."""

    def __init__(self, tape: Tape, names: Mapping[str, Known], persistent: Callable[[object, Place], object]) -> None:
        """`names` are the globals allowed; `persistent` gives what a persistent id means, or raises `FormatError`."""
        super().__init__(tape, names)
        self.persistent = persistent
        self.opcodes = 0
        self.begin = 0

    def run(self) -> object:
        """The value of the pickle that begins here; the tape then stands behind it. Raises `FormatError`."""
        tape, stack, handlers = self.tape, self.stack, HANDLERS
        self.begin = tape.at
        while self.opcodes < MAX_OPCODES:
            self.opcodes += 1
            at = tape.at
            if at < len(tape.data):  # a call saved for each opcode
                opcode = tape.data[at]
                tape.at = at + 1
            else:
                opcode = tape.byte()
            read = VALUES.get(opcode)
            if read is not None:
                value = read(tape)
                self.memory += getsizeof(value)
                stack.append(value)
            elif opcode in handlers:
                handlers[opcode](self)
            elif opcode == STOP:
                return self._result()
            else:
                tape.at -= 1
                raise tape.fault("a pickle opcode", f"{opcode:#04x}")
            if self.memory > MAX_MEMORY:
                raise self.beyond(f"{MAX_MEMORY:,} bytes of values")
        raise self.beyond(f"{MAX_OPCODES:,} opcodes")

    def _result(self) -> object:
        if len(self.stack) != 1 or self.marks:
            raise self.tape.fault("one value at the pickle's end", f"{len(self.stack):,}")
        self.memo = []
        return self.stack.pop()


def _append(machine: Machine, values: list[object]) -> None:
    target = machine.top()
    if type(target) is not list:
        raise machine.tape.fault("a list to append to", described(target))
    machine.memory += 8 * len(values) + 8
    target.extend(values)


def _add_items(machine: Machine) -> None:
    values, target = machine.above_mark(), machine.top()
    if not isinstance(target, Group):
        raise machine.tape.fault("a set to add to", described(target))
    machine.memory += 8 * len(values) + 8
    target.extend(values)


def _set_items(machine: Machine, pairs: list[tuple[object, object]]) -> None:
    target = machine.top()
    if not isinstance(target, Pairs):
        raise machine.tape.fault("a mapping to set items of", described(target))
    machine.memory += 8 * len(pairs) + 8
    target.extend(pairs)


def _set_item(machine: Machine) -> None:
    value, key = machine.pop(), machine.pop()
    machine.memory += 64
    _set_items(machine, [(key, value)])


def _tuple_of(size: int) -> Callable[[Machine], None]:
    def make(machine: Machine) -> None:
        if len(machine.stack) - machine.floor < size:
            raise machine.tape.fault(f"{size} values on the stack", f"{len(machine.stack) - machine.floor}")
        values = tuple(machine.stack[-size:])
        del machine.stack[-size:]
        machine.push(values)

    return make


def _build(machine: Machine) -> None:
    """Attributes of a mapping (`_metadata` of a state dict, versions of modules) are left aside; no other has any."""
    machine.pop()
    if not isinstance(machine.top(), Pairs):
        raise machine.tape.fault("a mapping whose state is set (BUILD)", described(machine.top()))


def _global(machine: Machine) -> None:
    module, name = machine.tape.line(), machine.tape.line()
    machine.stack.append(machine.resolve(module.decode("utf-8", "replace"), name.decode("utf-8", "replace")))


def _stack_global(machine: Machine) -> None:
    name, module = machine.pop(), machine.pop()
    if not isinstance(name, str) or not isinstance(module, str):
        raise machine.tape.fault("a global's module and name", f"{described(module)} and {described(name)}")
    machine.stack.append(machine.resolve(module, name))


def _reduce(machine: Machine) -> None:
    arguments, function = machine.pop(), machine.pop()
    machine.call(function, arguments)


def _instance(machine: Machine) -> NoReturn:
    _global(machine)
    _never(machine, "INST", machine.pop())


def _object(machine: Machine) -> NoReturn:
    _never(machine, "OBJ", *machine.above_mark())


def _new_object_ex(machine: Machine) -> NoReturn:
    _never(machine, "NEWOBJ_EX", *reversed([machine.pop(), machine.pop(), machine.pop()]))


def _never(machine: Machine, opcode: str, function: object = None, *_: object) -> NoReturn:
    """Other ways of calling than REDUCE and NEWOBJ; no file of PyTorch has them."""
    if isinstance(function, Known):
        raise machine.refusal(function.name, f"a call of it by {opcode}")
    raise machine.tape.fault(f"a name to call by {opcode}", described(function))


def _extension(size: int) -> Callable[[Machine], None]:
    def refuse(machine: Machine) -> NoReturn:
        code = machine.tape.number(size)
        raise machine.refusal(f"extension code {code}", "a name from the writer's own registry")

    return refuse


def _buffer(machine: Machine) -> NoReturn:
    raise machine.tape.fault("data inside the file", "a buffer that was kept outside of it")


def _persistent_line(machine: Machine) -> None:
    text = machine.tape.line().decode("utf-8", "replace")
    machine.push(machine.persistent(text, machine.tape))


def _persistent(machine: Machine) -> None:
    found = machine.persistent(machine.pop(), machine.tape)
    machine.memory += 100
    machine.stack.append(found)


def _protocol(machine: Machine) -> None:
    version = machine.tape.byte()
    if machine.tape.at != machine.begin + 2 or version not in PROTOCOLS:
        raise machine.tape.fault("protocol 0 to 5, said first", f"{version}")


def _number_line(machine: Machine) -> int:
    line = machine.tape.line()
    if not re.fullmatch(rb"\d{1,10}", line):
        raise machine.tape.fault("a memo number", ascii(line[:40].decode("latin-1")))
    return int(line)


# The opcodes that work on the stack, by their byte.
HANDLERS: Mapping[int, Callable[[Machine], object]] = {
    ord("("): Machine.mark,
    ord("0"): lambda m: m.pop(),
    ord("1"): lambda m: m.above_mark(),
    ord("2"): lambda m: m.stack.append(m.top()),
    ord("]"): lambda m: m.push([]),
    ord("l"): lambda m: m.push(m.above_mark()),
    ord("a"): lambda m: _append(m, [m.pop()]),
    ord("e"): lambda m: _append(m, m.above_mark()),
    ord("}"): lambda m: m.push(Pairs()),
    ord("d"): lambda m: m.push(Pairs(m.pairs_above_mark())),
    ord("s"): _set_item,
    ord("u"): lambda m: _set_items(m, m.pairs_above_mark()),
    0x8F: lambda m: m.push(Group()),
    0x90: _add_items,
    0x91: lambda m: m.push(Group(m.above_mark())),
    ord("t"): lambda m: m.push(tuple(m.above_mark())),
    0x85: _tuple_of(1),
    0x86: _tuple_of(2),
    0x87: _tuple_of(3),
    ord("p"): lambda m: m.remember(_number_line(m)),
    ord("q"): lambda m: m.remember(m.tape.byte()),
    ord("r"): lambda m: m.remember(m.tape.number(4)),
    0x94: lambda m: m.remember(len(m.memo)),
    ord("g"): lambda m: m.recall(_number_line(m)),
    ord("h"): lambda m: m.recall(m.tape.byte()),
    ord("j"): lambda m: m.recall(m.tape.number(4)),
    ord("c"): _global,
    0x93: _stack_global,
    ord("R"): _reduce,
    0x81: _reduce,  # NEWOBJ: `cls.__new__(cls, *args)`, for the few classes in the table the same
    ord("b"): _build,
    ord("P"): _persistent_line,
    ord("Q"): _persistent,
    ord("i"): _instance,
    ord("o"): _object,
    0x92: _new_object_ex,
    0x82: _extension(1),
    0x83: _extension(2),
    0x84: _extension(4),
    0x97: _buffer,
    0x98: _buffer,
    0x80: _protocol,
    0x95: lambda m: m.tape.take(8),  # FRAME: how much a reader may prefetch
}
