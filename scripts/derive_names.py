"""Write ln_audit/families/data/names/gguf/*.toml and names/index.json: how GGUF spells the names of our families.

python scripts/derive_names.py          # write them, and print which architectures have no family yet
python scripts/derive_names.py --check  # exit 1 when they are not up to date

What each architecture holds is in scripts/gguf_architectures.toml, by hand, with its source; the names are those of the gguf
package's own tables, which llama.cpp's converters use. Run it again when family tables or the gguf package have changed.
"""

from __future__ import annotations

import json
import re
import sys
import tomllib
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

import gguf  # noqa: E402

from ln_audit.families.table import parse  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from ln_audit.families.schema import Family

FAMILIES = ROOT / "ln_audit" / "families" / "data"
NAMES = FAMILIES / "names"
ARCHITECTURES = Path(__file__).with_name("gguf_architectures.toml")

# config.json's key → the GGUF key that holds it, behind the architecture's name. The converters look for the same spellings
# (conversion/base.py, TextModel.set_gguf_parameters). A loader insists on the first two and on an epsilon.
WIDTHS = ("hidden_size", "n_embd", "d_model", "n_embed", "dim")
DEPTHS = ("num_hidden_layers", "n_layer", "n_layers", "num_layers")
OPTIONAL = {
    **dict.fromkeys(("num_attention_heads", "n_head", "n_heads", "num_heads"), "attention.head_count"),
    **dict.fromkeys(("num_key_value_heads", "n_kv_heads", "num_kv_heads"), "attention.head_count_kv"),
    **dict.fromkeys(("head_dim", "d_kv"), "attention.key_length"),
    **dict.fromkeys(("intermediate_size", "n_inner", "ffn_hidden_size"), "feed_forward_length"),
    "q_lora_rank": "attention.q_lora_rank",
    "kv_lora_rank": "attention.kv_lora_rank",
    "num_nextn_predict_layers": "nextn_predict_layers",
    "hidden_size_per_layer_input": "embedding_length_per_layer_input",
    **dict.fromkeys(("state_size", "mamba_d_state", "ssm_state_size"), "ssm.state_size"),
    **dict.fromkeys(("time_step_rank", "mamba_dt_rank"), "ssm.time_step_rank"),
    **dict.fromkeys(("linear_key_head_dim",), "ssm.state_size"),
    "mamba_d_ssm": "ssm.inner_size",
    "index_head_dim": "attention.indexer.key_length",
    "vocab_size": "vocab_size",
}
# Keys that the converters write only multiplied by another.
QUOTIENTS = {
    "linear_value_head_dim": ("ssm.inner_size", "ssm.time_step_rank"),
}
FRONTS = ("model.", "backbone.", "transformer.")
EPSILONS = {"rms_norm": "attention.layer_norm_rms_epsilon", "layer_norm": "attention.layer_norm_epsilon"}


class LeftOutError(Exception):
    """An architecture of which no table can be written, with the reason."""


def families() -> Mapping[str, Family]:
    """model_type, or a family's own name → the family."""
    read = [parse(path.read_text(encoding="utf-8"), path.name) for path in sorted(FAMILIES.glob("*.toml"))]
    return {name: family for family in reversed(read) for name in (*family.model_types, family.name)}


def build() -> tuple[dict[str, str], list[str]]:
    """(file name in names/ → its text, what was left out)."""
    known, left_out = families(), []
    gguf_names = {name: arch for arch, name in gguf.MODEL_ARCH_NAMES.items()}
    files: dict[str, str] = {}
    standing: dict[str, str] = {}
    variants: dict[str, list[list[str]]] = {}
    for name, row in tomllib.loads(ARCHITECTURES.read_text(encoding="utf-8")).items():
        family = next((known[each] for each in row["model_types"] if each in known), None)
        if family is None:
            left_out.append(f"{name}: no family for {' or '.join(row['model_types'])}")
            continue
        try:
            stated = row.get("architecture", name)
            files[f"gguf/{name}.toml"] = _architecture(stated, gguf_names[stated], family, row)
            if "there" in row:
                variants.setdefault(stated, []).append([row["there"], name])
            else:
                standing[name] = family.name
        except LeftOutError as error:
            left_out.append(f"{name}: {error}")
    files["index.json"] = json.dumps(_index(standing, variants), indent=1) + "\n"
    return files, left_out


def _index(standing: Mapping[str, str], variants: Mapping[str, list[list[str]]]) -> dict[str, Any]:
    """What is read of every checkpoint: the smallest that says which table it needs."""
    layouts = {}
    for path in sorted((NAMES / "layouts").glob("*.toml")):
        table = tomllib.loads(path.read_text(encoding="utf-8"))
        told = {key: table[key] for key in ("declared", "words", "no_words", "not_in", "model_types") if key in table}
        layouts[path.stem] = told | {"names": table.get("names", []), "roots": ["", *table.get("roots", [])]}
    first = {family: name for name, family in reversed(standing.items())}
    return {
        "gguf": dict(sorted(standing.items())),
        "variants": {"gguf": variants},
        "families": {"gguf": dict(sorted(first.items()))},
        "layouts": layouts,
    }


