"""Runs the steps of a composite action as a runner would: the shell ones really, those of other actions are written down.

Expressions are those that action.yml uses: `inputs.x`, `steps.id.outputs.x`, `inputs.x == 'word'`.
"""

from __future__ import annotations

import os
import re
import subprocess
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import yaml

if TYPE_CHECKING:
    from pathlib import Path

_EXPRESSION = re.compile(r"\$\{\{\s*(.*?)\s*\}\}")


@dataclass
class Ran:
    """What a run left: outputs of the action, what each step printed, other actions with their inputs, the exit code."""

    outputs: dict[str, str] = field(default_factory=dict)
    printed: dict[str, str] = field(default_factory=dict)
    used: dict[str, dict[str, str]] = field(default_factory=dict)
    summary: str = ""
    code: int = 0


def run(
    action: Path,
    workspace: Path,
    inputs: dict[str, str],
    *,
    skip: tuple[str, ...] = (),
    outputs: dict[str, Any],
    env: dict[str, str],
) -> Ran:
    """Run it in a workspace. `outputs` are those of steps that are actions themselves, and of steps that are skipped."""
    described = yaml.safe_load((action / "action.yml").read_text())
    unknown = set(inputs) - set(described["inputs"])
    assert unknown == set(), f"no such inputs: {unknown}"
    known = {name: str(each.get("default", "")) for name, each in described["inputs"].items()} | inputs
    steps: dict[str, dict[str, str]] = dict(outputs)
    ran = Ran()
    temp = workspace.parent / "runner"
    temp.mkdir(exist_ok=True)
    for step in described["runs"]["steps"]:
        name = step.get("id", step.get("uses", ""))
        if not _holds(step.get("if"), known) or ran.code:
            continue
        if "uses" in step:
            ran.used[step["uses"]] = {
                key: _filled(str(value), known, steps) for key, value in step.get("with", {}).items()
            }
        elif name not in skip:
            steps[name] = _shell(
                action,
                workspace,
                temp,
                step,
                {key: _filled(value, known, steps) for key, value in step["env"].items()} | env,
                known,
                ran,
            )
    ran.outputs = {key: _filled(each["value"], known, steps) for key, each in described["outputs"].items()}
    return ran


def _shell(
    action: Path, workspace: Path, temp: Path, step: Any, given: dict[str, str], known: dict[str, str], ran: Ran
) -> dict[str, str]:
    assert step["shell"] == "bash"
    files = {"GITHUB_OUTPUT": temp / f"output-{step['id']}", "GITHUB_STEP_SUMMARY": temp / "summary"}
    for file in files.values():
        file.write_text("")
    script = temp / "step.sh"
    script.write_text(step["run"])
    runner = {key: str(file) for key, file in files.items()}
    runner |= {
        "GITHUB_ACTIONS": "true",
        "RUNNER_TEMP": str(temp),
        "RUNNER_OS": "Linux",
        "GITHUB_ACTION_PATH": str(action),
        "GITHUB_WORKSPACE": str(workspace),
    }
    clean = {key: value for key, value in os.environ.items() if not key.startswith(("LN_", "HF_", "GITHUB_"))}
    folder = workspace / _filled(step.get("working-directory", "."), known, {})
    made = subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", str(script)],
        cwd=folder, env=clean | runner | given, capture_output=True, text=True, timeout=600, check=False,
    )  # fmt: skip
    ran.printed[step["id"]], ran.code = made.stdout + made.stderr, made.returncode
    ran.summary += files["GITHUB_STEP_SUMMARY"].read_text()
    return dict(line.split("=", 1) for line in files["GITHUB_OUTPUT"].read_text().splitlines())


def _filled(text: str, known: dict[str, str], steps: dict[str, dict[str, str]]) -> str:
    def value(found: re.Match[str]) -> str:
        where, _, rest = found[1].partition(".")
        if where == "inputs":
            return known[rest]
        step, _, name = rest.partition(".outputs.")
        assert where == "steps", found[0]
        return steps.get(step, {}).get(name, "")

    return _EXPRESSION.sub(value, text)


def _holds(condition: str | None, known: dict[str, str]) -> bool:
    if condition is None:
        return True
    found = re.fullmatch(r"inputs\.([\w-]+) == '(\w*)'", condition)
    assert found is not None, condition
    return known[found[1]] == found[2]
