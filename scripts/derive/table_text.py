"""A derived table as TOML that people read: the same bytes for the same facts."""

from __future__ import annotations

import json
import re
from collections import Counter
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

Table = dict[str, Any]
_LINE = 118
_NORM_KEYS = (
    "name", "rooted", "role", "stack", "layers", "first", "counts", "beside", "kind", "gain", "leaf", "bias", "bias_leaf", "shape",
    "like",
    "weight_offset", "chain", "epsilon", "when",
)  # fmt: skip
_PLAIN = {
    "gain": "required",
    "weight_offset": 0.0,
    "rooted": False,
    "leaf": "weight",
    "bias_leaf": "bias",
    "stack": "decoder",
    "when": [],
    "counts": {},
}


def named_epsilons(rows: list[Table]) -> tuple[Table, dict[str, Table]]:
    """The usual epsilon of a table's rows and the others by name; each row then says which it has."""
    order = Counter(_key(row["epsilon"]) for row in rows)
    for row in rows:
        order[_key(row["epsilon"])] += 1000 * (row["role"] == "final") + (row["role"] == "block")
    usual = max(order, key=lambda key: (order[key], key)) if order else ((), None)
    names: dict[Any, str] = {usual: ""}
    for row in rows:
        key = _key(row["epsilon"])
        if key not in names:
            names[key] = _name(key, set(names.values()))
    for row in rows:
        row["epsilon"] = names[_key(row["epsilon"])] or None
    written = {name: _epsilon(key) for key, name in names.items()}
    return written.pop(""), written


def _key(epsilon: Any) -> tuple[tuple[str, ...], float | None]:
    return tuple(epsilon["keys"]), epsilon["default"]


def _epsilon(key: tuple[tuple[str, ...], float | None]) -> Table:
    keys, default = key
    row: Table = {"keys": list(keys)} if keys else {}
    return row | ({} if default is None else {"default": default})


def _name(key: tuple[tuple[str, ...], float | None], taken: set[str]) -> str:
    keys, default = key
    name = re.sub(r"[^a-z0-9_]", "_", keys[0].lower()) if keys else "fixed"
    name = name if name not in taken else f"{name}_{len(taken)}"
    return name if name or default is None else "fixed"


def write(table: Table, comments: Iterable[str]) -> str:
    """The table's text."""
    lines = [f"# {line}" if line else "#" for line in comments]
    lines += [f"{key} = {_value(table[key])}" for key in ("name", "title", "source")]
    for key in ("model_types", "architectures", "prefixes", "main", "recognised_by", "buffers", "tied"):
        if table.get(key) or key in ("model_types", "prefixes"):
            lines += _list(key, table.get(key, []))
    for key in ("tied_key", "tied_default"):
        if key in table:
            lines.append(f"{key} = {_value(table[key])}")
    for key, row in table["sizes"].items():
        lines += [
            "",
            f"[sizes.{_bare(key)}]",
            *(f"{name} = {_value(value)}" for name, value in row.items() if value != []),
        ]
    if table["epsilon"]:
        lines += ["", "[epsilon]", *(f"{key} = {_value(value)}" for key, value in table["epsilon"].items())]
    for name, row in table.get("epsilons", {}).items():
        lines += ["", f"[epsilons.{_bare(name)}]", *(f"{key} = {_value(value)}" for key, value in row.items())]
    for row in table["norm"]:
        lines += _norm(row)
    for row in table.get("part", []):
        lines += [
            "",
            "[[part]]",
            *(f"{key} = {_value(value)}" for key, value in row.items() if value not in (None, [])),
        ]
    return "\n".join(lines) + "\n"


def _norm(row: Table) -> list[str]:
    lines = ["", *(f"# {line}" for line in row.get("comment", [])), "[[norm]]"]
    for key in _NORM_KEYS:
        if key not in row or row[key] is None or (key in _PLAIN and row[key] == _PLAIN[key]):
            continue
        if key == "when":
            lines += _list(key, row[key])
        else:
            lines.append(f"{key} = {_value(row[key])}")
    return lines


def _list(key: str, values: list[Any]) -> list[str]:
    items = [_value(value) for value in values]
    short = f"{key} = [{', '.join(items)}]"
    if len(short) <= _LINE:
        return [short]
    lines, line = [f"{key} = ["], ""
    for item in items:
        if line and len(line) + len(item) + 2 > _LINE:
            lines.append(f"  {line.rstrip()}")
            line = ""
        line += f"{item}, "
    return [*lines, f"  {line.rstrip()}", "]"]


def _value(value: Any) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case str():
            return json.dumps(value, ensure_ascii=False)
        case float():
            return _float(value)
        case int():
            return str(value)
        case list() | tuple():
            return f"[{', '.join(_value(each) for each in value)}]"
        case dict():
            return f"{{ {', '.join(f'{_bare(key)} = {_value(each)}' for key, each in value.items())} }}"
    raise TypeError(f"{value!r}")


def _float(value: float) -> str:
    text = repr(value)
    return re.sub(r"e-0(\d)$", r"e-\1", text)


def _bare(key: str) -> str:
    return key if re.fullmatch(r"[A-Za-z0-9_-]+", key) else json.dumps(key)
