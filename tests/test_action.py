"""action.yml: its steps are run as a runner runs them, its verdicts close the job, and no input reaches a shell as code."""

import json
import re
import shutil
import sys
from pathlib import Path

import pytest

from ln_audit import reports
from tests.shared import FIXTURES, ROOT

yaml = pytest.importorskip("yaml", reason="PyYAML is not installed")

from tests.action_runner import Ran, run  # noqa: E402

TEXT = (ROOT / "action.yml").read_text()
ACTION = yaml.safe_load(TEXT)
FORMATS = pytest.mark.skipif(
    not {"github", "sarif"} <= set(reports.names()), reason="this version has no --format github and sarif yet"
)


@pytest.fixture
def workspace(tmp_path):
    folder = tmp_path / "work"
    shutil.copytree(FIXTURES / "good" / "gpt2-locked", folder / "good")
    shutil.copytree(FIXTURES / "bad" / "LN101-not-finite", folder / "bad")
    shutil.copytree(FIXTURES / "bad" / "LN104-lone-outlier", folder / "warned")
    return folder


def verified(workspace: Path, **inputs: str) -> Ran:
    """The action with this environment in the place of the one it would install."""
    ready = workspace.parent / "ready"
    (ready / "venv" / "bin").mkdir(parents=True)
    (ready / "venv" / "bin" / "ln-audit").symlink_to(Path(sys.executable).with_name("ln-audit"))
    outputs = {"prepare": {"folder": str(ready), "cache": str(workspace.parent / "cache")}}
    given = {name.replace("_", "-"): value for name, value in inputs.items()}
    return run(ROOT, workspace, given, skip=("prepare", "install"), outputs=outputs, env={})


def test_no_input_is_written_into_a_script():
    for step in ACTION["runs"]["steps"]:
        assert "${{" not in step.get("run", "")
    assert "${{" not in (ROOT / "scripts" / "action.sh").read_text()


def test_every_input_is_used_and_every_step_has_its_variables():
    used = set(re.findall(r"inputs\.([\w-]+)", TEXT))
    assert used == set(ACTION["inputs"])
    script = (ROOT / "scripts" / "action.sh").read_text()
    read = set(re.findall(r"LN_ACTION_\w+", script)) - {"LN_ACTION_"}
    assert read == {name for step in ACTION["runs"]["steps"] for name in step.get("env", {})}


def test_other_actions_are_pinned_to_a_commit_with_its_version():
    uses = re.findall(r"uses: (\S+) # (\S+)", TEXT)
    assert len(uses) == TEXT.count("uses:") == 2
    for action, version in uses:
        assert re.fullmatch(r"actions/[\w-]+@[0-9a-f]{40}", action)
        assert re.fullmatch(r"v\d+\.\d+\.\d+", version)


@FORMATS
@pytest.mark.parametrize(
    ("inputs", "code", "verdict"),
    [
        ({"target": "good"}, 0, "pass"),
        ({"target": "good\n\n  warned  \n"}, 0, "pass"),
        ({"target": "good\nbad"}, 1, "fail"),
        ({"target": "warned", "strict": "true"}, 1, "fail"),
        ({"target": "good", "lock": "good/ln-audit.lock", "against": "good"}, 0, "pass"),
        ({"target": "good", "require": "off-reference\nresolving-power"}, 3, "incomplete"),
        ({"target": "./none"}, 3, "incomplete"),
        ({"target": "good", "args": "--values\nfinal"}, 0, "pass"),
        ({"target": "good", "args": "--no-such"}, 2, "error"),
        ({"target": "good", "args": "--help"}, 2, "error"),
        ({"target": ""}, 2, "error"),
        ({"target": ".", "working_directory": "good"}, 0, "pass"),
    ],
)
def test_the_verdict_is_the_jobs(workspace, inputs, code, verdict):
    ran = verified(workspace, **inputs)
    assert (ran.code, ran.outputs["verdict"], ran.outputs["exit-code"]) == (code, verdict, str(code))
    if code in (0, 1):
        assert json.loads(Path(ran.outputs["sarif-file"]).read_text())["version"] == "2.1.0"
        assert ran.summary != ""


