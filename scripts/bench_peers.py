"""The faults of docs/source-faults.md in front of other tools: which of them notice, and what they say of healthy conversions.

    python scripts/bench_peers.py     # `make bench-peers`: installs them in an environment of their own; some minutes

Each tool sees the same files as ln-audit: `modelaudit` and `hayward` scan the artifact, `diffai` and `fanfu` compare it with its
source. A fault counts as noticed where the tool reports something else than on the healthy conversion. Writes the second part
of docs/source-faults.md.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
import venv
from pathlib import Path
from typing import TYPE_CHECKING

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from scripts.source_faults.artifacts import converted  # noqa: E402
from scripts.source_faults.models import SPECS, build  # noqa: E402
from scripts.source_faults.page import PAGE, PEERS, SIGNS  # noqa: E402
from scripts.source_faults.registry import FAULTS, HEALTHY  # noqa: E402
from scripts.source_faults.trial import WAYS, Way, as_held, trials  # noqa: E402
from scripts.source_faults.writers import write  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

TOOLS = ("modelaudit", "hayward", "diffai-python", "fanfu")
_PATIENCE = 120  # seconds for one installation
_FAMILIES = ("llama", "gemma2")
_SAME, _NARROW, _GGUF = WAYS[0], WAYS[2], Way(("safetensors", "F32"), ("gguf", "F32"))
_QUIET = {"PROMPTFOO_DISABLE_TELEMETRY": "1", "NO_ANALYTICS": "1", "HF_HUB_OFFLINE": "1"}
_DIFFAI = """
import diffai, json, sys
for source, artifact in json.loads(sys.argv[1]):
    print(json.dumps(diffai.diff_paths(source, artifact), sort_keys=True, default=repr))
"""
HEAD = """
Written by `make bench-peers`. The same files as above, for Llama and Gemma 2, in front of other tools, as their newest versions
behave here: {tools}. `modelaudit` and `hayward` look for code that a file would run, and see the artifact alone; `diffai` and
`fanfu` compare it with its source. What is counted is whether a tool's report on the spoilt file is another one than its report on
the healthy conversion, not whether it says what is wrong. Where it calls the healthy conversion different already, the count of
what it calls different stands behind ✗.

| sign | what the tool does |
|---|---|
| ✓ | healthy: reports no difference; a fault: reports something else than for the healthy conversion |
| ✗ n | healthy: reports n of its tensors as different |
| – | a fault: the very same report as for the healthy conversion |
| … | the fault cannot be planted there |

The columns of ln-audit have the signs of the first part: it has to name the fault and nothing else. Exit codes: {codes}.

"""


def install(folder: Path) -> dict[str, str]:
    """Tool → its version, or why it is not there."""
    if not (folder / "bin" / "python").exists():
        venv.create(folder, with_pip=True)
    return {tool: _installed(tool, str(folder / "bin" / "python")) for tool in TOOLS}


def _installed(tool: str, python: str) -> str:
    try:
        command = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", tool]
        done = subprocess.run(command, capture_output=True, text=True, timeout=_PATIENCE, check=False)
    except subprocess.TimeoutExpired:
        return f"left out: its installation takes more than {_PATIENCE} s"
    if done.returncode:
        last = next(iter(done.stderr.strip().splitlines()[-1:]), "pip failed")
        return f"left out: {last}"
    asked = f"from importlib.metadata import version; print(version({tool!r}))"
    return subprocess.run([python, "-c", asked], capture_output=True, text=True, check=True).stdout.strip()


def cases(family: str, way: Way, folder: Path) -> dict[str, Path]:
    """Fault → folder of the spoilt artifact; `source` and `healthy` are among them."""
    model = build(SPECS[family])
    write(converted(model, *way.source), folder / "source")
    healthy = converted(as_held(model, way.source), *way.artifact)
    made = {HEALTHY: folder / HEALTHY}
    write(healthy, made[HEALTHY])
    for number, fault in enumerate(FAULTS):
        planted = fault.plant(healthy)
        if planted is not None:
            made[fault.name] = folder / str(number)
            write(planted.artifact, made[fault.name])
    return made


def file_of(folder: Path) -> str:
    """The file with the tensors."""
    return str(next(path for path in sorted(folder.iterdir()) if path.name.startswith("model.")))


def scanned(tool: str, bins: Path, made: Mapping[str, Path]) -> dict[str, str]:
    """What a scanner says of each artifact: severities and messages, without paths."""
    told = {}
    root = next(iter(made.values())).parent
    if tool == "modelaudit":  # a process costs it eight seconds: all folders in one
        ran = _run([str(bins / tool), "scan", str(root), "--format", "json"])
        issues = json.loads(ran[ran.index("{") : ran.rindex("}") + 1])["issues"]
        for fault, folder in made.items():
            mine = [each for each in issues if f"/{folder.name}/" in (each.get("location") or "")]
            told[fault] = repr(sorted((each["severity"], each["message"]) for each in mine)) if mine else ""
        return told
    for fault, folder in made.items():
        text = _run([str(bins / tool), "scan", str(folder)]).strip().replace(folder.name, "")
        told[fault] = "" if text.startswith("No findings") else text
    return told


def diffed(bins: Path, made: Mapping[str, Path]) -> dict[str, str]:
    """All that diffai calls different, the names of the tensors in front."""
    source = file_of(made[HEALTHY].parent / "source")
    pairs = [[source, file_of(folder)] for folder in made.values()]
    lines = _run([str(bins / "python"), "-c", _DIFFAI, json.dumps(pairs)]).splitlines()
    found = [line for line in lines if line.startswith("[")]
    told = {}
    for fault, line in zip(made, found, strict=True):
        names = {re.sub(r"^tensors\.|\.(data_summary|shape|dtype).*$", "", each["path"]) for each in json.loads(line)}
        told[fault] = " ".join([*sorted(names), f"{{{line}" if names else ""]).strip()
    return told


def compared(bins: Path, made: Mapping[str, Path]) -> dict[str, str]:
    """What fanfu's summary says, but for what it leaves out: one word for each mismatch, then its figures."""
    source, told = str(made[HEALTHY].parent / "source"), {}
    for fault, folder in made.items():
        text = _run([str(bins / "fanfu"), "compare", file_of(folder), source])
        rows = dict(re.findall(r"│ ([A-Z][\w -]+?) +│ (.+?) *│", text))
        wrong = int(rows.get("Value Mismatched", 0)) + int(rows.get("Shape Mismatched", 0))
        told[fault] = " ".join(["mismatch"] * wrong + ([] if not wrong else [json.dumps(rows).replace(" ", "")]))
        told[fault] = told[fault] or json.dumps({key: rows.get(key) for key in ("GGUF-only", "HF-only")})
    healthy = told[HEALTHY]
    return {fault: "" if text == healthy and not text.startswith("mismatch") else text for fault, text in told.items()}


