"""The rules of the house, held by machine: layers, registries, documents, sizes, one broad except."""

import ast
import inspect
import json
import re
from pathlib import Path

import pytest

import ln_audit
from ln_audit import checks, formats, reports, sources

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "ln_audit"
MODULES = sorted(PACKAGE.rglob("*.py"))

# Low to high. A module imports its own layer and lower ones only.
LAYERS = [
    {"ln_audit", "core", "comparison", "errors", "result", "demand", "printable", "same_norm", "pictures"},
    {"numerics"},
    {"sources"},
    {"formats"},
    {"arguments"},
    {"families"},
    {"recording"},
    {"diagnosis"},
    {"resolving_power"},
    {"against"},
    {"lock"},
    {"checks", "testing", "formulas"},
    {"agreement", "policy", "waivers", "account"},
    {"examination"},
    {"twin"},
    {"audit"},
    {"worked_token", "reports", "record"},
    {"trace", "locking", "call"},
    {"terminal", "destination"},
    {"explain", "catalogue", "output", "options", "library", "completion"},
    {"policy_commands", "in_process"},
    {"saving", "norm_recording"},
    {"pytest_plugin"},
    {"cli", "trainer"},
    {"__main__", "hooks"},
]


def test_every_folder_has_its_question_in_the_guide():
    guide = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    folders = {path.parent.name for path in PACKAGE.glob("*/__init__.py")}
    assert folders == {
        line.split("`")[1].rstrip("/") for line in guide.splitlines() if line.startswith("| `") and "/` |" in line
    }


def layer_of(module: str) -> int:
    part = module.removeprefix("ln_audit").lstrip(".").split(".")[0] or "ln_audit"
    if not (PACKAGE / part).is_dir() and not (PACKAGE / f"{part}.py").is_file():
        part = "ln_audit"  # a name of the package itself
    return next(i for i, names in enumerate(LAYERS) if part in names)


