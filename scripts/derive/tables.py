"""From one type's derived facts to its table as plain data, with what is known by hand beside it."""

from __future__ import annotations

import re
import tomllib
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import family, parts
from . import variations as varying
from .table_text import Table, named_epsilons

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

BY_HAND = Path(__file__).with_name("data") / "by_hand.toml"
_INV_FREQ = "layers.{layer}.self_attn.rotary_emb.inv_freq"  # old versions stored it; transformers drops it on loading


@cache
def by_hand() -> dict[str, Any]:
    return tomllib.loads(BY_HAND.read_text(encoding="utf-8"))


def derive(model_type: str) -> Table:
    """The table of one type. Raises what building the type raises, `LookupError` for a model without norms."""
    derived = family.Derived(model_type)
    if not derived.rows and not derived.parts:
        raise LookupError("no norms")
    rows = [
        {**row, "epsilon": {"keys": list(row["epsilon"].keys), "default": row["epsilon"].default}}
        for row in derived.rows
    ]
    usual, others = named_epsilons(rows)
    architectures = family.architectures(derived.varied.model)
    table: Table = {
        "name": model_type,
        "title": type(derived.varied.config).__name__.removesuffix("Config"),
        "source": _source(derived),
        "model_types": [model_type],
        "architectures": architectures,
        "prefixes": parts.prefixes(derived.varied, derived.base, _class_prefixes(architectures), derived.parts),
        "main": _main(derived, rows),
        "recognised_by": telling(derived.varied.base.tensors, derived.base),
        "buffers": _buffers(derived),
        **_tied(derived),
        "sizes": derived.sizes.rows,
        "epsilon": usual,
        "epsilons": others,
        "norm": rows,
        "part": [
            {"config": part.key, "prefixes": part.prefixes, "default": part.model_type, "found": sorted(part.bare),
             "stack": _part_stack(part), "when": _part_when(part)}
            for part in derived.parts
        ],
        "notes": derived.notes,
    }  # fmt: skip
    return finished(table)


def finished(table: Table) -> Table:
    """With everything that is known by hand."""
    return merged(cross_attention(next_token(table)), by_hand().get(table["name"], {}))


def cross_attention(table: Table) -> Table:
    """With the norms of the cross attention that the type has as the decoder of another encoder; no key of its own tells it."""
    known = by_hand()["cross_attention"]
    if table["name"] not in known["types"]:
        return table
    rows: list[Table] = []
    for row in table["norm"]:
        rows.append(row)
        if ".attention." in row["name"]:
            name = row["name"].replace(".attention.", ".crossattention.")
            beside = name[: name.index(".crossattention.")] + ".crossattention."
            comment = ["By hand: as the decoder of an encoder.", f"Source: {known['source']}."]
            rows.append({"comment": comment, **row, "name": name, "beside": beside})
    return {**table, "norm": rows}


def next_token(table: Table) -> Table:
    """With the rows of blocks that predict further tokens, where releases of the type have them."""
    known = by_hand()["next_token"]
    name = table["name"]
    if name not in (*known["behind"], *known["apart"]):
        return table
    final = next(row for row in table["norm"] if row["role"] == "final")
    blocks = [row for row in table["norm"] if row["name"].startswith("layers.{layer}.")]
    plain = {**final, "role": "other", "stack": "next_token", "when": []}
    comment = {"comment": [f"By hand: the blocks that predict further tokens. Source: {known['source']}."]}
    if name in known["behind"]:
        at = {"layers": "num_nextn_predict_layers", "first": "num_hidden_layers", "beside": "layers.{layer}.eh_proj."}
        names = [f"layers.{{layer}}.{each}" for each in ("enorm", "hnorm", "shared_head.norm")]
        rows = [{**plain, **at, "name": each} for each in names] + [
            {**row, **at, "stack": "next_token"} for row in blocks
        ]
        default = varying.get(family.default_config(name), "num_nextn_predict_layers")
        size = {"aliases": ["num_mtp_layers"], "default": default if isinstance(default, int) else 0}
        table = {**table, "sizes": {**table["sizes"], "num_nextn_predict_layers": size}}
    else:
        names = [f"mtp.{each}" for each in ("pre_fc_norm_embedding", "pre_fc_norm_hidden", "norm")]
        rows = [{**plain, "name": each, "rooted": True, "beside": "mtp.fc."} for each in names]
        for row in blocks:
            inner = row.get("beside") or "layers.{layer}."
            own = {"name": f"mtp.{row['name']}", "rooted": True, "beside": f"mtp.{inner}", "stack": "next_token"}
            rows.append({key: value for key, value in row.items() if key not in ("layers", "first")} | own)
    rows[0] = {**comment, **rows[0]}
    return {**table, "norm": [*table["norm"], *rows], "main": table["main"] or ["decoder"]}