_CODES: dict[str, set[int]] = {}


def _run(command: Sequence[str]) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=os.environ | _QUIET, timeout=600)
    _CODES.setdefault(Path(command[0]).name, set()).add(done.returncode)
    return done.stdout + done.stderr


def column(told: Mapping[str, str], *, counted: bool) -> dict[str, str]:
    """Row → sign, of one tool's reports."""
    healthy = told[HEALTHY]
    count = len(healthy.partition("{")[0].split()) if counted else 1
    signs = {HEALTHY: "✓" if not healthy else f"✗ {count}"}
    return signs | {fault: "–" if text == healthy else "✓" for fault, text in told.items() if fault != HEALTHY}


def ours(family: str, way: Way) -> dict[str, str]:
    """The signs of ln-audit, as in the first part."""
    found = [trial for trial in trials(SPECS[family], [way]) if trial.word != "not here"]
    return {trial.fault: SIGNS[trial.word] for trial in found}


def measured(family: str, bins: Path, versions: Mapping[str, str]) -> dict[str, dict[str, str]]:
    """Column → row → sign."""
    there = [tool for tool in TOOLS if not versions[tool].startswith("left out")]
    columns: dict[str, dict[str, str]] = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, way in (("F32", _SAME), ("F32 → BF16", _NARROW), ("→ GGUF", _GGUF)):
            made = cases(family, way, Path(folder) / way.artifact[0] / way.artifact[1])
            columns[f"ln-audit, {name}"] = ours(family, way)
            for tool in ("modelaudit", "hayward") if way == _SAME else ():
                if tool in there:
                    columns[f"{tool}, {name}"] = column(scanned(tool, bins, made), counted=False)
            if "diffai-python" in there and way != _GGUF:
                columns[f"diffai, {name}"] = column(diffed(bins, made), counted=True)
            if "fanfu" in there and way == _GGUF:
                columns[f"fanfu, {name}"] = column(compared(bins, made), counted=True)
    return columns


def table(columns: Mapping[str, Mapping[str, str]]) -> str:
    """Faults down, tools across."""
    lines = [f"| fault | {' | '.join(columns)} |", "|---" * (len(columns) + 1) + "|"]
    for fault in (HEALTHY, *(each.name for each in FAULTS)):
        cells = [each.get(fault, "…") for each in columns.values()]
        if set(cells) != {"…"}:
            lines.append(f"| {fault} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def main() -> int:
    """Install, measure, write."""
    folder = Path(sys.prefix) / "bench-peers"
    versions = install(folder)
    tables = [f"### {SPECS[each].title}\n\n{table(measured(each, folder / 'bin', versions))}\n" for each in _FAMILIES]
    codes = {tool: ", ".join(map(str, sorted(found))) for tool, found in _CODES.items() if tool in versions}
    told = HEAD.format(
        tools=", ".join(f"`{tool}` {version}" for tool, version in versions.items()),
        codes="; ".join(f"`{tool}` ended all its runs with {each}" for tool, each in codes.items()),
    ) + "".join(tables)
    first = PAGE.read_text(encoding="utf-8").split(f"\n{PEERS}", 1)[0]
    PAGE.write_text(f"{first}\n{PEERS}{told.rstrip()}\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