def name_of(path: Path) -> str:
    parts = list(path.relative_to(ROOT).with_suffix("").parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def run_time_imports(path: Path) -> set[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    typing_only = {
        id(node)
        for block in ast.walk(tree)
        if isinstance(block, ast.If) and "TYPE_CHECKING" in ast.unparse(block.test)
        for node in ast.walk(block)
    }
    found: set[str] = set()
    for node in ast.walk(tree):
        if id(node) in typing_only:
            continue
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            found.update(f"{node.module}.{alias.name}" for alias in node.names)
    return {name for name in found if name.split(".")[0] == "ln_audit"}


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_imports_only_point_down(path):
    here = layer_of(name_of(path))
    upward = {name for name in run_time_imports(path) if layer_of(name) > here}
    assert upward == set()


@pytest.mark.parametrize(
    "folder",
    [
        "sources",
        "formats",
        "families",
        "recording",
        "diagnosis",
        "resolving_power",
        "checks",
        "policy",
        "reports",
        "numerics",
        "agreement",
        "trace",
        "lock",
        "against",
        "record",
        "hooks",
    ],
)
def test_no_module_imports_from_its_own_packages_init(folder):
    names = {path.stem for path in (PACKAGE / folder).iterdir()}  # modules, and folders of them
    for path in (PACKAGE / folder).glob("*.py"):
        if path.stem == "__init__":
            continue
        for name in run_time_imports(path):
            if name.startswith(f"ln_audit.{folder}."):
                assert name.split(".")[2] in names, f"{path.name} imports {name} from its own package"


def registered(folder: str, table) -> None:
    """Every module of a registry's folder that has what the registry asks for is in it, and nothing else."""
    assert all(inspect.ismodule(module) for module in table)
    assert {Path(module.__file__).parent.name for module in table} == {folder}


def test_every_check_is_registered_once_and_in_order():
    registered("checks", checks.CHECKS)
    files = {path.stem for path in (PACKAGE / "checks").glob("*.py")} - {"__init__", "subject"}
    assert {check.__name__.rpartition(".")[2] for check in checks.CHECKS} == files
    assert len({check.RULE.id for check in checks.CHECKS}) == len(checks.CHECKS)
    for check in checks.CHECKS:
        assert check.__name__.rpartition(".")[2].replace("_", "-") == check.RULE.name


def test_other_registries_hold_their_folders():
    registered("reports", [each.module for each in reports.REPORTS])
    assert all(each.module.NAME == each.NAME for each in reports.REPORTS)
    registered("sources", [sources.module(each) for each in sources.SOURCES])
    registered("formats", [each.reader for each in formats.FORMATS])
    for each in formats.FORMATS:
        assert (each.reader.NAME, each.reader.SUFFIXES[0][-4:]) == (each.NAME, each.SUFFIXES[0][-4:])


# What the first published rules mean; an id or a name that changes here is an error, not an update.
RULES = {
    "LN001": "missing-norm", "LN002": "wrong-shape", "LN003": "unexpected-norm", "LN004": "wrong-name",
    "LN005": "parameter-count", "LN006": "shard-index", "LN007": "stored-dtype", "LN008": "wrong-epsilon",
    "LN009": "wrong-convention", "LN101": "not-finite", "LN102": "zero-gain", "LN103": "untrained",
    "LN104": "lone-outlier", "LN105": "duplicate-norm", "LN106": "unusual-offset",
    "LN107": "known-values", "LN201": "off-reference", "LN202": "resolving-power", "LN203": "other-weights", "LN301": "differs-from-source",
    "LN302": "lock-mismatch", "LN303": "expired-waiver", "LN304": "not-allowed", "LN305": "digest-mismatch",
}  # fmt: skip


def test_rule_ids_and_names_never_change():
    assert {check.RULE.id: check.RULE.name for check in checks.CHECKS} == RULES


@pytest.mark.parametrize("check", checks.CHECKS, ids=lambda check: check.RULE.name)
def test_every_rule_is_its_own_document(check):
    document = inspect.cleandoc(check.__doc__ or "")
    assert document.split("\n")[0].endswith(".")
    for heading in ("What it does: ", "Why it matters: ", "Example: ", "How to mend: "):
        assert re.search(rf"^{heading}", document, re.MULTILINE), heading


@pytest.mark.parametrize("check", checks.CHECKS, ids=lambda check: check.RULE.name)
def test_every_rule_has_a_bad_fixture_in_which_it_speaks(check):
    if check.RULE.id == "LN107":
        pytest.skip("its published values are not ours to ship; tests/checks/test_known_values.py makes its own")
    folders = list((ROOT / "fixtures" / "bad").glob(f"{check.RULE.id}-{check.RULE.name}*"))
    spoken = [f for folder in folders for f in json.loads((folder / "expected.json").read_text())["findings"]]
    assert any(finding.startswith(check.RULE.id) for finding in spoken)


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_files_and_functions_stay_small(path):
    text = path.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 300
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef):
            assert (node.end_lineno or 0) - node.lineno + 1 <= 50, node.name


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_every_module_says_what_it_is_for_and_asserts_nothing(path):
    tree = ast.parse(path.read_text(encoding="utf-8"))
    assert ast.get_docstring(tree)
    assert not any(isinstance(node, ast.Assert) for node in ast.walk(tree))


def test_one_broad_except_at_the_boundary():
    broad = []
    for path in MODULES:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ExceptHandler):
                caught = "" if node.type is None else ast.unparse(node.type)
                if caught in ("", "Exception", "BaseException"):
                    broad.append(path.name)
    assert broad == ["cli.py"]


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_the_library_returns_and_only_the_command_line_prints(path):
    if path.name in ("cli.py", "output.py", "__main__.py"):
        pytest.skip("the command line")
    calls = [
        ast.unparse(n.func) for n in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(n, ast.Call)
    ]
    assert not {"print", "exit", "sys.exit", "sys.stdout.write", "sys.stderr.write", "typer.echo"} & set(calls)


def test_every_module_has_a_test_of_its_own_name():
    tests = {path.stem.removeprefix("test_") for path in (ROOT / "tests").rglob("test_*.py")}
    modules = {path.stem.strip("_") for path in MODULES if path.stem != "__init__"}
    assert sorted(modules - tests) == []


def test_public_names_have_docstrings():
    missing = []
    for path in MODULES:
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.FunctionDef | ast.ClassDef) and not node.name.startswith("_"):
                if ast.get_docstring(node) is None:
                    missing.append(f"{name_of(path)}.{node.name}")
    assert missing == []


def test_the_changelog_knows_this_version():
    released = re.findall(r"^## (\d\S*)", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert released[0] == ln_audit.__version__


@pytest.mark.parametrize("script", ["index_families.py", "policy_schema.py"])
def test_what_a_script_writes_is_up_to_date(script):
    import subprocess
    import sys

    run = subprocess.run(
        [sys.executable, f"scripts/{script}", "--check"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (run.returncode, run.stderr) == (0, "")


def test_every_target_of_the_makefile_is_there_once():
    text = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = re.findall(r"^([a-z-]+):(?!=)", text, re.MULTILINE)
    listed = re.search(r"^\.PHONY: (.*)$", text, re.MULTILINE)
    assert listed is not None
    assert sorted(targets) == sorted(listed[1].split())
