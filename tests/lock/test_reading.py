"""A lockfile is read strictly: what is wrong with it is told with its place, and nothing in it does any harm."""

import os
import time

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ln_audit.errors import UsageError
from ln_audit.lock.reading import parse, read
from ln_audit.lock.schema import Lock
from ln_audit.lock.writing import text
from tests.lock.models import folder, held, lock
from tests.shared import FIXTURES


@pytest.fixture(scope="module")
def good(tmp_path_factory) -> str:
    return text(lock(folder(tmp_path_factory.mktemp("m")), full=True))


SHA = "0123456789abcdef" * 4


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('format = "ln-audit.lock/1"', "", "format: expected 'ln-audit.lock/1', found None"),
        ('format = "ln-audit.lock/1"', "format = 1", "format: expected 'ln-audit.lock/1', found 1"),
        ("lock/1", "lock/0", "format: expected 'ln-audit.lock/1', found 'ln-audit.lock/0'"),
        ("lock/1", "lock/2", "format: expected ln-audit.lock/1 at most, found 'ln-audit.lock/2'"),
        ("[model]", "[models]", "model: expected a value, found no such key"),
        ("[model]", "[[model]]", "model: expected a table, found [{"),
        ("[model]\n", "[model]\nlicence = 1\n", "model: expected no other keys, found 'licence'"),
        ("[model]\n", "strict = true\n[model]\n", "lockfile: expected no other keys, found 'strict'"),
        ('container = "safetensors"', "container = 3", "model.container: expected a string, found 3"),
        ('container = "safetensors"', 'container = ""', "model.container: expected a string, found ''"),
        ("[[file]]", "[file]", "file: expected [[file]], found {"),
        ('[[norm]]\nname = "h.0.ln_1"', "[[norm]]\nname = true", "norm[0].name: expected a string, found True"),
        ('role = "final"', 'role = "last"', "norm[4].role: expected one of final, block, embedding, qk, other, found 'last'"),
        ("layer = 1", "layer = -1", "norm[2].layer: expected a whole number from 0, found -1"),
        ("layer = 1", "layer = 1.0", "norm[2].layer: expected a whole number from 0, found 1.0"),
        ("layer = 1", "layer = true", "norm[2].layer: expected a whole number from 0, found True"),
        ("width = 8", "width = 8\nnth = 0", "norm[0].nth: expected a whole number from 1, found 0"),
        ("width = 8", "wide = 8", "norm[0]: expected no other keys, found 'wide'"),
        ("epsilon = 1e-05", "epsilon = nan", "norm[0].epsilon: expected a float32 not below 0, found nan"),
        ("epsilon = 1e-05", "epsilon = inf", "norm[0].epsilon: expected a float32 not below 0, found inf"),
        ("epsilon = 1e-05", "epsilon = -1e-05", "norm[0].epsilon: expected a float32 not below 0, found -1e-05"),
        ("epsilon = 1e-05", "epsilon = -0.0", "norm[0].epsilon: expected a float32 not below 0, found -0.0"),
        ("epsilon = 1e-05", "epsilon = 1e39", "norm[0].epsilon: expected a float32 not below 0, found 1e+39"),
        ("epsilon = 1e-05", f"epsilon = {'9' * 400}", "norm[0].epsilon: expected a float32 not below 0, found 9999"),
        ("epsilon = 1e-05", "epsilon = '1e-5'", "norm[0].epsilon: expected a float32 not below 0, found '1e-5'"),
        ("parameters = 16", "parameters = 17", "norm[0].parameters: expected 16, the elements of gain and bias, found 17"),
        ("elements = 8", "elements = 9", "norm[0].parameters: expected 17, the elements of gain and bias, found 16"),
        ("elements = 8\n", "", "norm[0].gain.elements: expected a value, found no such key"),
        ("[norm.gain]", "[norm.scale]", "norm[0].parameters: expected 8, the elements of gain and bias, found 16"),
        ("value_sha256", "sha256", "norm[0].gain.value_sha256: expected a value, found no such key"),
        ('value_sha256 = "', 'value_sha256 = "AB', "norm[0].gain.value_sha256: expected 64 hexadecimal digits in lower case"),
        ('name = "h.0.ln_2"', 'name = "h.0.ln_1"', "norm[1]: expected each norm once, found ('decoder', 'h.0.ln_1', 1) again"),
        ("width = 8", "width = {a.a.a = 1}", "norm[0].width: expected a whole number from 0, found {'a': {"),
        ("width = 8", "width = [[[1]]]", "norm[0].width: expected a whole number from 0, found [["),
        ("[model]", "[model", "expected a lockfile in TOML, found: "),
        ("[model]", "\ufeff[model]", "expected a lockfile in TOML, found: "),
    ],
)  # fmt: skip
def test_what_is_wrong_is_told_with_its_place(good, old, new, message):
    assert old in good
    with pytest.raises(UsageError) as caught:
        parse(good.replace(old, new, 1).encode(), "ln-audit.lock")
    assert str(caught.value).startswith(f"ln-audit.lock: {message}")
    assert caught.value.hint.endswith("ln-audit lock TARGET")


