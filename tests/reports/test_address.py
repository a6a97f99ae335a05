"""Where a finding is: a path that tools can show, and an identity that stays on every machine."""

from dataclasses import replace

import pytest

from ln_audit.core import FileUse
from ln_audit.reports import address
from tests.reports.made import SOURCE

FILES = (FileUse("config.json", 100, 100), FileUse("model.safetensors", 1_000, 10))
LOCAL = replace(SOURCE, kind="local", spec="models/a", identity="/home/me/models/a", revision=None, files=FILES)
FILE = replace(LOCAL, spec="models/a/model.safetensors", identity="/home/me/models/a/model.safetensors")
ABSOLUTE = replace(LOCAL, spec="/home/me/models/a b")
HUB = replace(SOURCE, files=FILES)
WEB = replace(
    LOCAL,
    kind="http",
    spec="https://h/x/m.safetensors",
    identity="https://h/x/m.safetensors",
    files=(FileUse("m.safetensors", 9, 9),),
)


@pytest.mark.parametrize(
    ("source", "message", "uri", "path"),
    [
        (LOCAL, "model.safetensors: ln_f: odd", "models/a/model.safetensors", "models/a/model.safetensors"),
        (LOCAL, "config.json: eps: odd", "models/a/config.json", "models/a/config.json"),
        (LOCAL, "no file: odd", "models/a/model.safetensors", "models/a/model.safetensors"),
        (replace(LOCAL, files=()), "x", "models/a", "models/a"),
        (replace(LOCAL, spec="./models/a/"), "x", "models/a/model.safetensors", "models/a/model.safetensors"),
        (FILE, "x", "models/a/model.safetensors", "models/a/model.safetensors"),
        (ABSOLUTE, "x", "file:///home/me/models/a%20b/model.safetensors", ""),
        (HUB, "x", "openai-community/gpt2/model.safetensors", ""),
        (WEB, "x", "h/x/m.safetensors", ""),
        (replace(LOCAL, spec="javascript:alert(1)", files=()), "x", "javascript%3Aalert%281%29", "javascript:alert(1)"),
    ],
)
def test_where_a_finding_is(source, message, uri, path):
    assert (address.uri(source, message), address.repository_path(source, message)) == (uri, path)


def test_what_identifies_it_is_the_same_on_every_machine_and_at_every_commit():
    elsewhere = replace(ABSOLUTE, identity="/tmp/job-7/a b")
    assert address.stable(LOCAL, "x") == address.stable(elsewhere, "x") == "model.safetensors"
    assert (
        address.stable(HUB, "x")
        == address.stable(replace(HUB, revision="f" * 40), "x")
        == "openai-community/gpt2/model.safetensors"
    )