@FORMATS
def test_failures_are_annotated(workspace):
    ran = verified(workspace, target="bad")
    assert re.search(r"^::error .*LN101", ran.printed["verify"], re.MULTILINE)


@pytest.mark.parametrize(
    "name", ["$(touch hacked)", "`touch hacked`", '"; touch hacked; "', "a && touch hacked", "--help", "* ?"]
)
def test_a_target_is_a_word_whatever_it_holds(workspace, name):
    shown = workspace.parent / "ready" / "venv" / "bin" / "ln-audit"
    shown.parent.mkdir(parents=True)
    shown.write_text("#!/bin/bash\nprintf '<%s>' \"$@\"\nexit 3\n")
    shown.chmod(0o755)
    outputs = {"prepare": {"folder": str(shown.parents[2]), "cache": str(workspace)}}
    given = {"target": name, "args": f"--eps\n{name}", "against": name, "require": name}
    ran = run(ROOT, workspace, given, skip=("prepare", "install"), outputs=outputs, env={})
    words = re.findall(r"<(.*?)>", ran.printed["verify"])
    assert words[:5] == ["verify", "--eps", name, f"--against={name}", f"--require={name}"]
    assert words[-2:] == ["--", name]
    assert (ran.code, ran.outputs["verdict"]) == (3, "incomplete")
    assert sorted(path.name for path in workspace.iterdir()) == ["bad", "good", "warned"]


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        ({"version": "0.1.0 --index-url http://evil"}, "version: expected a version such as 0.1.0"),
        ({"version": "0.1.0\n::add-mask::x"}, "version: expected a version such as 0.1.0"),
        ({"extras": "onnx]; touch hacked"}, "extras: expected names separated by commas"),
    ],
)
def test_what_would_be_installed_is_checked_before_it_is(workspace, inputs, message):
    ran = run(ROOT, workspace, inputs, outputs={}, env={})
    assert ran.code == 2
    assert ran.printed["prepare"].startswith(f"::error title=ln-audit::{message}")
    assert ran.printed["prepare"].count("\n") == 1
    assert "install" not in ran.printed


def test_a_switch_that_is_neither_on_nor_off_is_refused(workspace):
    ran = verified(workspace, target="good", strict="yes")
    assert (ran.code, ran.outputs["verdict"]) == (2, "")
    assert "strict: expected true or false, found yes" in ran.printed["verify"]


def test_caches_are_of_one_version_and_of_these_targets(workspace):
    def keys(**inputs: str) -> tuple[str, str]:
        ran = run(ROOT, workspace, {"python-version": "3.11"} | inputs, skip=("install", "verify"), outputs={}, env={})
        (cache,) = (given for name, given in ran.used.items() if name.startswith("actions/cache@"))
        assert cache["path"] == str(workspace.parent / "runner" / "ln-audit-cache")
        assert cache["key"].startswith(cache["restore-keys"])
        return cache["key"], cache["restore-keys"]

    plain, other, newer = keys(target="a"), keys(target="b"), keys(target="a", version="9.9")
    assert plain == keys(target="a")
    assert (plain[0] != other[0], plain[1] == other[1], plain[1] != newer[1]) == (True, True, True)
    ran = run(ROOT, workspace, {"cache": "false"}, skip=("install", "verify"), outputs={}, env={})
    assert [name.partition("@")[0] for name in ran.used] == ["actions/setup-python"]


@FORMATS
@pytest.mark.peers
def test_the_whole_action_installs_its_own_code_and_verifies(workspace):
    outputs = {"python": {"python-path": sys.executable}}
    ran = run(ROOT, workspace, {"target": "good\nbad"}, outputs=outputs, env={})
    assert (ran.code, ran.outputs["verdict"]) == (1, "fail")
    assert ran.printed["install"].startswith("ln-audit 0.1.0\n")
    assert next(iter(ran.used)).startswith("actions/setup-python@")
