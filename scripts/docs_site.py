"""What the site takes from the program: a page for every rule, the table of the JSON schema, and the pages that there are.

MkDocs loads this file as a hook (mkdocs.yml). Nothing that it makes is kept in git, so nothing can be out of date.
"""

from __future__ import annotations

import json
import posixpath
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import ln_audit
from ln_audit import checks
from ln_audit.explain import rule_document

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files
    from mkdocs.structure.pages import Page

SCHEMA = Path(ln_audit.__file__).parent / "reports" / "report.schema.json"
HERE = "<!-- the table of the schema -->"
_LABEL = re.compile(r"^(What it does|Why it matters|Example|How to mend): ", re.MULTILINE)
_LINK = re.compile(r"\[([^\]]+)\]\(([^)\s#]+)(#[^)\s]*)?\)")
_RULE_FILE = re.compile(r"^(?:\.\./)+ln_audit/checks/(\w+)\.py$")
GROUPS = {"LN0": "Structure", "LN1": "Values", "LN2": "Agreement with a recording", "LN3": "Source, lock and policy"}


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """The navigation of mkdocs.yml with a line for every rule; a page that it does not name is under "More"."""
    there = {path.relative_to(config.docs_dir).as_posix() for path in Path(config.docs_dir).rglob("*.md")}
    config.nav = [_with_rules(part) for part in config.nav or []]
    named = set(_files(config.nav))
    new = sorted(page for page in there if page not in named)
    if new:
        config.nav.append({"More": new})
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """The pages of the rules, made of the rules' own documents."""
    from mkdocs.structure.files import File

    for name, text in rule_pages().items():
        files.append(File.generated(config, name, content=text))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Links to a rule's file lead to its page, the schema's table stands in its place."""
    here = posixpath.dirname(page.file.src_uri)

    def link(found: re.Match[str]) -> str:
        words, target, anchor = found[1], found[2], found[3] or ""
        rule = _RULE_FILE.match(target)
        if rule is not None:
            target = posixpath.relpath(f"rules/{rule[1].replace('_', '-')}.md", here or ".")
        return f"[{words}]({target}{anchor})"

    del config, files
    return _LINK.sub(link, markdown).replace(HERE, schema_table())


def rule_pages() -> dict[str, str]:
    """Every page below rules/ by its name: the index, and one for each rule."""
    return {"rules/index.md": _index()} | {
        f"rules/{check.RULE.name}.md": rule_page(check.RULE.id) for check in checks.CHECKS
    }


def rule_page(rule: str) -> str:
    """What `ln-audit explain RULE` prints, its first line as heading and its labels in bold."""
    heading, _, text = rule_document(rule).partition("\n\n")
    return f"# {heading}\n\n{_LABEL.sub(lambda label: f'**{label[1]}:** ', text)}"


def _index() -> str:
    lines = [
        "# Rules",
        "",
        "What `ln-audit` checks. `ln-audit explain RULE` prints the page of a rule, by its id or its name. Neither ever changes its",
        "meaning, and none is used again.",
    ]
    for digits, title in GROUPS.items():
        lines += ["", f"## {title}", "", "| rule | says |", "|---|---|"]
        lines += [
            f"| [{check.RULE.id} {check.RULE.name}]({check.RULE.name}.md) | {checks.summary(check)} |"
            for check in checks.CHECKS
            if check.RULE.id.startswith(digits)
        ]
    return "\n".join(lines) + "\n"


def schema_table() -> str:
    """Every key of the JSON document, with its type and, where the schema has one, its description."""
    schema = json.loads(SCHEMA.read_text(encoding="utf-8"))
    rows = [f"| `{path}` | {kind} | {told} |" for path, kind, told in _keys(schema, schema, "")]
    return "\n".join(["| key | type | |", "|---|---|---|", *rows])


def _keys(part: Mapping[str, Any], schema: Mapping[str, Any], path: str) -> Iterator[tuple[str, str, str]]:
    for name, value in _resolved(part, schema).get("properties", {}).items():
        key, told = f"{path}{name}", _resolved(value, schema)
        yield key, _type(told, schema), str(told.get("description", ""))
        for each in (told, *told.get("anyOf", ())):
            yield from _keys(each, schema, f"{key}.")
            if "items" in _resolved(each, schema):
                yield from _keys(_resolved(each, schema)["items"], schema, f"{key}[].")


def _resolved(part: Mapping[str, Any], schema: Mapping[str, Any]) -> Mapping[str, Any]:
    target: Any = schema
    if "$ref" not in part:
        return part
    for step in part["$ref"].removeprefix("#/").split("/"):
        target = target[step]
    return dict(target)


def _type(told: Mapping[str, Any], schema: Mapping[str, Any]) -> str:
    if "const" in told:
        return f"`{json.dumps(told['const'])}`"
    if "enum" in told:
        return ", ".join(f"`{json.dumps(value, ensure_ascii=False)}`" for value in told["enum"])
    if "anyOf" in told:
        return " or ".join(_type(_resolved(each, schema), schema) for each in told["anyOf"])
    kind = told.get("type", "any")
    if kind == "array":
        return f"array of {_type(_resolved(told['items'], schema), schema)}" if "items" in told else "array"
    return kind if isinstance(kind, str) else " or ".join(kind)


def _with_rules(part: Any) -> Any:
    """The navigation below one entry, the index of the rules with a line for each."""
    if isinstance(part, str):
        return part
    ((title, inner),) = part.items()
    if inner == "rules/index.md":
        lines = ({f"{check.RULE.id} {check.RULE.name}": f"rules/{check.RULE.name}.md"} for check in checks.CHECKS)
        return {title: [inner, *lines]}
    return part if isinstance(inner, str) else {title: [_with_rules(each) for each in inner]}


def _files(nav: Any) -> Iterator[str]:
    if isinstance(nav, str):
        yield nav
        return
    for each in nav.values() if isinstance(nav, dict) else nav:
        yield from _files(each)
