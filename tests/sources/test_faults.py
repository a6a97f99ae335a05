"""The network's own faults, each with its message and way out."""

from __future__ import annotations

import socket
import threading
import time

import pytest

from ln_audit.errors import SourceError
from ln_audit.sources import Settings, open_source, wire
from tests.loopback_server import Line, Reply, Server


def refusal(url):
    source = open_source(url, Settings())
    with pytest.raises(SourceError) as error:
        source.read_prefix(source.entry or "", 10)
    assert "\n" not in error.value.message
    return error.value, source


def closed_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def test_nobody_listening_is_named_and_counts_no_request(no_environment):
    host = f"127.0.0.1:{closed_port()}"
    error, source = refusal(f"http://{host}/x.bin")
    assert (
        error.message == f"http://{host}/x.bin: expected a connection to {host}, found [errno 111] connection refused"
    )
    assert error.hint == "check the address and the network"
    assert (source.requests, source.used) == (0, ())


def test_a_host_without_an_address_is_named(no_environment):
    error, _ = refusal("http://no-such-host.invalid/x.bin")
    assert error.message == (
        "http://no-such-host.invalid/x.bin: expected the address of no-such-host.invalid, found none (DNS)"
    )


def test_a_silent_server_is_a_timeout(hub, monkeypatch):
    monkeypatch.setattr(wire, "READ_SECONDS", 0.2)
    hub.fault = "silent"
    with pytest.raises(SourceError) as error:
        open_source("gpt2", Settings()).exists("config.json")
    host = hub.endpoint.removeprefix("http://")
    assert error.value.message == (
        f"openai-community/gpt2/config.json: expected an answer from {host} in time, found none: timeout"
    )
    assert len(hub.log) == 1


def test_a_dripping_server_is_given_up_on(no_environment, monkeypatch):
    monkeypatch.setattr(wire, "READ_SECONDS", 0.3)
    monkeypatch.setattr(wire, "_SLOWEST", 1_000_000_000)

    def drip(listener):
        connection, _ = listener.accept()
        with connection:
            connection.recv(10_000)
            connection.sendall(
                b"HTTP/1.1 206 OK\r\nContent-Length: 16384\r\nContent-Range: bytes 0-16383/99999\r\n\r\n"
            )
            for _ in range(30):
                try:
                    connection.sendall(b"x")
                except OSError:
                    return
                time.sleep(0.05)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=drip, args=(listener,))
        thread.start()
        error, _ = refusal(f"http://127.0.0.1:{listener.getsockname()[1]}/x.bin")
        thread.join()
    assert error.message.endswith(": the server is too slow")


def test_a_server_without_tls_is_no_https_server(hub):
    url = hub.endpoint.replace("http", "https") + "/x.bin"
    error, _ = refusal(url)
    host = hub.endpoint.removeprefix("http://")
    assert error.message.startswith(f"{url}: expected a trusted TLS connection to {host}, found ")
    assert error.hint == "behind a company proxy, point SSL_CERT_FILE to its certificate"


def test_a_proxy_that_refuses_is_named(hub, monkeypatch):
    from huggingface_hub import close_session

    monkeypatch.setenv("HTTPS_PROXY", hub.endpoint)
    close_session()
    error, _ = refusal("https://example.invalid/x.bin")
    assert error.message.startswith(
        "https://example.invalid/x.bin: expected the proxy to connect to example.invalid, found "
    )
    close_session()


def test_unusable_proxy_settings_are_named(no_environment, monkeypatch):
    from huggingface_hub import close_session

    monkeypatch.setenv("HTTPS_PROXY", "gopher://proxy:70")
    close_session()
    error, _ = refusal("https://example.invalid/x.bin")
    assert error.message.startswith(
        "https://example.invalid/x.bin: expected usable proxy and certificate settings, found"
    )
    assert error.hint == "check HTTPS_PROXY, HTTP_PROXY, ALL_PROXY and SSL_CERT_FILE"


def test_an_endpoint_that_is_no_url_is_named(no_environment, monkeypatch):
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "ENDPOINT", "hub.example")
    monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", "hub.example/{repo_id}/resolve/{revision}/{filename}")
    with pytest.raises(SourceError) as error:
        open_source("gpt2", Settings()).exists("config.json")
    assert error.value.message.startswith(
        "openai-community/gpt2/config.json: expected an http or https URL, found hub.example/"
    )
    assert error.value.hint == "check HF_ENDPOINT"


@pytest.mark.parametrize("token", ["hf_sécret", "hf_se\x0bcret"])
def test_a_token_that_cannot_be_sent_is_said_so_and_never_shown(hub, monkeypatch, token):
    monkeypatch.setenv("HF_TOKEN", token)
    with pytest.raises(SourceError) as error:
        open_source("gpt2", Settings()).exists("config.json")
    assert error.value.message == (
        "openai-community/gpt2/config.json: expected a token of plain characters, found others"
    )
    assert error.value.hint == "set HF_TOKEN anew"


def test_the_clients_own_offline_mode_is_named(hub, monkeypatch):
    from huggingface_hub import constants

    source = open_source("gpt2", Settings())
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    with pytest.raises(SourceError, match="expected a request to .*, found offline mode") as error:
        source.exists("config.json")
    assert error.value.hint == "drop --offline, or unset HF_HUB_OFFLINE"


@pytest.mark.parametrize(
    ("status", "message"),
    [
        (401, "expected access, found that {host} refuses it (401)"),
        (403, "expected access, found that {host} refuses it (403)"),
        (429, "expected an answer from {host}, found too many requests (429) after waiting once"),
        (500, "expected an answer from {host}, found server error 500"),
        (418, "expected the file from {host}, found status 418"),
    ],
)
def test_a_status_of_any_web_server_is_named(no_environment, status, message):
    server = Server("web", lambda _: Reply(status, {"Retry-After": "0"}), Line())
    server.start()
    try:
        error, _ = refusal(f"{server.address}/x.bin?key=secret")
    finally:
        server.stop()
    host = server.address.removeprefix("http://")
    assert error.message == f"{server.address}/x.bin: {message.format(host=host)}"
    assert "secret" not in error.message + error.hint
