"""How the Hub's refusals are said."""

from __future__ import annotations

import pytest

from ln_audit.errors import SourceError
from ln_audit.sources import Settings, hub_faults, open_source


def refusal(target="gpt2", file="config.json", settings=None):
    source = open_source(target, settings or Settings())
    with pytest.raises(SourceError) as error:
        source.exists(file)
    return error.value


@pytest.mark.parametrize(
    ("fault", "token", "message", "hint"),
    [
        (
            "gated",
            None,
            "openai-community/gpt2: expected access, found a gated repository (401)",
            "ask for access at {endpoint}/openai-community/gpt2, then set HF_TOKEN or run `hf auth login`",
        ),
        (
            "gated",
            "hf_right",
            "openai-community/gpt2: expected access, found a gated repository (403)",
            "ask for access at {endpoint}/openai-community/gpt2 with the account your token belongs to",
        ),
        (
            "disabled",
            None,
            "openai-community/gpt2: expected access, found the repository disabled by the Hub (403)",
            "",
        ),
        (
            "bad-token",
            "hf_wrong",
            "openai-community/gpt2: expected a valid token, found one that the Hub does not accept (401)",
            "set HF_TOKEN anew, or unset it and run `hf auth login`; a public model needs none",
        ),
        (
            "forbidden",
            "hf_right",
            "openai-community/gpt2: expected access, found it forbidden (403: Your token lacks the right.?[31m)",
            "check your token's rights",
        ),
        (
            "server-error",
            None,
            "openai-community/gpt2/config.json: expected an answer from {host}, found server error 503",
            "try again later",
        ),
        (
            "redirect-loop",
            None,
            "openai-community/gpt2/config.json: expected the file after at most 8 redirects, found another one: a redirect loop",
            "the server or a proxy in between is set up wrongly",
        ),
        (
            "page",
            None,
            "openai-community/gpt2/config.json: expected the file, found an HTML page",
            "a login page, an error page, or a page about the file instead of the file itself",
        ),
    ],
)
def test_each_refusal_has_its_own_message_and_way_out(hub, monkeypatch, fault, token, message, hint):
    if token:
        monkeypatch.setenv("HF_TOKEN", token)
    hub.fault = fault
    error = refusal()
    names = {"endpoint": hub.endpoint, "host": hub.endpoint.removeprefix("http://")}
    assert (error.message, error.hint) == (message.format(**names), hint.format(**names))


def test_a_repository_that_does_not_exist_may_be_private(hub, monkeypatch):
    stranger = refusal("nobody/nothing")
    assert stranger.message == (
        "nobody/nothing: expected a model on the Hub, found that it does not exist, "
        "or is private and you are not logged in (401)"
    )
    assert stranger.hint == (
        "check the spelling; a folder on this machine is written ./name; "
        "for a private model set HF_TOKEN or run `hf auth login`"
    )
    monkeypatch.setenv("HF_TOKEN", "hf_right")
    member = refusal("nobody/nothing")
    assert member.message == (
        "nobody/nothing: expected a model on the Hub, found that it does not exist, "
        "or is private and your token may not see it (404)"
    )
    assert member.hint == "check the spelling; a folder on this machine is written ./name"


def test_a_revision_that_does_not_exist_is_named(hub):
    error = refusal("gpt2@v9")
    assert error.message == "openai-community/gpt2: expected the revision 'v9', found no such branch, tag or commit"
    assert error.hint == f"see {hub.endpoint}/openai-community/gpt2/commits/main"


def test_a_missing_file_is_told_from_a_missing_repository(hub):
    assert not open_source("gpt2", Settings()).exists("none.bin")


def test_a_file_that_vanishes_before_the_download_is_named(hub):
    from ln_audit.sources.wire import Answer

    answer = Answer(hub.endpoint, 404, {"x-error-code": "EntryNotFound"}, b"", whole=True)
    asked = hub_faults.Asked("org/name", "main", "x.bin", "https://huggingface.co", logged_in=False)
    error = hub_faults.refused(asked, answer)
    assert error.message == "org/name/x.bin: expected the file at revision main, found no such file"
    assert error.hint == "see https://huggingface.co/org/name/tree/main"


def test_another_404_is_no_missing_repository(hub):
    from ln_audit.sources.wire import Answer

    asked = hub_faults.Asked("org/name", "main", "x.bin", hub.endpoint, logged_in=False)
    error = hub_faults.refused(asked, Answer(hub.endpoint, 404, {}, b"", whole=True))
    host = hub.endpoint.removeprefix("http://")
    assert error.message == f"org/name/x.bin: expected the file, found that {host} has none there (404)"


def test_a_token_that_cannot_be_fetched_is_said_so(hub, monkeypatch):
    monkeypatch.setenv("HF_OIDC_RESOURCE", "https://example.invalid")
    assert refusal().message == "openai-community/gpt2: expected a token, found that fetching one failed"
