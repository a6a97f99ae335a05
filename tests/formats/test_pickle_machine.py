"""Held against Python's own pickle: what it writes of plain values, in every protocol, is read the same."""

from __future__ import annotations

import math
import pickle
import pickletools
import struct
from collections import Counter, OrderedDict

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ln_audit.errors import FormatError, UnsupportedError
from ln_audit.formats import pickle_machine
from ln_audit.formats.pickle_machine import HANDLERS, MAX_OPCODES, Machine
from ln_audit.formats.pickle_stack import Group, Pairs
from ln_audit.formats.pickle_tape import MAX_LINES, VALUES, Tape
from ln_audit.formats.torch_names import names


def machine(data: bytes) -> Machine:
    def persistent(saved: object, where: Tape | str) -> object:
        if saved == ("storage", "0"):
            return "the storage"
        raise FormatError(f"{where}: persistent id: expected a storage, found another")

    return Machine(Tape(data, "f"), names(), persistent)


def run(data: bytes) -> object:
    it = machine(data)
    value = it.run()
    assert it.tape.at == len(data)
    return value


def refusal(data: bytes) -> str:
    with pytest.raises(FormatError) as caught:
        run(data)
    return caught.value.message


def plain(value: object) -> object:
    """Mappings and sets as Python's own."""
    if isinstance(value, Pairs):
        return {key: plain(inner) for key, inner in value}
    if isinstance(value, Group):
        return set(value)
    if isinstance(value, list | tuple):
        return type(value)(plain(inner) for inner in value)
    return value


texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=300)
scalars = (
    st.none()
    | st.booleans()
    | st.integers(-(2**80), 2**80)
    | st.integers(-(2**2_000), 2**2_000)
    | st.floats(allow_nan=False)
    | texts
    | st.binary(min_size=1, max_size=300)  # protocol 2 calls `bytes()` for none
)
values = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=5)
        | st.lists(inner, max_size=5).map(tuple)
        | st.dictionaries(texts, inner, max_size=5)
        | st.dictionaries(texts, inner, max_size=5).map(OrderedDict)
        | st.sets(st.integers(0, 10**6), max_size=5)
    ),
    max_leaves=25,
)


@settings(max_examples=400, deadline=2_000)
@given(value=values, protocol=st.integers(0, 5), optimized=st.booleans())
def test_what_python_pickles_is_read_the_same(value, protocol, optimized):
    data = pickle.dumps(value, protocol)
    assert plain(run(pickletools.optimize(data) if optimized else data)) == value


@pytest.mark.parametrize("protocol", range(6))
def test_values_of_every_kind_are_read_in_every_protocol(protocol):
    shared = ["a"]
    value = [
        shared,
        shared,
        {"a": (1, 2, 3, 4), "b": ()},
        OrderedDict(z=1, a=2),
        Counter("aab"),
        {1, 2},
        -0.0,
        b"\xff\0",
        "a\\\n",
    ]
    found = run(pickle.dumps(value, protocol))
    assert plain(found) == value
    assert isinstance(found, list)
    assert found[0] is found[1]
    assert math.copysign(1, found[6]) == -1


def test_a_list_that_holds_itself_is_read():
    endless: list[object] = []
    endless.append(endless)
    found = run(pickle.dumps(endless))
    assert isinstance(found, list)
    assert found[0] is found


def test_pairs_keep_what_a_mapping_would_forget_and_hash_nothing():
    assert run(b"}(]K\x01]K\x02u.") == [([], 1), ([], 2)]
    assert run(b"(K\x01K\x02K\x01K\x03d.") == [(1, 2), (1, 3)]


def test_every_opcode_of_python_is_known():
    known = VALUES.keys() | HANDLERS.keys() | {pickle_machine.STOP}
    assert known == {ord(op.code) for op in pickletools.opcodes}
    assert not VALUES.keys() & HANDLERS.keys()


def test_state_of_a_mapping_is_left_aside():
    assert run(b"ccollections\nOrderedDict\n)R}X\x09\0\0\0_metadataNsb.") == []