def _architecture(name: str, arch: Any, family: Family, row: Mapping[str, Any]) -> str:
    if any(promise.weight_offset for promise in family.norms) and not row.get("adds_one"):
        raise LeftOutError(
            f"{family.name} stores gains without their 1, and it is not known that the converter adds it"
        )
    if not family.norms:
        raise LeftOutError(f"the norms of {family.name} are those of its parts")
    modules, without = _modules(arch, family, row)
    text = [
        f'# GGUF of architecture "{name}", by scripts/derive_names.py from gguf {version("gguf")} and the table of {family.name}.',
        f"# {row['source']}",
        f'architecture = "{name}"',
        f'family = "{family.name}"',
    ]
    if row.get("adds_one"):
        text.append("weight_offset = 0.0")
    epsilon = EPSILONS[row.get("epsilon") or _kind(family, without)]
    if not family.epsilon.keys:
        text.append(f'epsilon = "{epsilon}"')
    if without:
        text += ["# Kept in another form, or not at all.", f"without = {json.dumps(without)}"]
    needed, optional = _config(family, epsilon, row.get("config", {}))
    quotients = {key: list(pair) for key, pair in QUOTIENTS.items() if key in family.sizes}
    tables = {"config": needed, "optional": optional, "fixed": row.get("fixed", {}), "less": _less(arch, needed)}
    tables |= {"quotients": quotients, "names": modules}
    for title, rows in tables.items():
        if rows:
            text += ["", f"[{title}]", *(f"{_key(key)} = {json.dumps(value)}" for key, value in rows.items())]
    return "\n".join(text) + "\n"


def _key(key: str) -> str:
    return key if re.fullmatch(r"[A-Za-z0-9_]+", key) else json.dumps(key)


def _kind(family: Family, without: list[str]) -> str:
    """What the final norm computes, as far as it chooses the key of its epsilon."""
    held = [norm for norm in family.norms if norm.name not in without]
    final = next((norm for norm in reversed(held) if norm.role == "final"), held[-1])
    return "layer_norm" if final.kind == "layer_norm" else "rms_norm"


def _config(family: Family, epsilon: str, own: Mapping[str, str]) -> tuple[dict[str, str], dict[str, str]]:
    """Which of the family's config keys the file states: those that loaders insist on, and the others."""
    needed, optional = {}, {}
    conditions = [condition.key for norm in family.norms for condition in norm.when]
    for key in dict.fromkeys((*family.sizes, *conditions)):
        spellings = (key, *(family.sizes[key].aliases if key in family.sizes else ()))
        if any(each in own for each in spellings):
            theirs = next(own[each] for each in spellings if each in own)
            (needed if theirs == "block_count" else optional)[key] = theirs
        elif any(each in WIDTHS for each in spellings):
            needed[key] = "embedding_length"
        elif any(each in DEPTHS for each in spellings):
            needed[key] = "block_count"
        else:
            theirs = next((OPTIONAL[each] for each in spellings if each in OPTIONAL), None)
            if theirs is not None:
                optional[key] = theirs
    if family.epsilon.keys:
        needed[family.epsilon.keys[0]] = epsilon
    for each in family.epsilons.values():
        optional |= dict.fromkeys((key for key in each.keys[:1] if key not in needed), epsilon)
    return needed, optional


def _less(arch: Any, needed: Mapping[str, str]) -> dict[str, str]:
    """Blocks that predict further tokens are counted as layers, where the architecture has them."""
    extra = any(tensor.name.startswith("NEXTN") for tensor in gguf.MODEL_TENSORS[arch])
    return {key: "nextn_predict_layers" for key, theirs in needed.items() if extra and theirs == "block_count"}


def _modules(arch: Any, family: Family, row: Mapping[str, Any]) -> tuple[dict[str, str], list[str]]:
    """(the family's module → GGUF's, the family's norms that GGUF does not have as they are)."""
    known = gguf.get_tensor_name_map(arch, 2)
    found: dict[str, str] = {}
    without: list[str] = list(row.get("without", ()))
    for promise in family.norms:
        if promise.gain == "none" or promise.name in found or promise.name in without:
            continue  # a name may have several rows, under conditions
        theirs = row.get("names", {}).get(promise.name) or _look_up(
            known, promise.name, ("",) if promise.rooted else family.prefixes
        )
        if theirs is None or theirs in found.values():
            without.append(promise.name)
        else:
            found[promise.name] = theirs
    if not found and any(promise.gain == "required" for promise in family.norms):
        raise LeftOutError(f"gguf has none of the names of {family.name}")
    for module in _neighbours(family):
        theirs = _look_up(known, module, family.prefixes)
        if theirs is not None and theirs not in found.values():
            found.setdefault(module, theirs)
    for module, theirs in _beside(known, family):
        if theirs not in found.values():
            found.setdefault(module, theirs)
    for module, theirs in _others(known, family, list(found)):
        if theirs not in found.values():
            found.setdefault(module, theirs)
    return found, without