def merged(table: Table, extra: Table) -> Table:
    """With what was written by hand: rows of the same name are replaced, others come before the final norm."""
    table = dict(table)
    if extra.get("instead"):
        table |= {"norm": [], "sizes": {}, "epsilon": {}, "epsilons": {}, "tied": []}
    for key, value in extra.items():
        match key:
            case "norm":
                names = {row["name"] for row in value} | set(extra.get("without", ()))
                kept = [row for row in table["norm"] if row["name"] not in names]
                finals = [row for row in kept if row["role"] == "final"]
                blocks = [row for row in kept if row["role"] != "final"]
                mine = [{"comment": [f"By hand: {extra['why']}"]} | value[0], *value[1:]]
                table["norm"] = [
                    *blocks,
                    *(row for row in mine if row["role"] != "final"),
                    *finals,
                    *(row for row in mine if row["role"] == "final"),
                ]
            case "sizes" | "epsilons":
                table[key] = {
                    **table[key],
                    **{name: {**table[key].get(name, {}), **row} for name, row in value.items()},
                }
            case "edit":  # name of a row → keys to change in it
                table["norm"] = [{**row, **value.get(row["name"], {})} for row in table["norm"]]
            case "unbuilt":  # class → beginnings of rows, and configs of parts, that it does not build
                for cls, names in value.items():
                    table = _unbuilt(table, cls, tuple(names))
            case "spelt":  # class → beginnings of names, and what it saves instead
                for cls, names in value.items():
                    table["norm"] = [other for row in table["norm"] for other in _spelt(row, cls, names)]
            case "more_prefixes":
                table["prefixes"] = list(dict.fromkeys([*table["prefixes"], *value]))
            case "why" | "source" | "without" | "instead" | "part_prefixes":
                continue
            case _:
                table[key] = value
    if "why" in extra:
        table["by_hand"] = f"{extra['why']} Source: {extra.get('source', table['source'])}."
    return table


def _unbuilt(table: Table, cls: str, names: tuple[str, ...]) -> Table:
    """The table with the condition that the model is not of this class, for what the class does not build."""
    but = {"key": "architectures", "op": "ne", "value": [cls]}
    rows = [
        {**row, "when": [*row.get("when", ()), but]} if row["name"].startswith(names) else row for row in table["norm"]
    ]
    found = [
        {**part, "when": [*part.get("when", ()), but]} if part["config"] in names else part for part in table["part"]
    ]
    return {**table, "norm": rows, "part": found}


def _spelt(row: Table, cls: str, names: dict[str, str]) -> Iterator[Table]:
    """The row; for one that a class saves under another name, the row of all others and the row of that class."""
    old = next((each for each in names if row["name"].startswith(each)), None)
    if old is None:
        yield row
        return
    when = list(row.get("when", ()))
    yield {**row, "when": [*when, {"key": "architectures", "op": "ne", "value": [cls]}]}
    own = {**row, "name": names[old] + row["name"][len(old) :]}
    if "beside" in row:
        own["beside"] = names[old] + row["beside"].removeprefix(old)
    if "like" in row:
        own["like"] = {**row["like"], "tensor": names[old] + row["like"]["tensor"].removeprefix(old)}
    yield {**own, "when": [*when, {"key": "architectures", "op": "eq", "value": [cls]}]}


