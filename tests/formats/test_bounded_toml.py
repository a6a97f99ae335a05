"""TOML from strangers: all that people write is read as tomllib reads it, and nothing takes long."""

import time
import tomllib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ln_audit.formats.bounded_toml import LONGEST_WORD, MOST_WORDS, TomlError, loads
from tests.shared import ROOT

DOTTED = ".".join("a" * 40_000)


@pytest.mark.parametrize(
    "text",
    [
        f"{DOTTED} = 1",
        f"[{DOTTED}]",
        f"[[{DOTTED}]]",
        f"x = {{{DOTTED} = 1}}",
        f"x = [{{{DOTTED} = 1}}]",
        " . ".join("a" * 40_000) + " = 1",
        ".".join(['"a"'] * 40_000) + " = 1",
        ".".join(["'.'"] * 40_000) + " = 1",
        f'x = """a""""\n{DOTTED} = 1',
        f'x = {{y = """a"""", {DOTTED} = 1}}',
        f"x = {{y = '''a''''', {DOTTED} = 1}}",
        f'x = "\\"" # "\n{DOTTED} = 1',
        f"x = '\\'\n{DOTTED} = 1",
        f'x = """\\""""\n{DOTTED} = 1',
        "a" * 100_000 + " = 1",
        "x = 0x" + "f" * 100_000,
        "x = " + "9" * 5_000,
        "x = " + "[" * 100_000,
        "x = " + "{a = " * 100_000,
        "x" * (LONGEST_WORD + 1) + " = 1",
        ".".join("a" * (MOST_WORDS + 1)) + " = 1",
        "x = 2027-13-41",
        "[x",
        'x = """' * 100_000,
        'x = "\\' * 100_000,
        "'" * 299_999,
        '"' * 299_999,
    ],
    ids=lambda text: text[:20],
)
def test_what_is_no_toml_or_would_take_long_is_refused_at_once(text):
    begun = time.monotonic()
    with pytest.raises(TomlError):
        loads(text)
    assert time.monotonic() - begun < 2


@pytest.mark.parametrize(
    "text",
    [
        ".".join("a" * MOST_WORDS) + " = 1",
        f'x = "{DOTTED}"',
        f"x = '''\n{DOTTED}\n'''''",
        f'x = """\n{DOTTED}\n\\""" ""\n"""""',
        f"# {DOTTED}\nx = 1",
        f"x = 1 # '''\n# {DOTTED}",
        f'"{DOTTED}" = 1',
        'x = ["' + '", "'.join(["a.b"] * 1_000) + '"]',
        "x = [" + "1.5, " * 1_000 + "]",
        "",
    ],
    ids=lambda text: text[:20],
)
def test_what_people_write_is_read(text):
    assert loads(text) == tomllib.loads(text)


def test_this_project_is_read():
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert loads(text) == tomllib.loads(text)


PIECES = [
    '"',
    "'",
    '"""',
    "'''",
    "\\",
    "#",
    "\n",
    "a",
    ".",
    "=",
    " ",
    "[",
    "]",
    "{",
    "}",
    ",",
    "1",
    "a.a",
    "x = ",
    "\r\n",
]


@settings(max_examples=500, deadline=None)
@given(st.lists(st.sampled_from(PIECES), max_size=30).map("".join))
def test_no_text_hides_a_dotted_key_in_what_only_looks_like_a_string(before):
    """Whatever stands before it: where tomllib comes as far as the key, so does the guard."""
    try:
        tomllib.loads(f"{before}{'z.' * MOST_WORDS}z = 1")
    except ValueError:
        return
    if f"{'z.' * MOST_WORDS}z" in str(tomllib.loads(f"{before}{'z.' * MOST_WORDS}z = 1")):
        return  # it is inside a string
    if before.rpartition("\n")[2].lstrip().startswith("#"):
        return
    with pytest.raises(TomlError):
        loads(f"{before}{'z.' * MOST_WORDS}z = 1")
