"""Every fixture is audited in its own folder, and its report is compared whole with the one that is expected of it."""

import json
import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest

ROOT = Path(__file__).resolve().parent.parent
FIXTURES = sorted(path.parent for path in (ROOT / "fixtures").rglob("expected.json"))
SCHEMA = json.loads((ROOT / "ln_audit" / "reports" / "report.schema.json").read_text())


@pytest.mark.parametrize("folder", FIXTURES, ids=lambda path: path.relative_to(ROOT / "fixtures").as_posix())
def test_a_fixture_is_judged_as_expected(folder, monkeypatch, capsys):
    from ln_audit import cli

    expected = json.loads((folder / "expected.json").read_text())
    monkeypatch.chdir(folder)
    code = cli.main(["verify", *expected["args"], "--format", "json"])
    out = capsys.readouterr().out
    document = json.loads(out)
    jsonschema.validate(document, SCHEMA)
    assert code == document["exit_code"] == expected["exit_code"]
    (report,) = document["reports"]
    found = [f"{f['rule']} {f['status']} {f['subject']}" for f in report["findings"] if f["status"] != "pass"]
    assert found == expected["findings"]
    for word in expected["says"]:
        assert word in out or json.dumps(word)[1:-1] in out
    assert report["error"] is None or document["exit_code"] == 3


def test_the_fixtures_are_what_their_script_builds(tmp_path):
    script = ROOT / "fixtures" / "build.py"
    copy = tmp_path / "build.py"
    copy.write_bytes(script.read_bytes())
    subprocess.run([sys.executable, str(copy)], check=True, timeout=120)
    built = {
        p.relative_to(tmp_path).as_posix(): p.read_bytes() for p in tmp_path.rglob("*") if p.is_file() and p != copy
    }
    kept = {
        p.relative_to(ROOT / "fixtures").as_posix(): p.read_bytes()
        for kind in ("good", "bad", "hostile")
        for p in (ROOT / "fixtures" / kind).rglob("*")
        if p.is_file()
    }
    assert sorted(built) == sorted(kept)
    assert {name for name in built if built[name] != kept[name]} == set()


def test_there_are_fixtures_of_all_three_kinds():
    assert {folder.relative_to(ROOT / "fixtures").parts[0] for folder in FIXTURES} == {"good", "bad", "hostile"}
