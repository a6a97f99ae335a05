"""From all derived tables to the files of the package: families that promise the same share one."""

from __future__ import annotations

import difflib
import json
import re
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT / "ln_audit" / "families" / "data"
sys.path.insert(0, str(ROOT))

from ln_audit.families.names import NORM  # noqa: E402
from ln_audit.families.table import parse  # noqa: E402

from . import coverage  # noqa: E402
from .table_text import Table, write  # noqa: E402
from .tables import by_hand  # noqa: E402

_PART_KEYS = ("config", "prefixes", "stack", "default", "without", "when")
_MARK = "derived by scripts/derive from"
_OWN = (
    "name",
    "title",
    "source",
    "model_types",
    "architectures",
    "seconds",
    "by_hand",
    "notes",
    "prefixes",
)  # may differ in a shared table

_FEWEST = 4  # names of matrices; embeddings and a head tell nobody apart


def write_all(cache: Path) -> None:
    """Write every table, the index and the coverage page; print what changed."""
    found = {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in sorted(cache.glob("*.json"))}
    reached = {name: table for name, table in found.items() if "unreached" not in table}
    withdrawn = {name: why for name, why in by_hand()["withdrawn"].items() if name in reached}
    for name, reason in (withdrawn | resolve_parts(reached)).items():
        found[name] = {"unreached": reason}
        del reached[name]
    files: dict[str, str] = {}
    for group in grouped(reached):
        table = telling(shared(group))
        text = write(table, comments(table))
        parse(text, f"{table['name']}.toml")
        files[table["name"]] = text
    report(files)
    for path in ours():
        if path.stem not in files:
            path.unlink()
    for name, text in files.items():
        (DATA / f"{name}.toml").write_text(text, encoding="utf-8")
    coverage.write(found, len(files))
    subprocess.run([sys.executable, str(ROOT / "scripts" / "index_families.py")], check=True)


def telling(table: Table) -> Table:
    """Without the names that tell it, where those are the few that all families have; a hybrid's first layers vary.

    Names written by hand stay.
    """
    named = [name for name in table.get("recognised_by", []) if not NORM.search(name)]
    named_by_hand = "recognised_by" in by_hand().get(table["name"], {})
    return table if named_by_hand or len(named) >= _FEWEST else table | {"recognised_by": []}


def ours() -> list[Path]:
    """The tables that this script wrote; others are written by hand."""
    return [path for path in sorted(DATA.glob("*.toml")) if _MARK in path.read_text(encoding="utf-8")]


def resolve_parts(tables: dict[str, Table]) -> dict[str, str]:
    """Say of each part only what stands before its own family's prefix, and which of its norms are not built.

    Returns the tables that cannot be: those whose language model has no table, or of which nothing is left.
    """
    lost = {}
    for name, table in tables.items():
        kept = []
        more = by_hand().get(name, {}).get("part_prefixes", {})
        for part in table["part"]:
            if "default" not in part:  # written by hand: of any family
                kept.append(part)
                continue
            own = tables.get(part["default"])
            if own is None:
                table.setdefault("notes", []).append(f"{part['config']}: no table for {part['default']}")
                if part["stack"] == "decoder":
                    lost[name] = f"its {part['config']} is a {part['default']}, which has no table"
                continue
            found = part.pop("found", None)
            if found is not None:
                part["prefixes"] = outer(part["prefixes"], own["prefixes"])
                part["without"] = unbuilt(own, found)
            part["prefixes"] = [*part["prefixes"], *more.get(part["config"], ())]
            kept.append({key: part[key] for key in _PART_KEYS if part.get(key)})
        table["part"] = kept
        if not table["norm"] and not kept:
            lost.setdefault(name, "none of its parts has a table")
    return lost


def outer(whole: list[str], own: list[str]) -> list[str]:
    """The prefixes of a part without those that its own family has."""
    cut = {each: each.removesuffix(own[0]) for each in whole if each.endswith(own[0])}
    found = dict.fromkeys(before for before in cut.values() if not before or before.endswith("."))
    found |= dict.fromkeys(each for each in whole if cut.get(each) not in found and "" in own)
    return list(found) or whole


def unbuilt(own: Table, found: list[str]) -> list[str]:
    """Norms of a part's family that the whole does not build, by name."""
    names = []
    for row in own["norm"]:
        told = [each for each in row.get("when", ()) if (each["key"], each["op"]) != ("architectures", "ne")]
        if told or row.get("beside") or row.get("rooted") or row["gain"] == "none":
            continue
        pattern = re.compile(re.sub(r"\\\{[a-z]+\\\}", "[0-9]+", re.escape(row["name"])))
        if not any(pattern.fullmatch(name) for name in found):
            names.append(row["name"])
    return names


def grouped(tables: dict[str, Table]) -> list[list[Table]]:
    """Tables that are the same but for who they are of."""
    groups: dict[str, list[Table]] = {}
    for name in sorted(tables, key=lambda name: (len(name), name)):
        table = tables[name]
        key = json.dumps({k: v for k, v in table.items() if k not in _OWN}, sort_keys=True)
        key += str(table["prefixes"][0])  # what is saved first; what else their loaders take, they may share
        groups.setdefault(key if "by_hand" not in table else name, []).append(table)
    return list(groups.values())


def shared(group: list[Table]) -> Table:
    """One table for a group: the first's, with the names of all."""
    table = dict(group[0])
    table["title"] = ", ".join(dict.fromkeys(str(each["title"]) for each in group))
    table["source"] = (
        "; ".join(dict.fromkeys(str(each["source"]) for each in group)) if len(group) < 4 else table["source"]
    )
    table["prefixes"] = list(dict.fromkeys(prefix for each in group for prefix in each["prefixes"]))
    table["model_types"] = [name for each in group for name in each["model_types"]]
    table["architectures"] = list(dict.fromkeys(name for each in group for name in each["architectures"]))
    return table


def comments(table: Table) -> list[str]:
    """What stands above a table: who wrote it, and what could not be told."""
    lines = textwrap.wrap(f"{table['title']}: {_MARK} {table['source']}.", 116)
    if table.get("by_hand"):
        lines += textwrap.wrap(f"By hand (scripts/derive/data/by_hand.toml): {table['by_hand']}", 116)
    for note in dict.fromkeys(table.get("notes", [])):
        lines += textwrap.wrap(f"Not told: {note}.", 116)
    return lines


def report(files: dict[str, str]) -> None:
    """Print which tables are new, changed or gone."""
    before: dict[str, Any] = {path.stem: path.read_text(encoding="utf-8") for path in ours()}
    for name in sorted(before.keys() - files.keys()):
        print(f"gone: {name}")
    for name, text in sorted(files.items()):
        if name not in before:
            print(f"new: {name}")
        elif before[name] != text:
            print(f"changed: {name}")
            for line in difflib.unified_diff(before[name].splitlines(), text.splitlines(), lineterm="", n=0):
                if not line.startswith(("---", "+++", "@@")):
                    print(f"  {line}")
