"""The line of a key is that on which it stands, however it is spelt: held to `tomllib` on documents made at random."""

import json
import tomllib
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ln_audit.policy.lines import lines

TEXT = '''\
# strict = false
strict = true  # yes
"families" = [ "a", # ]
  "b]", { c = 2, d.'e' = [ ] }, ]
[digests]
values."ln_f.weight" = """
target = "no"
"""
[[target]]
target = 1979-05-27 07:32:00
[[target]]
[target.digests]
files = {}
[[target.more]]
x = \'\'\'
[[target]]\'\'\'
'''


def test_keys_rows_and_items_have_the_line_on_which_they_are_first_named():
    assert lines(TEXT) == {
        ("strict",): 2,
        ("families",): 3,
        ("families", 0): 3,
        ("families", 1): 4,
        ("families", 2): 4,
        ("families", 2, "c"): 4,
        ("families", 2, "d"): 4,
        ("families", 2, "d", "e"): 4,
        ("digests",): 5,
        ("digests", "values"): 6,
        ("digests", "values", "ln_f.weight"): 6,
        ("target",): 9,
        ("target", 0): 9,
        ("target", 0, "target"): 10,
        ("target", 1): 11,
        ("target", 1, "digests"): 12,
        ("target", 1, "digests", "files"): 13,
        ("target", 1, "more"): 14,
        ("target", 1, "more", 0): 14,
        ("target", 1, "more", 0, "x"): 15,
    }


def paths(value: Any, above: tuple = ()) -> set:
    """Every path of what `tomllib` read."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return {path for key, item in items for path in ({(*above, key)} | paths(item, (*above, key)))}


@pytest.mark.parametrize(
    "text", ["", "\n", "#", "a = 1", "[a]", "[ a . 'b' ]", "[[ a ]]\n[[ a ]]", "a = [\n]\r\nb = {}"]
)
def test_small_documents(text):
    assert set(lines(text)) == paths(tomllib.loads(text))


def test_arrays_deeper_than_a_stack_are_walked_through():
    assert max(lines(f"a = {'[' * 5_000}{']' * 5_000}"), key=len) == ("a", *[0] * 4_999)


def test_a_megabyte_takes_no_time():
    text = "".join(f"[[target]]\ntarget = 'm{i}'\n" for i in range(30_000))
    assert lines(text)["target", 29_999, "target"] == 60_000


PLAIN = st.sampled_from(["1", "-0.5e3", "true", "inf", "1979-05-27", "1979-05-27 07:32:00.5Z", "07:32:00", "0xff"])
STRINGS = st.sampled_from(
    ['""', "''", '"a # ] } = , \\" b"', "'[x]'", '"""\nkey = 1\n[x]\n"""', "'''\n]]\n'''", '""""a" """', '"\\\\"', "''''a' '''"]
)  # fmt: skip
WORDS = st.sampled_from(["a", "b-c", "1", "", "x.y", "# [", "= ]", '"', "'", "\n", "ä", "\\", "\u2028", "true"])
SPACE = st.sampled_from(["", " ", "\t"])
BREAK = st.sampled_from(["", " ", "\n", " # ] }\n", "\r\n\t"])


class Writer:
    """A document that is written at random, and the line of each key as it was written."""

    def __init__(self, draw) -> None:
        self.draw, self.text, self.names = draw, "", 0
        self.known: dict[tuple, int] = {}

    def put(self, text: str) -> None:
        self.text += text

    def note(self, path: tuple) -> None:
        self.known.setdefault(path, 1 + self.text.count("\n"))

    def key(self, above: tuple, *, dotted: bool = True) -> tuple:
        """A new key, perhaps of several words."""
        path = above
        for at in range(self.draw(st.integers(1, 3 if dotted else 1))):
            if at:
                self.put(self.draw(SPACE) + "." + self.draw(SPACE))
            self.names += 1
            word = f"{self.draw(WORDS)}_{self.names}"
            path = (*path, word)
            self.note(path)
            self.put(self.spelt(word))
        return path

    def spelt(self, word: str) -> str:
        ways = [json.dumps(word)]
        if word.isascii() and word.replace("-", "").replace("_", "").isalnum():
            ways.append(word)
        if "'" not in word and word.isprintable():
            ways.append(f"'{word}'")
        return self.draw(st.sampled_from(ways))

    def pair(self, above: tuple, depth: int) -> None:
        path = self.key(above)
        self.put(self.draw(SPACE) + "=" + self.draw(SPACE))
        self.value(path, depth)

    def value(self, path: tuple, depth: int) -> None:
        kind = self.draw(st.integers(0, 3 if depth else 1))
        if kind < 2:
            self.put(self.draw((PLAIN, STRINGS)[kind]))
            return
        self.put("[{"[kind - 2])
        count = self.draw(st.integers(0, 3))
        for at in range(count):
            self.put(self.draw(BREAK if kind == 2 else SPACE))
            if kind == 2:
                self.note((*path, at))
                self.value((*path, at), depth - 1)
            else:
                self.pair(path, depth - 1)
            if at < count - 1 or (kind == 2 and self.draw(st.booleans())):
                self.put(self.draw(SPACE) + ",")
        self.put(self.draw(BREAK if kind == 2 else SPACE) + "]}"[kind - 2])

    def end(self) -> None:
        self.put(self.draw(st.sampled_from(["\n", " # a = 1\n", "\r\n", "\n\n# [x]\n"])))

    def section(self) -> None:
        """A table, or several rows of one, with a table below each row."""
        rows = self.draw(st.integers(0, 2))
        if rows == 0:
            self.put("[" + self.draw(SPACE))
            above = self.key(())
            self.put(self.draw(SPACE) + "]")
            self.end()
            self.body(above)
            return
        self.names += 1
        word = f"{self.draw(WORDS)}_{self.names}"
        for row in range(rows):
            self.note((word,))
            self.note((word, row))
            self.put(f"[[{self.spelt(word)}]]")
            self.end()
            self.body((word, row))
            self.put("[")
            self.put(self.spelt(word) + ".")
            below = self.key((word, row), dotted=False)
            self.put("]")
            self.end()
            self.body(below)

    def body(self, above: tuple) -> None:
        for _ in range(self.draw(st.integers(0, 3))):
            self.pair(above, 3)
            self.end()


@st.composite
def documents(draw):
    writer = Writer(draw)
    writer.body(())
    for _ in range(draw(st.integers(0, 4))):
        writer.section()
    return writer


@settings(max_examples=300, deadline=None)
@given(documents())
def test_every_key_of_a_random_document_is_on_the_line_where_it_was_written(written):
    assert paths(tomllib.loads(written.text)) == set(written.known)  # the writer itself is right
    assert lines(written.text) == written.known


PIECES = [
    "a",
    "b",
    ".",
    "=",
    "[",
    "]",
    "[[",
    "]]",
    "{",
    "}",
    ",",
    "\n",
    " ",
    "1",
    '"',
    "'",
    '"""',
    "'''",
    "#",
    "\\",
    "a = ",
    "[a]\n",
]


@settings(max_examples=1_000, deadline=None)
@given(st.lists(st.sampled_from(PIECES), max_size=14).map("".join))
def test_whatever_tomllib_reads_has_the_same_keys(text):
    try:
        read = tomllib.loads(text)
    except ValueError:
        return
    assert set(lines(text)) == paths(read)