def _source(derived: family.Derived) -> str:
    module = type(derived.varied.model).__module__
    folder, _, name = module.rpartition(".")
    classes = sorted(
        {
            site.cls.rpartition(".")[2]
            for site in derived.varied.base.sites.values()
            if not parts.inside(derived.parts, site)
        }
    )
    config = type(derived.varied.config).__module__.rpartition(".")[2]
    where = f"transformers {family.version()} models/{folder.rpartition('.')[2]}/{name}.py"
    return f"{where} ({', '.join([type(derived.varied.model).__name__, *classes])}), {config}.py"


def _main(derived: family.Derived, rows: list[Table]) -> list[str]:
    stacks = {row["stack"] for row in rows} | {_part_stack(part) for part in derived.parts}
    finals = {row["stack"] for row in rows if row["role"] == "final"}
    if "decoder" in stacks and len(stacks) > 1:
        return ["decoder"]
    return sorted(finals)[:1] if len(stacks) > 1 and len(finals) == 1 else []


def _part_stack(part: parts.Part) -> str:
    text = f"{part.key}.{part.model_type}"
    for word, stack in (
        ("vision", "vision"),
        ("image", "vision"),
        ("backbone", "vision"),
        ("audio", "audio"),
        ("speech", "audio"),
    ):
        if word in text:
            return stack
    if "encoder" in part.key:
        return "encoder"
    return "decoder"


def _part_when(part: parts.Part) -> list[Table]:
    """A backbone may be another library's: then its nested config is null."""
    return [{"key": part.key, "op": "truthy"}] if "backbone" in part.key else []


def _class_prefixes(architectures: list[str]) -> list[str]:
    """What the type's other classes call their base model: question answering heads say `transformer`."""
    import transformers

    found: dict[str, None] = {}
    for name in architectures:
        prefix = getattr(getattr(transformers, name, None), "base_model_prefix", "")
        if prefix:
            found[prefix] = None
    return list(found)


def telling(tensors: Iterable[str], base: str) -> list[str]:
    """The names that the type's usual checkpoint has of no layer and of the first one.

    All of them: then no family can fit another's usual checkpoint with more names than that one's own.
    """
    first = [name for name in tensors if not any(t.isdigit() and t != "0" for t in name.split("."))]
    return [name.removeprefix(base) for name in first if name.startswith(base)]


def _buffers(derived: family.Derived) -> list[str]:
    model, found = derived.varied.model, {}
    parameters = {name for name, _ in model.named_parameters(remove_duplicate=False)}
    for name in model.state_dict():
        saved = derived.varied.base.saved.get(name)
        leaf = name.rpartition(".")[2]
        if name in parameters or saved is None or leaf in ("running_mean", "running_var", "weight", "bias"):
            continue
        pattern = re.sub(r"\.\d+\.", ".{layer}.", saved.removeprefix(derived.base), count=1)
        if not re.search(r"\.\d+\.", pattern):
            found[pattern] = None
    names = [row["name"] for row in derived.rows]
    attends = any("layers.0.self_attn." in tensor for tensor in derived.varied.base.tensors)
    if attends and any(name.startswith("layers.{layer}.") for name in names):
        found[_INV_FREQ] = None
    return list(found)


def _tied(derived: family.Derived) -> Table:
    keys = getattr(derived.varied.model, "_tied_weights_keys", None) or {}
    base, saved = derived.base, derived.varied.base.saved
    pairs = []
    for target, source in keys.items() if isinstance(keys, dict) else ():
        if re.search(r"[\\^$*+?()\[]", f"{target}{source}"):
            continue
        whole = saved.get(source, source)
        pairs.append([whole.removeprefix(base), saved.get(target, target)])
    if not pairs:
        return {}
    default = varying.get(family.default_config(derived.model_type), "tie_word_embeddings")
    return {"tied": pairs, "tied_key": "tie_word_embeddings", "tied_default": bool(default)}
