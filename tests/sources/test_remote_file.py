"""One file behind a URL: an answer counts only when it holds the bytes asked for."""

from __future__ import annotations

import pytest

from ln_audit.core import Range
from ln_audit.errors import SourceError
from ln_audit.sources import Settings, open_source
from ln_audit.sources.remote_file import RemoteFile, is_page
from ln_audit.sources.wire import Answer, Ask, Wire

FILE = "model.safetensors"
LABEL = f"openai-community/gpt2/{FILE}"


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        ("no-content-range", "expected Content-Range bytes 0-16383, found 'none'"),
        ("wrong-range", "expected bytes 0-16383, found bytes 8-16391"),
        ("other-size", "expected a file of 400000 bytes, found one of 400001"),
        ("less-than-asked", "expected 16384 bytes, found 16379: the answer is cut short"),
        ("longer", "expected 16384 bytes, found 16389: the answer is longer than asked"),
        ("not-satisfiable", "expected bytes 0-16383, found range not satisfiable (416, bytes */400000)"),
        ("gzip", "expected the file's own bytes, found them encoded as 'gzip'"),
        ("cdn-page", "expected the file, found an HTML page"),
    ],
)
def test_a_wrong_answer_of_the_cdn_is_never_parsed(hub, fault, message):
    hub.fault = fault
    with pytest.raises(SourceError) as error:
        open_source("gpt2", Settings()).read_prefix(FILE, 16_384)
    assert error.value.message == f"{LABEL}: {message}"
    assert error.value.hint


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        ("cut-short", "expected a whole answer from {cdn}, found it cut short"),
        ("cdn-error", "expected an answer from {cdn}, found server error 500"),
        ("expired", "expected access, found that {cdn} refuses it (403)"),
    ],
)
def test_a_failing_cdn_is_tried_a_few_times_then_named(hub, fault, message):
    hub.fault = fault
    source = open_source("gpt2", Settings())
    with pytest.raises(SourceError) as error:
        source.read_prefix(FILE, 16_384)
    assert error.value.message.startswith(f"{LABEL}: {message.format(cdn=hub.address('cdn').removeprefix('http://'))}")
    assert source.requests == len(hub.log) == 4
    assert "Signature" not in error.value.message + error.value.hint


def test_a_file_that_changes_between_two_reads_is_an_error(hub):
    hub.fault = "changes"
    source = open_source("gpt2", Settings())
    source.read_prefix(FILE, 16_384)
    with pytest.raises(SourceError, match='expected the version first read .*, found "another"') as error:
        source.read(FILE, [Range(100_000, 100_001)])
    assert error.value.hint == "the file changed while it was read: run again"


@pytest.mark.parametrize("fault", ["ignores-range", "ignores-range-untold", "mirror-ignores-range"])
def test_a_large_file_is_refused_from_a_server_that_ignores_range(hub, model, fault):
    with (model / "large.safetensors").open("wb") as file:
        file.truncate(50_000_000)
    hub.sha256[model / "large.safetensors"] = "0" * 64
    hub.fault = fault
    source = open_source("gpt2", Settings())
    with pytest.raises(SourceError) as error:
        source.read_prefix("large.safetensors", 16_384)
    size = "an unknown number of" if fault == "ignores-range-untold" else "50000000"
    assert error.value.message == (
        "openai-community/gpt2/large.safetensors: expected bytes 0-16383 (206), "
        f"found the whole file (200, {size} bytes)"
    )
    assert sum(use.bytes_read for use in source.used) < 9_000_000


def test_ranges_behind_the_end_are_refused_without_a_request(hub):
    source = open_source("gpt2", Settings())
    source.exists(FILE)
    with pytest.raises(SourceError) as error:
        source.read(FILE, [Range(399_999, 400_001)])
    assert error.value.message == (
        f"{LABEL}: bytes 399999 to 400001: expected a file at least that long, found 400000 bytes"
    )
    assert len(hub.log) == 1


def accepted(status, headers, body, **known):
    file = RemoteFile(Wire(lambda _: {}), Ask("f", "f"), "http://host/f", **known)
    return file.accept(Answer("http://host/f", status, headers, body, whole=True), Range(0, 4)), file


def test_a_total_of_star_needs_a_size_known_from_elsewhere():
    assert accepted(206, {"content-range": "bytes 0-3/*"}, b"0123", size=10, pinned_elsewhere=True)[0] == b"0123"
    with pytest.raises(SourceError, match="expected an answer that tells the file's size"):
        accepted(206, {"content-range": "bytes 0-3/*"}, b"0123")


@pytest.mark.parametrize("told", ["bytes 3-0/10", "bytes 0-3/2", "bytes 1-4/10", "bytes 0-9/10", "bytes 0-4/10"])
def test_a_content_range_that_is_not_the_one_asked_for_is_refused(told):
    with pytest.raises(SourceError, match="expected"):
        accepted(206, {"content-range": told}, b"0123")


def test_last_modified_pins_where_there_is_no_etag():
    _, file = accepted(206, {"content-range": "bytes 0-3/10", "last-modified": "Mon"}, b"0123")
    assert file.version == "Mon"
    with pytest.raises(SourceError, match="expected the version first read"):
        file.accept(
            Answer("u", 206, {"content-range": "bytes 4-7/10", "last-modified": "Tue"}, b"4567", whole=True),
            Range(4, 8),
        )


@pytest.mark.parametrize(
    ("headers", "body", "begin", "page"),
    [
        ({"content-type": "text/html"}, b"x", 100, True),
        ({}, b"\n <!DOCTYPE HTML><html>", 0, True),
        ({}, b"<html>", 0, True),
        ({}, b"<html>", 100, False),
        ({"content-type": "application/octet-stream"}, b"\x10\0\0\0", 0, False),
    ],
)
def test_a_page_is_known_by_its_type_or_its_first_bytes(headers, body, begin, page):
    assert is_page(Answer("u", 200, headers, body, whole=True), begin) is page