def test_the_pickles_of_a_file_are_run_one_after_the_other_on_one_budget(monkeypatch):
    it = machine(b"\x80\x02K\x01q\x00.\x80\x04h\x00.")
    assert it.run() == 1
    with pytest.raises(FormatError, match="byte 11: expected a memo of 0 or more values, found 0"):
        it.run()
    monkeypatch.setattr(pickle_machine, "MAX_OPCODES", 7)
    it = machine(b"\x80\x02K\x01.\x80\x02NNN.")
    it.run()
    with pytest.raises(UnsupportedError, match="expected at most 7 opcodes, found more"):
        it.run()


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "f: byte 0: expected one more byte, found the end after 0"),
        (b".", "f: byte 1: expected one value at the pickle's end, found 0"),
        (b"NN.", "f: byte 3: expected one value at the pickle's end, found 2"),
        (b"N(.", "f: byte 3: expected one value at the pickle's end, found 1"),
        (b"\xfe", "f: byte 0: expected a pickle opcode, found 0xfe"),
        (b"\x80\x06.", "f: byte 2: expected protocol 0 to 5, said first, found 6"),
        (b"N\x80\x02.", "f: byte 3: expected protocol 0 to 5, said first, found 2"),
        (b"N(0.", "f: byte 3: expected a value on the stack, found none"),
        (b"N1.", "f: byte 2: expected a mark, found none"),
        (b"NNa.", "f: byte 3: expected a list to append to, found None"),
        (b"}Na.", "f: byte 3: expected a list to append to, found a mapping"),
        (b"](Nu.", "f: byte 4: expected a value for each key, found 1 items"),
        (b"](NNu.", "f: byte 5: expected a mapping to set items of, found a list"),
        (b"](N\x90.", "f: byte 4: expected a set to add to, found a list"),
        (b"N\x86.", "f: byte 2: expected 2 values on the stack, found 1"),
        (b"h\x00.", "f: byte 2: expected a memo of 0 or more values, found 0"),
        (b"gx\n.", "f: byte 3: expected a memo number, found 'x'"),
        (b"NN\x93.", "f: byte 3: expected a global's module and name, found None and None"),
        (b"ctorch\nFloatStorage\n)R.", "f: torch.FloatStorage: expected tensors, found a call of it"),
        (b"N}b.", "f: byte 3: expected a mapping whose state is set (BUILD), found None"),
        (b"X\x02\0\0\0osQ.", "f: byte 8: persistent id: expected a storage, found another"),
        (b"Pos.system\n.", "f: byte 11: persistent id: expected a storage, found another"),
        (b"\x82\x05.", "f: extension code 5: expected tensors, found a name from the writer's own registry"),
        (b"\x84\xff\xff\xff\xff.", "f: extension code 4294967295: expected tensors, found a name from the writer's own registry"),
        (b"\x97.", "f: byte 1: expected data inside the file, found a buffer that was kept outside of it"),
        (b"Niab\ncd\n.", "f: ab.cd: expected tensors, found a name that makes none"),
        (b"(o.", "f: byte 2: expected a name to call by OBJ, found None"),
        (b"(icollections\nOrderedDict\n.", "f: collections.OrderedDict: expected tensors, found a call of it by INST"),
        (b"ccollections\nOrderedDict\n)}\x92.", "f: collections.OrderedDict: expected tensors, found a call of it by NEWOBJ_EX"),
    ],
)  # fmt: skip
def test_what_no_writer_writes_is_refused_with_its_place(data, message):
    assert refusal(data) == message


# Each would take for ever, or gigabytes, if only the file's length bounded it.
BOMBS = {
    "opcodes": b"N0" * (MAX_OPCODES // 2),
    "lists": b"]" * 1_600_000,
    "mappings": b"}" * 1_600_000,
    "tuples in tuples": b"N" + b"\x85" * 1_900_000,
    "memo numbers": b"Nr\xff\xff\xff\xff.",
    "copies of one list": b"ccollections\nOrderedDict\n\x94("
    + b"NN\x86" * 100_000
    + b"l\x940"
    + b"h\0h\1\x85R0" * 400_000,
    "wide strings": (b"X" + struct.pack("<I", 3_000_004) + "\U0001f600".encode() + b"a" * 3_000_000) * 7,
    "short strings": b"\x8c\x02ab" * 1_900_000,
    "marks": b"(" * 1_900_000,
    "a giant integer": b"\x8b\xff\xff\xff\x7f" + bytes(10_000),
    "lines": b"I1\n" * (MAX_LINES + 1),
}


@pytest.mark.parametrize("bomb", BOMBS)
def test_a_bomb_is_stopped(bomb):
    assert ("expected at most " in (said := refusal(BOMBS[bomb]))) or "of at most" in said


def test_doubling_a_list_through_the_memo_takes_no_more_than_it_is_long():
    """The billion laughs: 60 lists, each the one before twice. As text it would be longer than all the world's paper."""
    found = run(b"]q\x00" + b"".join(b"(h%ch%ctq%c" % (n, n, n + 1) for n in range(60)) + b"0" * 60 + b".")
    assert found == []
