"""The policy is the file that the call names, or that of the working directory; what would be ignored is refused."""

import hashlib
import sys

import pytest

from ln_audit.errors import UsageError
from ln_audit.policy.found import find, read
from tests.test_cli import run


@pytest.mark.parametrize(
    "content",
    [
        "[tool.ln-audit]\nstrikt = true\n",
        "[tool.ln-audit.gate]\n",
        "[ tool . ln-audit ]\nstrikt = true\n",
        '[tool."ln-audit"]\nstrikt = true\n',
        "tool.ln-audit.strikt = true\n",
        "tool = { ln-audit = { strikt = true } }\n",
        '[tool."ln\\u002daudit"]\nstrikt = true\n',
        '[tool."ln\\U0000002daudit"]\nstrikt = true\n',
        "[tool.ln-audit\n",
        "[tool]\nln-audit = 3\n",
        "tool.ln-audit = []\n",
        "[[tool]]\n[tool.ln-audit]\nstrict = true\n",
        "[tool.ln_audit]\nstrict = true\n",
        "[tool.LN-Audit]\nstrict = true\n",
        "[ln-audit]\nstrict = true\n",
        "[tool.ruff]\n[ln_audit]\nstrict = true\n",
        "[Tool.ln-audit]\nstrict = true\n",
        "[tools.ln-audit]\nstrict = true\n",
        "[tool.lnaudit]\nstrict = true\n",
        '[tool."ln-audit "]\nstrict = true\n',
        '[" tool"."ln audit"]\nstrict = true\n',
        "[project.tool.ln-audit]\nstrict = true\n",
        "[tool.tool.ln-audit]\nstrict = true\n",
    ],
)
def test_a_policy_that_would_be_ignored_is_refused_however_it_is_spelt(tmp_path, content):
    (tmp_path / "pyproject.toml").write_text(content)
    with pytest.raises(UsageError, match="^pyproject.toml:"):
        read(str(tmp_path))


def test_a_policy_file_is_refused_as_a_dangling_link_or_a_folder(tmp_path):
    (tmp_path / "ln-audit.toml").symlink_to("nowhere")
    with pytest.raises(UsageError, match="ln-audit.toml: expected a file, found none that can be read"):
        read(str(tmp_path))
    (tmp_path / "ln-audit.toml").unlink()
    (tmp_path / "ln-audit.toml").mkdir()
    with pytest.raises(UsageError, match="ln-audit.toml: expected a file, found none that can be read"):
        read(str(tmp_path))


@pytest.mark.parametrize(
    "content",
    [
        "[tool.ruff]\n",
        "[project]\nname = 'ln-audit'\n",
        "# [tool.ln-audit]\n",
        "tool = 3 # ln-audit",
        "[[tool]]\nx = 3 # ln-audit",
        "[project.scripts]\nln-audit = 'x'\n[tool.poetry.dependencies]\nln-audit = '1'\n[tools]\nx = 'ln-audit'\n",
        "[dependency-groups]\nln-audit = ['ln-audit']\n[tool.uv.sources]\nln-audit = {}\n",
    ],
)
def test_another_projects_pyproject_is_no_policy(tmp_path, content):
    (tmp_path / "pyproject.toml").write_text(content)
    assert read(str(tmp_path)) is None
    assert read(str(tmp_path / "nowhere")) is None


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-8-sig"])
@pytest.mark.parametrize("name", ["pyproject.toml", "ln-audit.toml"])
def test_a_policy_in_another_encoding_is_refused(tmp_path, name, encoding):
    table = "[tool.ln-audit]\n" if name == "pyproject.toml" else ""
    (tmp_path / name).write_bytes(f"{table}strict = true\n".encode(encoding))
    with pytest.raises(UsageError, match=f"{name}: expected TOML that can be read for a policy, found: ") as caught:
        read(str(tmp_path))
    assert caught.value.hint == ("" if encoding == "utf-8-sig" else "save it as UTF-8")


def test_a_pyproject_in_another_encoding_that_does_not_name_it_is_nobodys_policy(tmp_path):
    (tmp_path / "pyproject.toml").write_bytes("[tool.ruff]\n".encode("utf-16"))
    assert read(str(tmp_path)) is None


@pytest.mark.parametrize("empty", ["", "# nothing\n\n"])
@pytest.mark.parametrize("other", ["[tool.ln-audit]\nstrict = true\n", "[tool.ln-audit\n", "[tool.ln_audit]\n"])
def test_an_empty_file_takes_the_place_of_no_other_policy(tmp_path, empty, other):
    (tmp_path / "ln-audit.toml").write_text(empty)
    assert read(str(tmp_path)) is not None
    (tmp_path / "pyproject.toml").write_text("[tool.ruff]\n# ln-audit\n")
    assert read(str(tmp_path)) is not None
    (tmp_path / "pyproject.toml").write_text(other)
    with pytest.raises(UsageError, match="ln-audit.toml: expected a policy, found no key in it, and ") as caught:
        read(str(tmp_path))
    assert caught.value.hint == "delete one of them"


def test_a_policy_that_another_goes_before_is_named(tmp_path):
    (tmp_path / "ln-audit.toml").write_text("strict = true\n")
    alone = read(str(tmp_path))
    (tmp_path / "pyproject.toml").write_text("[tool.ln-audit]\nstrict = true\n")
    both = read(str(tmp_path))
    assert alone is not None
    assert both is not None
    told = "[tool.ln-audit] of pyproject.toml: not read: ln-audit.toml goes before it"
    assert (alone.unread(), both.unread()) == ((), (told,))


