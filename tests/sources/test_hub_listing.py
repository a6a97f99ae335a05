"""The tree API."""

from __future__ import annotations

import json

import pytest

from ln_audit.errors import SourceError
from ln_audit.sources import hub_listing
from ln_audit.sources.hub_faults import Asked
from ln_audit.sources.wire import Wire, request_headers
from tests.loopback_server import Line, Reply, Server


def listing(*replies):
    """What the listing makes of a server's answers, one after the other."""
    left = list(replies)
    server = Server("hub", lambda _: left.pop(0), Line())
    for reply in left:
        reply.headers = {name: value.replace("HERE", server.address) for name, value in reply.headers.items()}
    server.start()
    try:
        return hub_listing.files(
            Wire(lambda _: request_headers()), Asked("o/n", "main", None, server.address, logged_in=False)
        )
    finally:
        server.stop()


def page(*entries, following=None):
    headers = {} if following is None else {"Link": f'<{following}>; rel="next"'}
    return Reply(200, headers, json.dumps(entries).encode())


def test_pages_are_followed_and_folders_left_out(no_environment):
    first = page({"type": "file", "path": "b"}, {"type": "directory", "path": "c"}, following="HERE/next")
    assert listing(first, page({"type": "file", "path": "a"}, {"type": "file"}, 7)) == ["a", "b"]


def test_a_next_page_elsewhere_is_refused(no_environment):
    with pytest.raises(SourceError) as error:
        listing(page(following="http://127.0.0.1:9/next"))
    assert error.value.message == "o/n: list of files: expected its next page on the Hub, found it elsewhere"


def test_a_listing_without_end_is_refused(no_environment, monkeypatch):
    monkeypatch.setattr(hub_listing, "_MOST_PAGES", 2)
    with pytest.raises(SourceError) as error:
        listing(page(following="HERE/2"), page(following="HERE/3"))
    assert error.value.message == "o/n: list of files: expected at most 2 pages, found more"


@pytest.mark.parametrize("body", [b"", b"{}", b"[" * 100_000, b"\xff"])
def test_what_is_no_list_is_refused(no_environment, body):
    with pytest.raises(SourceError) as error:
        listing(Reply(200, {}, body))
    assert error.value.message == "o/n: list of files: expected a JSON array, found something else"


def test_a_refused_listing_is_a_refusal_of_the_hub(no_environment):
    with pytest.raises(SourceError, match="^o/n: expected a model on the Hub, found that it does not exist"):
        listing(Reply(401, {"X-Error-Message": "Invalid username or password."}))