def test_a_newer_version_says_what_to_do(good):
    with pytest.raises(UsageError) as caught:
        parse(good.replace("lock/1", "lock/12").encode(), "l")
    assert caught.value.hint.startswith("a newer ln-audit wrote it: upgrade ln-audit, or write it again with this one")


@pytest.mark.parametrize("data", [b"", b"\0", b"\xff\xfe", b"norm = 1", b"a" * 10_000, b"PK\x03\x04", b'{"a": 1}'])
def test_what_is_no_lockfile_is_refused(data):
    with pytest.raises(UsageError, match="l: "):
        parse(data, "l")


def test_the_empty_lock_holds_nothing_and_is_refused(good):
    head = good[: good.index("[[norm]]")]
    with pytest.raises(UsageError, match=r"norm: expected at least one \[\[norm\]\], found none"):
        parse(head.encode(), "l")


def test_a_file_that_cannot_be_read(tmp_path):
    for path, found in ((str(tmp_path / "none"), "no such file"), (str(tmp_path), "is a directory"), ("a\0b", "null")):
        with pytest.raises(UsageError, match=f"expected a lockfile that can be read, found: .*{found}"):
            read(path)


def test_what_would_take_long_is_refused_at_once(good):
    bombs = [
        b"a" * 16_000_001,
        b".".join([b"a"] * 8_000_000) + b" = 1",
        b"[" + b".".join([b"a"] * 4_000) + b"]",
        b"a = " + b"[" * 4_000,
        b"a = '''\n" + b".".join([b"a"] * 90) * 100,
        good.encode() * 20,
        b"\n".join(b"[" + b".".join([b"a"] * 99) + b"]" for _ in range(79_000)),
    ]
    begun = time.monotonic()
    for bomb in bombs:
        with pytest.raises(UsageError):
            parse(bomb, "l")
    assert time.monotonic() - begun < 10


def outcome(data: bytes) -> Lock | UsageError:
    try:
        return parse(data, "l")
    except UsageError as error:
        return error


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=300, deadline=None)
@given(st.data())
def test_a_damaged_lock_is_read_or_refused_and_never_anything_else(good, data):
    damaged = bytearray(good.encode())
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(damaged) - 1))
        kind = data.draw(st.sampled_from(["flip", "cut", "insert", "swap"]))
        if kind == "flip":
            damaged[at] = data.draw(st.integers(0, 255))
        elif kind == "cut":
            del damaged[at : at + data.draw(st.integers(1, 200))]
        elif kind == "insert":
            damaged[at:at] = data.draw(
                st.sampled_from([b"[", b"]", b"=", b"\n", b'"', b"'''", b"1e9999", b"\xff", b"{"])
            )
        else:
            lines = bytes(damaged).split(b"\n")
            lines.insert(data.draw(st.integers(0, len(lines))), data.draw(st.sampled_from(lines)))
            damaged = bytearray(b"\n".join(lines))
    found = outcome(bytes(damaged))
    if isinstance(found, UsageError):
        assert found.message.startswith("l: ")
        assert found.message.isprintable()
    else:
        assert found.norms


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=300))
def test_any_bytes_are_refused(data):
    with pytest.raises(UsageError):
        parse(data, "l")


def test_a_pipe_is_no_lockfile_and_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "f.lock")
    with pytest.raises(UsageError, match=r"f\.lock: expected a lockfile that can be read, found: no ordinary file"):
        read(str(tmp_path / "f.lock"))


RELEASED = sorted((FIXTURES / "released").glob("*/*.lock"))


@pytest.mark.parametrize("path", RELEASED, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_a_lock_of_every_released_version_still_holds_its_model(path):
    assert held(str(FIXTURES / "good" / path.stem), read(str(path))).verdict.word == "pass"
