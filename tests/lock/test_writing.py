"""A lockfile is TOML that a person can read, the same bytes for the same model."""

import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ln_audit.lock.reading import parse
from ln_audit.lock.schema import Lock, LockedFile, LockedNorm, Parameter
from ln_audit.lock.writing import string, text
from tests.lock.models import folder, lock

A, B = "a" * 64, "b" * 64


def test_the_whole_text():
    gain = Parameter(2, {"bfloat16_sha256": B, "value_sha256": A})
    norm = LockedNorm("ln_f", "final", "layer_norm", "decoder", None, 2, 1e-05, 1, gain, Parameter(2))
    block = LockedNorm("q", "qk", "l2_norm", None, 3, None, None, 2)
    made = Lock((block, norm), "org/name", "gguf", "abc", "gpt2", "0123456789ab", (LockedFile("m.gguf", A),))
    assert text(made) == (
        "# What the norms of this model are: `ln-audit verify TARGET --lock FILE` holds an artifact to it, in whatever container.\n"
        "# Written by `ln-audit lock`; run it again to renew the file, and review what changed.\n"
        '\nformat = "ln-audit.lock/1"\n\n[model]\nidentity = "org/name"\nrevision = "abc"\ncontainer = "gguf"\n'
        f'family = "gpt2"\nfamily_data = "0123456789ab"\n\n[[file]]\nname = "m.gguf"\nsha256 = "{A}"\n'
        '\n[[norm]]\nname = "q"\nnth = 2\nrole = "qk"\nlayer = 3\nkind = "l2_norm"\nparameters = 0\n'
        '\n[[norm]]\nname = "ln_f"\nrole = "final"\nstack = "decoder"\nkind = "layer_norm"\nwidth = 2\nepsilon = 1e-05\n'
        f'parameters = 4\n[norm.gain]\nelements = 2\nvalue_sha256 = "{A}"\nbfloat16_sha256 = "{B}"\n'
        "[norm.bias]\nelements = 2\n"
    )


def test_what_is_written_is_read_back_the_same_and_written_the_same(tmp_path):
    made = lock(folder(tmp_path / "m"), full=True)
    again = parse(text(made).encode(), made.where)
    assert again == made
    assert text(again) == text(made) == text(lock(folder(tmp_path / "m"), full=True))


@given(st.text())
def test_any_name_is_a_string_on_one_line(name):
    written = string(name)
    assert "\n" not in written
    assert "\r" not in written
    if name.isascii() or name.isprintable():
        assert tomllib.loads(f"a = {written}")["a"] == name


@pytest.mark.parametrize("name", ["\x00", "\x7f", "\u202e", "a\tb", 'q"\\', "\U000e0001"])
def test_what_cannot_be_printed_is_escaped(name):
    written = string(name)
    assert written.isprintable()
    assert tomllib.loads(f"a = {written}")["a"] == name


def test_half_a_surrogate_is_shown_as_its_escape():
    assert tomllib.loads(f"a = {string(chr(0xDC80))}")["a"] == r"\udc80"


@pytest.mark.parametrize("epsilon", [0.0, 1e-05, 1e-12, 0.1, 1.0, 1e30])
def test_every_epsilon_is_a_toml_number(epsilon):
    norm = LockedNorm("n", "final", "rms_norm", None, None, 1, epsilon)
    assert parse(text(Lock((norm,), "m", "gguf")).encode(), "l").norms[0].epsilon == epsilon
