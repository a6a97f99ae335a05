"""Single requests: bounded, counted, retried a little."""

from __future__ import annotations

import time

import pytest

from ln_audit.core import Range
from ln_audit.errors import SourceError
from ln_audit.sources import wire
from ln_audit.sources.wire import Ask, Wire, origin, request_headers, told
from tests.loopback_server import Line, Reply, Server

ASK = Ask("f", "f", Range(0, 10))


@pytest.fixture
def serve(no_environment):
    """Start a server that gives these replies one after the other, the last one for ever; counts what it was asked."""
    from huggingface_hub import close_session

    servers = []

    def start(*replies):
        asked = []

        def answer(seen):
            asked.append(seen)
            return replies[min(len(asked), len(replies)) - 1]

        servers.append(Server("host", answer, Line()))
        servers[-1].start()
        return servers[-1].address, asked

    yield start
    close_session()
    for server in servers:
        server.stop()


def plain():
    return Wire(lambda _: request_headers())


def test_a_request_asks_for_a_range_of_the_plain_bytes_and_is_counted(serve):
    url, asked = serve(Reply(206, {"Content-Range": "bytes 0-9/99"}, b"0123456789"))
    account = plain()
    answer = account.get(url + "/x", ASK)
    assert (answer.status, answer.body, answer.whole, answer.redirect) == (206, b"0123456789", True, None)
    assert (account.requests, account.received) == (1, {"f": 10})
    assert (asked[0].headers["range"], asked[0].headers["accept-encoding"]) == ("bytes=0-9", "identity")
    assert asked[0].headers["user-agent"].startswith("ln-audit/")


def test_no_range_asks_for_the_whole(serve):
    url, asked = serve(Reply(200, {}, b"all"))
    assert plain().get(url, Ask("f", "f")).body == b"all"
    assert "range" not in asked[0].headers


def test_a_longer_answer_than_asked_is_not_read_to_its_end(serve):
    url, _ = serve(Reply(206, {}, b"x" * 5_000_000))
    account = plain()
    answer = account.get(url, ASK)
    assert not answer.whole
    assert account.received["f"] == len(answer.body) < 2_000_000


def test_a_declared_whole_file_above_the_cap_is_not_read_at_all(serve):
    url, _ = serve(Reply(200, {}, b"x" * 2_000))
    account = plain()
    answer = account.get(url, Ask("f", "f", Range(0, 10), cap=1_000))
    assert (answer.whole, answer.body, account.received) == (False, b"", {})


def test_an_undeclared_whole_file_is_read_to_the_cap_only(serve):
    url, _ = serve(Reply(200, {}, b"x" * 5_000_000, length=-1))
    account = plain()
    assert not account.get(url, Ask("f", "f", Range(0, 10), cap=1_000)).whole
    assert account.received["f"] < 2_000_000


def test_a_server_error_is_retried_twice_then_given_back(serve):
    url, asked = serve(Reply(503), Reply(502), Reply(200, {}, b"at last"))
    account = plain()
    assert account.get(url, ASK).body == b"at last"
    assert (account.requests, len(asked)) == (3, 3)
    url, asked = serve(Reply(500))
    assert plain().get(url, ASK).status == 500
    assert len(asked) == 3


def test_other_refusals_are_not_retried(serve):
    url, asked = serve(Reply(404))
    assert plain().get(url, ASK).status == 404
    assert len(asked) == 1


def test_a_429_is_waited_for_once_as_long_as_it_says(serve):
    url, asked = serve(Reply(429, {"Retry-After": "1"}), Reply(200, {}, b"ok"))
    started = time.monotonic()
    assert plain().get(url, ASK).body == b"ok"
    assert time.monotonic() - started >= 1
    url, asked = serve(Reply(429, {"Retry-After": "0"}))
    assert plain().get(url, ASK).status == 429
    assert len(asked) == 2


def test_a_429_that_asks_for_a_long_wait_is_not_waited_for(serve):
    for headers in ({"Retry-After": "3600"}, {"RateLimit": '"api";r=0;t=300'}):
        url, asked = serve(Reply(429, headers))
        assert plain().get(url, ASK).status == 429
        assert len(asked) == 1


def test_a_429_without_a_number_is_waited_for_briefly(serve, monkeypatch):
    monkeypatch.setattr(wire, "_WAIT_UNTOLD", 0.01)
    url, asked = serve(Reply(429, {"Retry-After": "Fri, 31 Dec 1999 23:59:59 GMT"}), Reply(200))
    assert plain().get(url, ASK).status == 200
    assert len(asked) == 2


def test_a_broken_answer_is_retried_and_a_whole_one_taken(serve):
    url, _ = serve(Reply(206, {}, b"01234", length=10), Reply(206, {}, b"0123456789"))
    account = plain()
    assert account.get(url, ASK).body == b"0123456789"
    assert account.requests == 2
    assert account.received == {"f": 15}


def test_redirects_are_followed_to_the_end_or_to_where_one_has_to_stop(serve):
    url, _ = serve(
        Reply(302, {"Location": "/b", "X-A": "1"}, b"go"), Reply(301, {"Location": "/c", "X-B": "2"}), Reply(200)
    )
    hops = plain().follow(url + "/a", ASK)
    assert [hop.url.removeprefix(url) for hop in hops] == ["/a", "/b", "/c"]
    assert (told(hops, "x-a"), told(hops, "X-B"), told(hops, "x-c")) == ("1", "2", None)
    url, asked = serve(Reply(302, {"Location": "http://cdn.invalid/x"}))
    [hop] = plain().follow(url, ASK, stop=lambda target: origin(target) != origin(url))
    assert hop.redirect == "http://cdn.invalid/x"
    assert len(asked) == 1


def test_a_redirect_loop_ends(serve):
    url, asked = serve(Reply(302, {"Location": "/again"}))
    with pytest.raises(SourceError, match="found another one: a redirect loop"):
        plain().follow(url, ASK)
    assert len(asked) == 8


@pytest.mark.parametrize("where", ["file:///etc/passwd", "ftp://host/x"])
def test_a_redirect_leaves_the_web_for_nothing(serve, where):
    url, _ = serve(Reply(302, {"Location": where}))
    with pytest.raises(SourceError) as error:
        plain().follow(url, ASK)
    assert (
        error.value.message == f"f: expected a redirect to an https address, found one to {where[: where.index(':')]!r}"
    )


def test_an_origin_is_scheme_host_and_port():
    assert origin("https://Host/x") == ("https", "host", 443)
    assert origin("https://host:443") == origin("https://host/y")
    assert origin("http://host") != origin("https://host")
    with pytest.raises(SourceError, match="expected a URL"):
        origin("http://host:port/x")
