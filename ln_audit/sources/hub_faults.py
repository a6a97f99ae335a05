"""How the Hub says no, by `huggingface_hub`'s own reading of status and headers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ln_audit.errors import SourceError
from ln_audit.sources import faults
from ln_audit.sources.file_names import printable

if TYPE_CHECKING:
    from ln_audit.sources.wire import Answer

_LOG_IN = "set HF_TOKEN or run `hf auth login`"
_TOLD = (
    "x-error-code",
    "x-error-message",
)  # all that the client's reading needs; a body may be long, or no JSON object


@dataclass(frozen=True, slots=True)
class Asked:
    """What was asked of the Hub, for the message. `endpoint` is where a person can look it up."""

    repo: str
    revision: str
    file: str | None
    endpoint: str
    logged_in: bool

    @property
    def label(self) -> str:
        """How messages call it."""
        return printable(self.repo if self.file is None else f"{self.repo}/{self.file}")


def token(repo: str) -> str | None:
    """The user's token, None for strangers. Raises `SourceError` when one was to be fetched and could not be."""
    from huggingface_hub import constants, errors, get_token

    if constants.HF_HUB_DISABLE_IMPLICIT_TOKEN:
        return None
    fetching = tuple(getattr(errors, name) for name in ("OIDCError", "DeviceCodeError") if hasattr(errors, name))
    try:
        found: str | None = get_token()
    except fetching as error:
        raise SourceError(
            f"{printable(repo)}: expected a token, found that fetching one failed", hint=_LOG_IN
        ) from error
    return found


def is_absent(answer: Answer) -> bool:
    """Whether the Hub says that the repository has no such file, and not that it knows no such repository."""
    from huggingface_hub.errors import RemoteEntryNotFoundError

    return isinstance(_reading(answer), RemoteEntryNotFoundError)


def refused(asked: Asked, answer: Answer) -> SourceError:
    """The message for an answer that is neither the file nor the way to it."""
    from huggingface_hub.errors import RemoteEntryNotFoundError, RevisionNotFoundError

    reading = _reading(answer)
    repo, revision = printable(asked.repo), printable(asked.revision)
    if isinstance(reading, RevisionNotFoundError):
        return SourceError(
            f"{repo}: expected the revision {revision!r}, found no such branch, tag or commit",
            hint=f"see {asked.endpoint}/{asked.repo}/commits/main",
        )
    if isinstance(reading, RemoteEntryNotFoundError):
        return SourceError(
            f"{asked.label}: expected the file at revision {revision}, found no such file",
            hint=f"see {asked.endpoint}/{asked.repo}/tree/{asked.revision}",
        )
    if answer.status in {401, 403, 404}:
        return _no_access(asked, answer, reading)
    return faults.refused(asked.label, answer)


def _no_access(asked: Asked, answer: Answer, reading: object) -> SourceError:
    from huggingface_hub.errors import DisabledRepoError, GatedRepoError, RepositoryNotFoundError

    repo, status = printable(asked.repo), answer.status
    said = printable(answer.headers.get("x-error-message", "")) or "no reason given"
    if isinstance(reading, GatedRepoError):
        return _gated(asked, status)
    if isinstance(reading, DisabledRepoError):
        return SourceError(f"{repo}: expected access, found the repository disabled by the Hub ({status})")
    if status == 401 and "invalid credentials" in said.lower():
        return SourceError(
            f"{repo}: expected a valid token, found one that the Hub does not accept (401)",
            hint="set HF_TOKEN anew, or unset it and run `hf auth login`; a public model needs none",
        )
    if isinstance(reading, RepositoryNotFoundError) or status == 401:
        return _no_repository(asked, status)
    if status == 403:
        return SourceError(
            f"{repo}: expected access, found it forbidden (403: {said})", hint="check your token's rights"
        )
    return faults.refused(asked.label, answer)


def _gated(asked: Asked, status: int) -> SourceError:
    where = f"{asked.endpoint}/{asked.repo}"
    return SourceError(
        f"{printable(asked.repo)}: expected access, found a gated repository ({status})",
        hint=f"ask for access at {where} with the account your token belongs to"
        if asked.logged_in
        else f"ask for access at {where}, then {_LOG_IN}",
    )


def _no_repository(asked: Asked, status: int) -> SourceError:
    """The Hub tells strangers 401 and members 404: in both cases it may exist and be private."""
    found = (
        "or is private and your token may not see it" if asked.logged_in else "or is private and you are not logged in"
    )
    return SourceError(
        f"{printable(asked.repo)}: expected a model on the Hub, found that it does not exist, {found} ({status})",
        hint="check the spelling; a folder on this machine is written ./name"
        + ("" if asked.logged_in else f"; for a private model {_LOG_IN}"),
    )


def _reading(answer: Answer) -> Any:
    """`huggingface_hub`'s exception for this answer, or None when it is no refusal."""
    from huggingface_hub.errors import HfHubHTTPError
    from huggingface_hub.utils import hf_raise_for_status, httpx

    headers = {name: answer.headers[name] for name in _TOLD if name in answer.headers}
    response = httpx.Response(answer.status, headers=headers, request=httpx.Request("GET", answer.url))
    try:
        hf_raise_for_status(response)
    except HfHubHTTPError as error:
        return error
    return None
