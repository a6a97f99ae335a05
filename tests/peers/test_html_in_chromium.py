"""The HTML report in a real browser: it renders in light and dark, nothing is refused or logged, nothing is loaded."""

import re
import shutil
import subprocess
import tempfile
import threading
from dataclasses import replace
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from ln_audit.audit import audit
from ln_audit.demand import Demand
from ln_audit.reports import html
from ln_audit.reports.document import Run, exit_code
from ln_audit.trace import html as trace_html
from ln_audit.trace.tracing import traced
from tests.reports import gpt2_sized
from tests.shared import FIXTURES

BROWSER = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
BAD = FIXTURES / "bad" / "LN201-off-reference"

pytestmark = [
    pytest.mark.peers,
    pytest.mark.skipif(BROWSER is None, reason="no chromium on PATH (Debian: apt-get install chromium)"),
]


def report(*found) -> str:
    return html.render(Run(found, exit_code(found)))


PAGES = {
    "pass": lambda: report(*audit("sample", Demand(pictures=True))),
    "fail": lambda: report(*audit(str(BAD), Demand(pictures=True, recordings=(str(BAD / "run.safetensors"),)))),
    "gpt2": lambda: report(gpt2_sized.report()),
    "trace": lambda: trace_html.render(traced(str(FIXTURES / "recordings" / "prenorm-stack.safetensors"), None, Demand())),
}  # fmt: skip


@cache
def page(name: str) -> str:
    return PAGES[name]()


def browse(path: Path, *options: str, dark: bool = False) -> subprocess.CompletedProcess[str]:
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        return subprocess.run(
            [
                str(BROWSER), "--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--no-first-run",
                "--disable-background-networking", "--disable-component-update", "--enable-logging=stderr",
                f"--user-data-dir={profile}", f"--blink-settings=preferredColorScheme={0 if dark else 1}", *options,
                path.as_uri(),
            ],
            capture_output=True, text=True, timeout=120, check=False,
        )  # fmt: skip


def console(run: subprocess.CompletedProcess[str]) -> list[str]:
    """What the page itself made the browser say."""
    return [line for line in run.stderr.splitlines() if "CONSOLE" in line]


def shot(source: str, folder: Path, width: int, *, dark: bool) -> np.ndarray:
    file, picture = folder / "page.html", folder / "page.png"
    file.write_text(source, encoding="utf-8")
    run = browse(file, f"--window-size={width},1600", f"--screenshot={picture}", dark=dark)
    assert console(run) == []
    return np.array(Image.open(picture).convert("RGB")).astype(int)


@pytest.mark.parametrize("width", [400, 1200])
@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_drawn_in_light_and_in_dark_and_nothing_is_logged(name, width, tmp_path):
    light, dark = (shot(page(name), tmp_path, width, dark=dark) for dark in (False, True))
    assert light.shape == dark.shape == (1600, width, 3)
    ground = [tuple(int(value) for value in np.median(seen.reshape(-1, 3), axis=0)) for seen in (light, dark)]
    assert min(ground[0]) > 235
    assert max(ground[1]) < 45
    for seen, own in ((light, ground[0]), (dark, ground[1])):
        written = np.abs(seen - own).max(axis=-1) > 60
        assert written.mean() > 0.005
        assert written[:, -4:].mean() < 0.2  # nothing runs out of the window


@pytest.mark.parametrize("name", PAGES)
def test_no_page_is_wider_than_a_phone_even_with_everything_open(name, tmp_path):
    measure = "<script>document.title = `${document.documentElement.scrollWidth} of ${window.innerWidth}`</script>"
    opened = re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", page(name)).replace(
        "<details ", "<details open "
    )
    file = tmp_path / "page.html"
    file.write_text(opened.replace("</body>", f"{measure}</body>"), encoding="utf-8")
    run = browse(file, "--window-size=500,900", "--dump-dom")  # the narrowest that it lays out without a screenshot
    wide, window = re.findall(r"<title>(\d+) of (\d+)</title>", run.stdout)[0]
    assert int(wide) <= int(window) <= 500


def test_every_picture_and_table_is_in_the_document_that_the_browser_made(tmp_path):
    file = tmp_path / "page.html"
    file.write_text(page("gpt2"), encoding="utf-8")
    run = browse(file, "--dump-dom")
    assert console(run) == []
    assert [len(re.findall(word, run.stdout)) for word in ("<svg ", "<figure>", "<table>")] == [57, 57, 58]
    assert run.stdout.count("</footer>") == 1


def test_the_console_is_heard_and_the_policy_refuses_what_was_smuggled_in(tmp_path):
    smuggled = page("trace").replace("</main>", '<p style="color:red">x</p><script>console.log("ran")</script></main>')
    file = tmp_path / "page.html"
    file.write_text(smuggled, encoding="utf-8")
    said = console(browse(file, "--dump-dom"))
    assert len(said) == 2
    assert all("Content Security Policy" in line for line in said)


def test_names_that_would_load_something_load_nothing(tmp_path):
    asked = []

    class Listener(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_error(404)

        def log_message(self, *_: object) -> None:
            """Nothing on standard error."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Listener)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        here = f"http://127.0.0.1:{server.server_address[1]}"
        evil = f"<img src={here}/a><script src={here}/b></script>\"'><link rel=stylesheet href={here}/c>[x]({here}/d) url({here}/e)"
        base = gpt2_sized.report()
        norms = tuple(
            replace(
                each, norm=replace(each.norm, name=evil), tensors=tuple(replace(t, name=evil) for t in each.tensors)
            )
            for each in base.norms[-2:]
        )
        source = report(replace(base, norms=norms, source=replace(base.source, spec=evil)))
        file = tmp_path / "page.html"
        file.write_text(source, encoding="utf-8")
        assert console(browse(file, "--dump-dom")) == []
        assert asked == []
        file.write_text(f"<img src={here}/seen>", encoding="utf-8")
        browse(file, "--dump-dom")
        assert asked == ["/seen"]  # the listener hears what is asked for
    finally:
        server.shutdown()
        server.server_close()