def test_its_own_file_is_taken_before_pyproject_and_the_named_one_before_both(tmp_path):
    (tmp_path / "pyproject.toml").write_text("[tool.ln-audit]\n")
    first = find(str(tmp_path))
    (tmp_path / "ln-audit.toml").write_text("strict = true\n")
    second = find(str(tmp_path))
    (tmp_path / "ci").mkdir()
    (tmp_path / "ci" / "gate.toml").write_text("strict = false\n")
    third = find(str(tmp_path), str(tmp_path / "ci" / "gate.toml"))
    assert first is not None
    assert second is not None
    assert third is not None
    assert [(each.path, each.folder, each.root, each.table) for each in (first, second, third)] == [
        ("pyproject.toml", "", ("tool", "ln-audit"), {}),
        ("ln-audit.toml", "", (), {"strict": True}),
        (str(tmp_path / "ci" / "gate.toml"), str(tmp_path / "ci"), (), {"strict": False}),
    ]


def test_its_digest_is_that_of_its_bytes(tmp_path):
    (tmp_path / "pyproject.toml").write_bytes(b"[tool.ln-audit]\r\n# \xc3\xa4\n")
    found = read(str(tmp_path))
    assert found is not None
    assert (found.path, found.sha256) == (
        "pyproject.toml",
        hashlib.sha256(b"[tool.ln-audit]\r\n# \xc3\xa4\n").hexdigest(),
    )


@pytest.mark.parametrize("name", ["none.toml", "", ".", "a\0b", "x" * 5_000])
def test_a_policy_that_the_call_names_must_be_there(tmp_path, name, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError, match="expected a file, found none that can be read"):
        read(".", name)


def test_a_pyproject_that_the_call_names_must_hold_one(tmp_path):
    (tmp_path / "pyproject.toml").write_text("[tool.ruff]\n")
    with pytest.raises(UsageError, match=r"pyproject.toml: expected a table \[tool.ln-audit\], found none"):
        read(".", str(tmp_path / "pyproject.toml"))


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"strict = true\nstrict", "Expected '=' after a key in a key/value pair \\(at end of document\\)"),
        (b"a = 1\nb = [\n\nc", "Invalid value \\(at line 4, column 1\\)"),
        (b"a = '\xff'", "'utf-8' codec can't decode byte 0xff"),
        (b"a." * 30_000 + b"a = 1", "expected keys of at most 17 words"),
        (b"a = " + b"[" * 9_000, "expected a few levels of nesting, found hundreds"),
        (b"a = 2026-02-30", "Invalid date or datetime \\(at line 1, column 5\\)"),
    ],
)
def test_what_is_no_toml_is_refused(tmp_path, data, message):
    (tmp_path / "ln-audit.toml").write_bytes(data)
    with pytest.raises(
        UsageError, match=f"ln-audit.toml: expected TOML that can be read for a policy, found: {message}"
    ):
        read(str(tmp_path))


def test_ten_megabytes_are_enough(tmp_path):
    (tmp_path / "ln-audit.toml").write_bytes(b"#" * 10_000_001)
    with pytest.raises(UsageError, match="ln-audit.toml: expected at most 10,000,000 bytes, found more"):
        read(str(tmp_path))


def test_where_there_is_none_nothing_that_reads_one_is_imported(tmp_path):
    code = (
        "import sys; from ln_audit import cli; code = cli.main(['verify', 'sample', '--quiet']);"
        "print(code, sorted(name for name in sys.modules if name.startswith('ln_audit.policy.')), file=sys.stderr)"
    )
    made = run(sys.executable, "-c", code, cwd=tmp_path)
    assert made.stderr == "0 ['ln_audit.policy.applying', 'ln_audit.policy.found']\n"


@pytest.mark.parametrize(
    "name", ["ln_audit.toml", "LN-AUDIT.toml", ".ln-audit.toml", "lnaudit.toml", "Ln_Audit.Toml", "ln audit.toml"]
)
def test_a_policy_file_of_nearly_the_right_name_is_refused_with_the_right_one(tmp_path, name):
    (tmp_path / "pyproject.toml").write_text("[tool.ln-audit]\nstrict = true\n")
    (tmp_path / name).write_text("strict = true\n")
    with pytest.raises(UsageError) as caught:
        read(str(tmp_path))
    told = f"{name}: expected a policy to be called ln-audit.toml, found it called otherwise, which nothing reads"
    assert (caught.value.message, caught.value.hint) == (told, f"rename it, or name it: --policy {name}")
    named = read(str(tmp_path), str(tmp_path / name))
    assert named is not None
    assert named.rules.strict
    (tmp_path / "ln-audit.toml").write_text("strict = true\n")
    own = find(str(tmp_path))
    assert own is not None
    assert own.path == "ln-audit.toml"


def test_files_that_only_begin_or_end_like_it_are_nobodys_policy(tmp_path):
    for name in ("ln-audit.toml.bak", "my-ln-audit.toml", "ln-audit.lock", "ln-audit.yaml", "audit.toml"):
        (tmp_path / name).write_text("strict = true\n")
    assert read(str(tmp_path)) is None


@pytest.mark.parametrize(
    ("name", "content"), [("p.toml", ""), ("p.toml", "# x\n"), ("pyproject.toml", "[tool.ln-audit]\n")]
)
def test_a_policy_that_is_named_and_asks_for_nothing_is_refused(tmp_path, name, content):
    (tmp_path / name).write_text(content)
    with pytest.raises(UsageError, match=f"{name}: expected a policy, found no key in it"):
        read(".", str(tmp_path / name))
