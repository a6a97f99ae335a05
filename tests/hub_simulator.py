"""A Hugging Face Hub on loopback, for tests and benchmarks: two servers, the Hub and its CDN, standard library only.

It answers as the live service was recorded to answer: 307 with a relative address for small files, 302 to the CDN for
large ones, a CDN ETag that is not the SHA-256, the Hub's error headers. `HubSimulator.fault` switches one fault on,
`HubSimulator.log` holds every request with its headers. As a program it serves a folder until it is killed:

    python tests/hub_simulator.py --root DIR --repo openai-community/gpt2 --latency-ms 50 --mbit 100

and prints its endpoint for HF_ENDPOINT. It speaks no Xet: set HF_HUB_DISABLE_XET=1 for `hf_hub_download`.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import parse_qs, quote, unquote, urlsplit

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # for running this file as a program

from tests.loopback_server import Line, Reply, Seen, Server

if TYPE_CHECKING:
    from collections.abc import Callable

SMALL = (".json", ".txt", ".md")  # what lies in git itself; everything else is LFS and comes from the CDN
OTHER_COMMIT = "f" * 40


class HubSimulator:
    """Serves the files of `root` as the model `repo` at `commit` (= main). Use as a context manager.

    `fault` names what goes wrong, at most `fault_times` times: see `_hub_fault` and `_cdn_fault`. `token`: what a request
    must carry to be no stranger. `moved_from`: old names of the repository.
    """

    def __init__(
        self, root: Path, repo: str = "openai-community/gpt2", commit: str | None = None, port: int = 0
    ) -> None:
        self.root = root
        self.repo = repo
        self.commit = commit or hashlib.sha1(repo.encode()).hexdigest()
        self.moved_from = {repo.partition("/")[2]}
        self.token = "hf_right"
        self.fault: str | None = None
        self.fault_times = 1_000_000
        self.retry_after: str | None = "1"
        self.line = Line()
        self.log: list[Seen] = []
        self.stopped = threading.Event()
        self._signed = 0
        self.sha256 = {path: _sha256(path) for path in root.rglob("*") if path.is_file() and not _is_small(path.name)}
        self._servers = {
            "hub": Server("hub", self._logged(self._hub), self.line, port),
            "cdn": Server("cdn", self._logged(self._cdn), self.line),
        }

    def __enter__(self) -> Self:
        for server in self._servers.values():
            server.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stopped.set()
        for server in self._servers.values():
            server.stop()

    @property
    def endpoint(self) -> str:
        """What HF_ENDPOINT has to be."""
        return self.address("hub")

    def address(self, host: str) -> str:
        """Scheme, host and port of one of the two servers. They differ in port: another origin."""
        return self._servers[host].address

    def seen(self, host: str) -> list[Seen]:
        """The requests that one of the two servers got."""
        return [request for request in self.log if request.host == host]

    def _logged(self, answer: Callable[[Seen], Reply]) -> Callable[[Seen], Reply]:
        def log_and_answer(request: Seen) -> Reply:
            self.log.append(request)
            return answer(request)

        return log_and_answer

    def failing(self, *faults: str) -> bool:
        """Whether one of these faults is on and has not run out; counts it."""
        if self.fault not in faults or self.fault_times <= 0:
            return False
        self.fault_times -= 1
        return True

    # ------------------------------------------------------------------------------------------------------- the Hub

    def _hub(self, request: Seen) -> Reply:
        """The Hub's answer: resolve, resolve-cache, revision, tree."""
        url = urlsplit(request.path)
        if fault := self._hub_fault(request):
            return fault
        if match := re.fullmatch(r"/api/resolve-cache/models/[^/]+/[^/]+/([0-9a-f]{40})/(.+)", url.path):
            return self._ranged(request, self.root / unquote(match[2]), _git_hash(self.root / unquote(match[2])))
        if match := re.fullmatch(r"/api/models/([^/]+/[^/]+)/(revision|tree)/([^/]+)", url.path):
            return self._api(match[1], match[2], unquote(match[3]))
        if match := re.fullmatch(r"/(.+?)/resolve/([^/]+)/(.+)", url.path):
            return self._resolve(request, match[1], unquote(match[2]), unquote(match[3]))
        return _error(404, "", "Not found")

    def _resolve(self, request: Seen, repo: str, revision: str, file: str) -> Reply:
        if repo in self.moved_from:
            rest = request.path.removeprefix(f"/{repo}/")
            return Reply(307, {"Location": f"/{self.repo}/{rest}"}, b"Temporary Redirect.")
        stranger = request.headers.get("authorization") != f"Bearer {self.token}"
        if repo != self.repo:
            return _error(401, "", "Invalid username or password.") if stranger else _error(404, "RepoNotFound", "")
        if revision not in {"main", self.commit}:
            return _error(404, "RevisionNotFound", f"Invalid rev id: {revision}")
        moved = self.fault == "other-commit" and len(self.seen("hub")) > 1
        commit = {} if self.fault == "no-commit" else {"X-Repo-Commit": OTHER_COMMIT if moved else self.commit}
        path = self.root / file
        if not path.is_file():
            return _error(404, "EntryNotFound", "Entry not found", commit)
        if _is_small(file):
            return self._small(file, path, commit)
        if self.fault in {"direct", "mirror-ignores-range"}:
            reply = self._ranged(request, path, '"direct"', ignore=self.fault != "direct")
            reply.headers |= commit
            return reply
        return self._large(file, path, commit)

    def _small(self, file: str, path: Path, commit: dict[str, str]) -> Reply:
        where = f"/api/resolve-cache/models/{self.repo}/{self.commit}/{quote(file)}?download=true"
        location = f"{self.address('cdn')}/elsewhere/{quote(file)}" if self.fault == "small-elsewhere" else where
        return Reply(307, {"Location": location, "X-Linked-ETag": _git_hash(path), **commit}, b"Temporary Redirect.")

    def _large(self, file: str, path: Path, commit: dict[str, str]) -> Reply:
        self._signed += 1
        headers = {
            "Location": f"{self.address('cdn')}/{quote(file)}?Expires=3600&Signature={self._signed}",
            "X-Linked-Size": str(path.stat().st_size),
            "X-Linked-ETag": f'"{self.sha256[path]}"',
            "X-Xet-Hash": _xet_hash(path),
            "Link": f'<{self.endpoint}/api/models/{self.repo}/xet-read-token/{self.commit}>; rel="xet-auth"',
            "Cache-Control": "no-store",
        }
        return Reply(302, headers | commit, b"Found. Redirecting to the CDN")

    def _api(self, repo: str, kind: str, revision: str) -> Reply:
        if repo != self.repo:
            return _error(401, "", "Invalid username or password.")
        if revision not in {"main", self.commit}:
            return _error(404, "RevisionNotFound", f"Invalid rev id: {revision}")
        paths = sorted(path for path in self.root.rglob("*") if path.is_file())
        names = [path.relative_to(self.root).as_posix() for path in paths]
        if kind == "revision":
            siblings = [{"rfilename": name} for name in names]
            return _json({"id": repo, "sha": self.commit, "siblings": siblings, "gated": False, "private": False})
        entries = [{"type": "file", "path": n, "size": p.stat().st_size} for n, p in zip(names, paths, strict=True)]
        return _json([{"type": "directory", "path": "folder", "size": 0}, *entries])

    def _hub_fault(self, request: Seen) -> Reply | None:
        """Faults of the Hub itself."""
        known = request.headers.get("authorization") == f"Bearer {self.token}"
        if self.failing("silent"):
            self.stopped.wait(30)
        if self.failing("rate-limited"):
            told = {} if self.retry_after is None else {"Retry-After": self.retry_after}
            return Reply(429, {"RateLimit": '"api";r=0;t=1', "RateLimit-Policy": '"api";q=500;w=300', **told})
        if self.failing("server-error"):
            return Reply(503, {}, b"<html>upstream</html>")
        if self.failing("gated"):
            return _error(403 if known else 401, "GatedRepo", f"Access to model {self.repo} is restricted.")
        if self.failing("disabled"):
            return _error(403, "", "Access to this resource is disabled.")
        if self.failing("forbidden"):
            return _error(403, "", "Your token lacks the right.\x1b[31m")
        if self.failing("bad-token"):
            return _error(401, "", "Invalid credentials in Authorization header")
        if self.failing("redirect-loop"):
            return Reply(307, {"Location": request.path}, b"again")
        if self.failing("page"):
            return Reply(200, {"Content-Type": "text/html; charset=utf-8"}, b"<!doctype html><title>Log in</title>")
        return None

    # ------------------------------------------------------------------------------------------------------- the CDN

    def _cdn(self, request: Seen) -> Reply:
        """The CDN's answer: ranges of large files, to whoever holds a signed address."""
        path = self.root / unquote(urlsplit(request.path).path.lstrip("/").removeprefix("elsewhere/"))
        signature = parse_qs(urlsplit(request.path).query).get("Signature", ["0"])[0]
        if self.fault == "expired" and int(signature) < self._signed + self.fault_times:
            self.fault_times = 0 if self.fault_times == 1 else self.fault_times
            return Reply(403, {}, b"<Error>Request has expired</Error>")
        if not path.is_file():
            return Reply(404, {}, b"NoSuchKey")
        gzip_kills_range = "gzip" in request.headers.get("accept-encoding", "")
        ignore = gzip_kills_range or self.fault in {"ignores-range", "ignores-range-untold"}
        reply = self._ranged(request, path, f'"{_xet_hash(path)}"', ignore=ignore)
        self._cdn_fault(reply, len(self.seen("cdn")))
        return reply

    def _cdn_fault(self, reply: Reply, count: int) -> None:
        """Faults of the CDN: what is wrong with an answer that looks right."""
        path, begin, end = reply.body if isinstance(reply.body, tuple) else (self.root, 0, 0)
        total = path.stat().st_size
        if self.fault == "ignores-range-untold":
            reply.length = -1
        elif self.fault == "no-content-range":
            reply.headers.pop("Content-Range", None)
        elif self.fault == "wrong-range":
            reply.headers["Content-Range"] = f"bytes {begin + 8}-{end + 7}/{total}"
        elif self.fault == "other-size":
            reply.headers["Content-Range"] = f"bytes {begin}-{end - 1}/{total + 1}"
        elif self.failing("cut-short"):
            reply.length, reply.body = end - begin, (path, begin, end - 5)
        elif self.fault == "less-than-asked":
            reply.body = (path, begin, end - 5)
        elif self.fault == "longer":
            reply.body = (path, begin, min(end + 5, total))
        elif self.fault == "not-satisfiable":
            reply.status, reply.headers, reply.body = 416, {"Content-Range": f"bytes */{total}"}, b""
        elif self.fault == "changes" and count > 1:
            reply.headers["ETag"] = '"another"'
        elif self.fault == "gzip":
            reply.headers["Content-Encoding"] = "gzip"
        elif self.fault == "cdn-page":
            reply.status, reply.headers, reply.body = 200, {"Content-Type": "text/html"}, b"<html>Sign in</html>"
        elif self.failing("cdn-error"):
            reply.status, reply.headers, reply.body = 500, {}, b""

    def _ranged(self, request: Seen, path: Path, etag: str, *, ignore: bool = False) -> Reply:
        size = path.stat().st_size
        headers = {"ETag": etag, "Accept-Ranges": "bytes", "Content-Type": "application/octet-stream"}
        headers |= {"X-Repo-Commit": self.commit} if request.path.startswith("/api/resolve-cache/") else {}
        match = re.fullmatch(r"bytes=(\d+)-(\d*)", request.headers.get("range", ""))
        if match is None or ignore:
            return Reply(200, headers, (path, 0, size))
        begin, end = int(match[1]), min(int(match[2] or size) + 1, size)
        if begin >= size:
            return Reply(416, {"Content-Range": f"bytes */{size}"})
        return Reply(206, headers | {"Content-Range": f"bytes {begin}-{end - 1}/{size}"}, (path, begin, end))


