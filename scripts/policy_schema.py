"""Write ln_audit/policy/policy.schema.json and the tables of docs/policy.md from the keys that the reader knows.

python scripts/policy_schema.py          # write them
python scripts/policy_schema.py --check  # exit 1 when one is not up to date
"""

import json
import re
import sys
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from ln_audit.checks import expired_waiver  # noqa: E402
from ln_audit.families.schema import CHOICES, Condition, Epsilon, Family, Neighbour, Part, Promise, Size  # noqa: E402
from ln_audit.policy.applying import ALL  # noqa: E402
from ln_audit.policy.keys import DIGESTS, POLICY, TARGET, WAIVER, Key  # noqa: E402
from ln_audit.policy.values import LONGEST, MOST, rule_words  # noqa: E402

SCHEMA, PAGE = ROOT / "ln_audit" / "policy" / "policy.schema.json", ROOT / "docs" / "policy.md"
TEXT = {"type": "string", "pattern": r"\S", "maxLength": LONGEST}
NAME = TEXT | {"not": {"pattern": r"[\u0000-\u001f\u007f-\u009f]"}}
RULES = list(rule_words())
WAIVED = [word for word in RULES if word not in (expired_waiver.RULE.id, expired_waiver.RULE.name)]
COMMIT = {"type": "string", "pattern": "^[0-9a-f]{40}$", "maxLength": 40}
SHA256 = {"type": "string", "pattern": "^[0-9a-f]{64}$", "maxLength": 64}
PLAIN: dict[str, dict[str, Any]] = {
    "name": NAME,
    "text": TEXT,
    "switch": {"type": "boolean"},
    "day": {"type": "string", "format": "date"},
    "rule": {"enum": WAIVED},
    "rules": {"type": "array", "items": {"enum": [*RULES, ALL]}, "maxItems": MOST},
    "revisions": {"anyOf": [{"const": "pinned"}, {"type": "array", "items": COMMIT, "minItems": 1, "maxItems": MOST}]},
    "digests": {"type": "object", "propertyNames": NAME, "additionalProperties": SHA256, "maxProperties": MOST},
    "families": {"type": "object", "additionalProperties": {"$ref": "#/$defs/family"}, "maxProperties": MOST},
}
WORDS = {
    "name": "string", "text": "string", "switch": "true or false", "day": "date", "rule": "id or name of a rule",
    "rules": "list of ids or names", "names": "list of strings", "paths": "list of files", "revisions": '`"pinned"` or list',
    "digests": "table", "table": "table", "tables": "tables", "families": "tables",
}  # fmt: skip


def table(keys: dict[str, Key]) -> dict[str, Any]:
    """The schema of a table with these keys and no other."""
    made: dict[str, Any] = {
        "type": "object",
        "additionalProperties": False,
        "properties": {name: {"description": key.means, **value(key)} for name, key in keys.items()},
    }
    if needed := [name for name, key in keys.items() if key.needed]:
        made["required"] = needed
    if needs := {name: [key.needs] for name, key in keys.items() if key.needs}:
        made["dependentRequired"] = needs
    return made


def value(key: Key) -> dict[str, Any]:
    """The schema of one key's value."""
    match key.type:
        case "choice":
            return {"enum": list(key.choices)}
        case "names" | "paths":
            return {"type": "array", "items": NAME, "minItems": key.least, "maxItems": MOST}
        case "table":
            return table(dict(key.keys or {}))
        case "tables":
            return {"type": "array", "items": table(dict(key.keys or {})), "maxItems": MOST}
        case _:
            return PLAIN[key.type]


def family() -> dict[str, dict[str, Any]]:
    """A family's table and its parts, from the dataclasses that it is read into. Bounds and names are left to the reader."""
    strings = {"type": "array", "items": {"type": "string"}}
    typed: dict[str, dict[str, Any]] = {
        "str": {"type": "string"}, "int": {"type": "integer"}, "float": {"type": "number"}, "bool": {"type": "boolean"},
        "tuple[str, ...]": strings, "tuple[tuple[str, ...], ...]": {"type": "array", "items": strings},
        "tuple[str | int, ...]": {"type": "array", "items": {"type": ["string", "integer"]}},
        "Mapping[str, str]": {"type": "object", "additionalProperties": {"type": "string"}},
        "tuple[Condition, ...]": {"type": "array", "items": {"$ref": "#/$defs/condition"}},
        "tuple[Promise, ...]": {"type": "array", "items": {"$ref": "#/$defs/norm"}},
        "tuple[Part, ...]": {"type": "array", "items": {"$ref": "#/$defs/part"}},
        "Mapping[str, Size]": {"type": "object", "additionalProperties": {"$ref": "#/$defs/size"}},
        "Mapping[str, Epsilon]": {"type": "object", "additionalProperties": {"$ref": "#/$defs/epsilon"}},
        "Epsilon": {"$ref": "#/$defs/epsilon"}, "Neighbour": {"$ref": "#/$defs/neighbour"}, "Any": {},
        "Literal['machine']": {"const": "machine"}, 'Literal["machine"]': {"const": "machine"},
    }  # fmt: skip
    called = {"norms": "norm", "parts": "part"}
    defs = {}
    for name, cls in {
        "family": Family, "norm": Promise, "part": Part, "size": Size, "epsilon": Epsilon, "neighbour": Neighbour,
        "condition": Condition,
    }.items():  # fmt: skip
        rows = [each for each in fields(cls) if (cls, each.name) != (Size, "key")]
        needed = [each.name for each in rows if each.default is MISSING and each.default_factory is MISSING]
        properties = {}
        for each in rows:
            choices = [choice for choice in CHOICES.get(each.name, ()) if choice] if cls is Promise else []
            told = {"enum": choices} if choices else typed[str(each.type).removesuffix(" | None")]
            properties[called.get(each.name, each.name)] = told
        defs[name] = {"type": "object", "additionalProperties": False, "properties": properties}
        if cls is not Family:  # it has a name by its place, and may do without the rest
            defs[name]["required"] = needed
    return defs


def schema() -> str:
    """The whole schema as JSON."""
    made = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "ln-audit.toml",
        "description": "The policy of an ln-audit gate; in pyproject.toml it is [tool.ln-audit].",
        **table(POLICY),
        "$defs": family(),
    }
    return json.dumps(made, indent=1, ensure_ascii=False) + "\n"


def page(text: str) -> str:
    """The page with its tables written anew, between the comments that name them."""
    for name, keys in {"policy": POLICY, "target": TARGET, "waiver": WAIVER, "digests": DIGESTS}.items():
        rows = [f"| `{word}` | {kind(key)} | {key.means}{'; required' * key.needed} |" for word, key in keys.items()]
        block = "\n".join(["| key | value | means |", "|---|---|---|", *rows])
        begin, end = f"<!-- keys of {name} -->", f"<!-- end of {name} -->"
        text = re.sub(f"{begin}\n.*?{end}", lambda _, b=begin, t=block, e=end: f"{b}\n{t}\n{e}", text, flags=re.DOTALL)  # type: ignore[misc]
    return text


def kind(key: Key) -> str:
    """The type of a key's value, in words."""
    return " or ".join(f"`{choice}`" for choice in key.choices) or WORDS[key.type]


if __name__ == "__main__":
    for target, made in ((SCHEMA, schema()), (PAGE, page(PAGE.read_text(encoding="utf-8")))):
        if "--check" not in sys.argv:
            target.write_text(made, encoding="utf-8")
        elif target.read_text(encoding="utf-8") != made:
            sys.exit(f"{target}: not up to date; run {sys.argv[0]}")
