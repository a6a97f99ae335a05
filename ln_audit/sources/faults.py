"""What goes wrong on the network, said in our words: one message and one way out per fault.

A message never repeats a request's headers or a signed URL's query: both are secrets.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from ln_audit.errors import SourceError
from ln_audit.sources.file_names import printable

if TYPE_CHECKING:
    from ln_audit.sources.wire import Answer

OFFLINE_HINT = "drop --offline, or unset HF_HUB_OFFLINE"
_AGAIN = "try again later"
_NETWORK = "check the network and HF_ENDPOINT; --offline reads what the Hub's cache holds"


def session(label: str) -> Any:
    """`huggingface_hub`'s shared client. Raises `SourceError` when proxy or certificate settings make it impossible."""
    from huggingface_hub.utils import get_session

    try:
        return get_session()
    except (OSError, ValueError, ImportError) as error:  # SSL_CERT_FILE, HTTPS_PROXY, a proxy type not installed
        raise SourceError(
            f"{label}: expected usable proxy and certificate settings, found {printable(str(error))}",
            hint="check HTTPS_PROXY, HTTP_PROXY, ALL_PROXY and SSL_CERT_FILE",
        ) from error


def transport_errors() -> tuple[type[BaseException], ...]:
    """What a request can raise instead of an answer."""
    from huggingface_hub.errors import OfflineModeIsEnabled
    from huggingface_hub.utils import httpx

    return httpx.HTTPError, httpx.InvalidURL, OfflineModeIsEnabled, UnicodeEncodeError


def unsent_errors() -> tuple[type[BaseException], ...]:
    """Those of them that mean that no request left this machine."""
    from huggingface_hub.errors import OfflineModeIsEnabled
    from huggingface_hub.utils import httpx

    no_connection = httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout, httpx.ProxyError
    return (*no_connection, httpx.UnsupportedProtocol, httpx.InvalidURL, OfflineModeIsEnabled, UnicodeEncodeError)


def is_passing(error: BaseException) -> bool:
    """Whether a second attempt may help: the connection broke, as kept-alive ones do when a server restarts."""
    from huggingface_hub.utils import httpx

    return isinstance(error, httpx.RemoteProtocolError | httpx.ReadError | httpx.WriteError)


def no_answer(label: str, url: str, error: BaseException) -> SourceError:
    """The message for a request that got no answer, or half of one."""
    from huggingface_hub.errors import OfflineModeIsEnabled
    from huggingface_hub.utils import httpx

    host = _host(url)
    if isinstance(error, OfflineModeIsEnabled):
        return SourceError(f"{label}: expected a request to {host}, found offline mode", hint=OFFLINE_HINT)
    if isinstance(error, httpx.InvalidURL | httpx.UnsupportedProtocol):
        found = printable(url.partition("?")[0])
        return SourceError(f"{label}: expected an http or https URL, found {found}", hint="check HF_ENDPOINT")
    if isinstance(error, httpx.LocalProtocolError | UnicodeEncodeError):  # its text would repeat the header: the token
        return SourceError(f"{label}: expected a token of plain characters, found others", hint="set HF_TOKEN anew")
    if isinstance(error, httpx.TimeoutException):
        what = "a connection" if isinstance(error, httpx.ConnectTimeout) else "an answer"
        return SourceError(f"{label}: expected {what} from {host} in time, found none: timeout", hint=_AGAIN)
    if isinstance(error, httpx.ConnectError | httpx.ProxyError):
        return _no_connection(label, host, error)
    found = printable(str(error))
    return SourceError(f"{label}: expected a whole answer from {host}, found it cut short ({found})", hint=_AGAIN)


def _no_connection(label: str, host: str, error: BaseException) -> SourceError:
    """By what lies at the bottom: the proxy, TLS, DNS, or the network itself."""
    import socket
    import ssl

    from huggingface_hub.utils import httpx

    causes = _causes(error)
    if isinstance(error, httpx.ProxyError):
        found = printable(str(error))
        hint = "check HTTPS_PROXY, HTTP_PROXY and NO_PROXY"
        return SourceError(f"{label}: expected the proxy to connect to {host}, found {found}", hint=hint)
    if any(isinstance(cause, ssl.SSLError) for cause in causes):
        hint = "behind a company proxy, point SSL_CERT_FILE to its certificate"
        return SourceError(f"{label}: expected a trusted TLS connection to {host}, found {_tls(causes)}", hint=hint)
    if any(isinstance(cause, socket.gaierror) for cause in causes):
        return SourceError(f"{label}: expected the address of {host}, found none (DNS)", hint=_network(label))
    found = printable(str(causes[-1])).lower()
    return SourceError(f"{label}: expected a connection to {host}, found {found}", hint=_network(label))


def _network(label: str) -> str:
    """What helps where nothing answers: of an address of the user's own, not the Hub's settings."""
    return "check the address and the network" if "://" in label else _NETWORK


def _host(url: str) -> str:
    """Host and port, without what may stand before an `@`: a password."""
    try:
        return printable(urlsplit(url).netloc.rpartition("@")[2])
    except ValueError:
        return "the server"


def _causes(error: BaseException) -> list[BaseException]:
    """The error and what led to it, outermost first."""
    chain: list[BaseException] = []
    cause: BaseException | None = error
    while cause is not None and len(chain) < 16:
        chain.append(cause)
        cause = cause.__cause__ or cause.__context__
    return chain


def _tls(causes: list[BaseException]) -> str:
    import ssl

    verify = next((c for c in causes if isinstance(c, ssl.SSLCertVerificationError)), None)
    reason = verify.verify_message if verify is not None else str(causes[-1])
    return printable(reason).lower()


def refused(label: str, answer: Answer) -> SourceError:
    """The message for a status that no repository is needed to explain."""
    host = _host(answer.url)
    status = answer.status
    if status == 429:
        told = printable(answer.headers.get("retry-after", "an unknown number of"), 20)
        return SourceError(
            f"{label}: expected an answer from {host}, found too many requests (429) after waiting once",
            hint=f"wait {told} seconds; logging in (HF_TOKEN) raises the Hub's limit",
        )
    if status >= 500:
        return SourceError(f"{label}: expected an answer from {host}, found server error {status}", hint=_AGAIN)
    if status in {401, 403}:
        return SourceError(
            f"{label}: expected access, found that {host} refuses it ({status})",
            hint="a signed URL may have expired; a token is only sent to the Hub (write hf://org/name)",
        )
    if status in {404, 410}:
        return SourceError(f"{label}: expected the file, found that {host} has none there ({status})")
    return SourceError(f"{label}: expected the file from {host}, found status {status}")