def _is_small(name: str) -> bool:
    return name.endswith(SMALL)


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _xet_hash(path: Path) -> str:
    return hashlib.blake2b(str(path.stat().st_size).encode(), digest_size=32).hexdigest()


def _git_hash(path: Path) -> str:
    content = path.read_bytes() if path.is_file() else b""
    digest = hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()
    return f'"{digest}"'


def _error(status: int, code: str, message: str, headers: dict[str, str] | None = None) -> Reply:
    told = {"X-Error-Code": code} if code else {}
    told |= {"X-Error-Message": message} if message else {}
    return Reply(status, told | (headers or {}), json.dumps({"error": message}).encode())


def _json(value: Any) -> Reply:
    return Reply(200, {"Content-Type": "application/json"}, json.dumps(value).encode())


def main() -> None:
    """Serve a folder until killed."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--root", type=Path, required=True)
    parser.add_argument("--repo", default="openai-community/gpt2")
    parser.add_argument("--commit")
    parser.add_argument("--latency-ms", type=float, default=0)
    parser.add_argument("--mbit", type=float, default=0)
    parser.add_argument("--port", type=int, default=0, help="of the Hub; 0: a free one")
    options = parser.parse_args()
    with HubSimulator(options.root, options.repo, options.commit, options.port) as simulator:
        simulator.line.latency = options.latency_ms / 1000
        simulator.line.bytes_per_second = options.mbit * 1e6 / 8
        print(simulator.endpoint, flush=True)
        simulator.stopped.wait()


if __name__ == "__main__":
    main()