def _look_up(known: Any, module: str, prefixes: tuple[str, ...]) -> str | None:
    """GGUF's name of a module in which at most `{layer}` is open; converters bring names behind one of `FRONTS`."""
    if set(re.findall(r"\{([a-z]+)\}", module)) - {"layer"}:
        return None
    for prefix in dict.fromkeys((*prefixes, *FRONTS)):
        spelt = [f"{prefix}{module}".replace("{layer}", str(layer)) for layer in (0, 1)]
        names = [known.get_name(each, (".weight",)) or known.get_name(f"{each}.weight") for each in spelt]
        if names[0] is not None and (names[0] == names[1]) != ("{layer}" in module):
            return re.sub(r"(?<=\.)0(?=\.|$)", "{layer}", names[0]) if "{layer}" in module else names[0]
    return None


def _neighbours(family: Family) -> Iterator[str]:
    """Modules whose tensors tell a size, a tie or the family."""
    tensors = [
        *(size.tensor for size in family.sizes.values()),
        *(name for group in family.tied for name in group),
        *(norm.like.tensor for norm in family.norms if norm.like is not None),
        *(re.sub(r"(?<=\.)0(?=\.)", "{layer}", name) for name in family.recognised_by),
    ]
    for tensor in dict.fromkeys(filter(None, tensors)):
        yield tensor.removesuffix(".weight")


def _beside(known: Any, family: Family) -> Iterator[tuple[str, str]]:
    """Modules next to which a norm is required: all that the package knows under that beginning, and of each block."""
    beginnings = dict.fromkeys(norm.beside for norm in family.norms if norm.beside is not None)
    for beginning in beginnings:
        for prefix in dict.fromkeys((*family.prefixes, *FRONTS)):
            start = f"{prefix}{beginning}".replace("{layer}", "0")
            for name, (_, theirs) in known.mapping.items():
                if name.startswith(start) and not re.search(r"\{", start) and name != theirs:
                    module = beginning + name[len(start) :]
                    yield module, re.sub(r"(?<=\.)0(?=\.)", "{layer}", theirs)


def _others(known: Any, family: Family, modules: list[str]) -> Iterator[tuple[str, str]]:
    """All other tensors of the architecture, so that what is then not covered is strange to it; as the family calls its like."""
    starts = tuple({module.partition("{")[0] for module in modules if "{" in module}) or ("layers.",)
    spelt: dict[str, list[tuple[int, str]]] = {}
    for name, (_, theirs) in known.mapping.items():
        if name == theirs or re.search(r"(?<=\.)1(?=\.)", theirs):
            continue
        pattern = re.sub(r"(?<=\.)0(?=\.)", "{layer}", theirs)
        front = next((each for each in (*family.prefixes, *FRONTS) if each and name.startswith(each)), "")
        module = name.removeprefix(front)
        if "{" in pattern:
            module = re.sub(r"(?<=\.)0(?=\.|$)", "{layer}", module, count=1)
            rank = 0 if module.startswith(starts) else 1
        else:
            rank = 0 if name == "lm_head" or (front and front in family.prefixes) else 1 if front else 2
        spelt.setdefault(pattern, []).append((rank, module))
    for theirs, named in spelt.items():
        fitting = [each for each in named if ("{" in each[1]) == ("{" in theirs)]
        if fitting:
            yield min(fitting, key=lambda each: each[0])[1], theirs


def main() -> None:
    """Write or check."""
    files, left_out = build()
    there = {str(path.relative_to(NAMES)): path for path in (*(NAMES / "gguf").glob("*.toml"), NAMES / "index.json")}
    if "--check" in sys.argv:
        texts = {name: path.read_text(encoding="utf-8") for name, path in there.items() if path.exists()}
        stale = sorted(name for name in {*files, *texts} if files.get(name) != texts.get(name))
        sys.exit(f"{NAMES}: not up to date: {', '.join(stale)}; run {sys.argv[0]}" if stale else 0)
    for name in set(there) - set(files):
        there[name].unlink()
    (NAMES / "gguf").mkdir(exist_ok=True)
    for name, text in files.items():
        (NAMES / name).write_text(text, encoding="utf-8")
    print(f"{len(files) - 1} architectures written; left out {len(left_out)}:", *left_out, sep="\n  ")


if __name__ == "__main__":
    main()
