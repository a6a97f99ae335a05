"""`ln-audit policy` through both entrances: exit 0 for a policy that is right, 2 for any other; and no document is a bug of ours."""

import json
import tomllib

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ln_audit import cli
from ln_audit.lock.writing import string
from ln_audit.policy.keys import POLICY, TARGET, WAIVER
from tests.policy.test_lines import PIECES, documents
from tests.policy.test_reading import COMMIT, DIGEST, WHOLE
from tests.shared import ROOT
from tests.test_cli import ENTRANCES, SCRIPT, run


@ENTRANCES
def test_a_policy_that_is_right_and_one_that_is_not(entrance, tmp_path):
    (tmp_path / "ln-audit.toml").write_text('targets = ["sample"]\nstrict = true\n')
    made = run(*entrance, "policy", "check", cwd=tmp_path)
    assert (made.returncode, made.stderr) == (0, "")
    assert made.stdout.partition(",")[0] == "OK  ln-audit.toml"
    (tmp_path / "ln-audit.toml").write_text('targets = ["sample"]\n\nstrikt = true\n')
    made = run(*entrance, "policy", "check", cwd=tmp_path)
    assert (made.returncode, made.stdout) == (2, "")
    assert made.stderr.startswith("ln-audit: ln-audit.toml:3: strikt: expected one of before_rounded, digests, ")
    assert made.stderr.endswith(", found 'strikt'\n  → did you mean strict?\n")
    made = run(*entrance, "policy", "check", "none.toml", cwd=tmp_path)
    assert (made.returncode, made.stderr) == (
        2,
        "ln-audit: none.toml: expected a file, found none that can be read\n",
    )


def test_the_schema_is_printed_as_it_ships():
    made = run(*SCRIPT, "policy", "schema")
    assert made.returncode == 0
    assert made.stdout == (ROOT / "ln_audit" / "policy" / "policy.schema.json").read_text()
    assert json.loads(made.stdout)["title"] == "ln-audit.toml"


@pytest.mark.parametrize(
    "args", [["policy"], ["policy", "nonsense"], ["policy", "check", "a", "b"], ["policy", "check", "--x"]]
)
def test_another_call_is_exit_2(args):
    assert run(*SCRIPT, *args).returncode == 2


def test_help_names_both():
    made = run(*SCRIPT, "policy", "--help")
    assert (made.returncode, " check " in made.stdout, " schema " in made.stdout) == (0, True, True)


@pytest.fixture(scope="module")
def policy_file(tmp_path_factory):
    return tmp_path_factory.mktemp("policy") / "ln-audit.toml"


def checked(path, text: str) -> int:
    path.write_text(text, encoding="utf-8", newline="")
    return cli.main(["policy", "check", str(path)])


def unknown(text: str) -> bool:
    """Whether a policy has a key at its top that is none, or no key at all."""
    keys = set(tomllib.loads(text))
    return not keys or bool(keys - set(POLICY))


FUZZ = settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@FUZZ
@given(written=documents())
def test_no_document_is_a_bug_of_ours_and_an_unknown_key_is_never_right(policy_file, written):
    assert checked(policy_file, written.text) == (2 if unknown(written.text) else 0)


@FUZZ
@given(text=st.lists(st.sampled_from([*PIECES, *POLICY, "\0", "\ufeff", "é"]), max_size=12).map("".join))
def test_nor_is_any_text(policy_file, text):
    code = checked(policy_file, text)
    try:
        assert code == 2 if unknown(text) else code in (0, 2)
    except ValueError:
        assert code == 2


ITEMS = st.sampled_from(
    ["1", "true", "''", "'sample'", "'a/b@c'", "'hf://a/../b'", "'\\'", '"\\u0000"', "'https://[x'", "'~'", "'/'", "[]", "{}",
     "[[]]", "[{}]", "[1, 'a']", "2027-01-31", "07:32:00", "nan", "-inf", f"'{DIGEST}'", f"['{COMMIT}']", "'pinned'", "'all'",
     "['all']", "'LN102'", "{ a = 1 }", "{ values = { x = 1 } }", "'none.toml'", "9" * 500, string("\U0001f600\u202e"), "['gpt2']"]
)  # fmt: skip


@FUZZ
@given(
    general=st.dictionaries(st.sampled_from([*POLICY, "x"]), ITEMS, max_size=3),
    target=st.dictionaries(st.sampled_from([*TARGET, "x"]), ITEMS, max_size=4),
    waiver=st.dictionaries(st.sampled_from([*WAIVER, "x"]), ITEMS, max_size=4),
    family=st.dictionaries(
        st.sampled_from(["norm", "sizes", "name", "epsilon", "part", "tied", "prefixes", "x"]), ITEMS
    ),
)
def test_nor_are_values_of_any_type_under_the_known_keys(policy_file, general, target, waiver, family):
    tables = {"[[target]]": target, "[[waiver]]": waiver, "[family.x]": family}
    rows = [f"{key} = {item}" for key, item in general.items()]
    rows += [
        line for name, table in tables.items() if table for line in (name, *(f"{k} = {v}" for k, v in table.items()))
    ]
    code = checked(policy_file, "\n".join(rows))
    assert code in (0, 2)
    if "x" in {*general, *target, *waiver, *family}:
        assert code == 2


NAMED = ('family = "own.toml"', 'config = "config.json"', 'lock = "a.lock"')  # files that are not there
ROWS = [row for row in WHOLE.splitlines() if row not in NAMED]


@pytest.mark.parametrize("line", range(1, len(ROWS) + 1))
def test_an_unknown_key_after_any_line_of_a_whole_policy_is_told_with_its_line(tmp_path, capsys, line):
    rows = [*ROWS[:line], "unknown = 1", *ROWS[line:]]
    assert checked(tmp_path / "p.toml", "\n".join(rows)) == 2
    told = capsys.readouterr().err
    assert f"p.toml:{line + 1}: " in told
    assert "unknown: expected " in told or "found 'unknown'" in told


def test_that_policy_is_right_without_it(tmp_path):
    assert checked(tmp_path / "p.toml", "\n".join(ROWS)) == 0
