"""A policy becomes one frozen value, or one line that says where it is wrong."""

from datetime import UTC, date, datetime

import pytest

from ln_audit.demand import PolicyTarget, Rules, Waiver
from ln_audit.errors import UsageError
from ln_audit.policy.found import read
from ln_audit.policy.reading import spelt

DIGEST, COMMIT = "0123456789abcdef" * 4, "0123456789" * 4

ACME = """[family.acme]
model_types = ["acme"]
[family.acme.sizes.d]
[[family.acme.norm]]
name = "norm"
role = "final"
kind = "rms_norm"
shape = ["d"]
"""
WHOLE = f"""\
targets = ["sample", "model"]
families = ["gpt2", "acme"]
revisions = "pinned"
require = ["resolving-power"]
strict = true
values = "all"
output_dtype = "bfloat16"
before_rounded = "float16"

[digests.values]
"ln_f.weight" = "{DIGEST}"
[digests.files]
"config.json" = "{DIGEST}"

[[target]]
target = "org/name"
revision = "{COMMIT}"
revisions = ["{COMMIT}"]
against = "base"
expect = "derived"
lock = "a.lock"
recordings = ["run.safetensors"]
norm = "ln_f"
family = "own.toml"
config = "config.json"
values = "all"
output_dtype = "float32"
before_rounded = "bfloat16"
require = ["all"]
strict = true
digests.values = {{ "ln_f.gain" = "{DIGEST}" }}

[[target]]
target = "other"
revisions = "pinned"
family = "gpt2"

[[waiver]]
rule = "zero-gain"
norm = "ln_f"
reason = " pruned\\n"
until = 2027-01-31

{ACME}"""


def test_a_whole_policy_is_read(tmp_path):
    (tmp_path / "ln-audit.toml").write_text(WHOLE)
    found = read(str(tmp_path))
    assert found is not None
    assert found.rules == Rules(
        require=("LN202",), strict=True, families=("gpt2", "acme"), pinned=True, values="all", output_dtype="bfloat16",
        before_rounded="float16", value_digests={"ln_f.weight": DIGEST}, file_digests={"config.json": DIGEST},
    )  # fmt: skip
    own = Rules(
        require=("all",), strict=True, commits=(COMMIT,), value_digests={"ln_f.gain": DIGEST}, values="all",
        output_dtype="float32", before_rounded="bfloat16", norm="ln_f", family="own.toml", config="config.json",
        revision=COMMIT, against="base", expect="derived", lock="a.lock", recordings=("run.safetensors",),
    )  # fmt: skip
    assert found.targets == (
        PolicyTarget("sample"),
        PolicyTarget("model"),
        PolicyTarget("org/name", own),
        PolicyTarget("other", Rules(pinned=True, family="gpt2")),
    )
    assert found.waivers == (Waiver("LN102", "ln_f", "pruned", date(2027, 1, 31)),)
    assert [(name, family.name, family.model_types) for name, family in found.families.items()] == [
        ("acme", "acme", ("acme",))
    ]
    assert found.read_on in (datetime.now().astimezone().date(), datetime.now(UTC).date())


def test_its_paths_are_those_of_its_folder(tmp_path, monkeypatch):
    (tmp_path / "ci").mkdir()
    (tmp_path / "ci" / "gate.toml").write_text(
        '[[target]]\ntarget = "./m"\nagainst = "../b"\nlock = "l"\nrecordings = ["r"]\nconfig = "c"\nfamily = "f.toml"\n'
    )
    monkeypatch.chdir(tmp_path)
    found = read(".", "ci/gate.toml")
    assert found is not None
    assert found.targets == (
        PolicyTarget(
            "./ci/./m",
            Rules(against="./ci/../b", lock="ci/l", recordings=("ci/r",), config="ci/c", family="ci/f.toml"),
        ),
    )


def test_the_same_in_pyproject(tmp_path):
    (tmp_path / "pyproject.toml").write_text('[tool.ln-audit]\nstrict = true\n[[tool.ln-audit.target]]\ntarget = "a"\n')
    found = read(str(tmp_path))
    assert found is not None
    assert (found.rules, found.targets) == (Rules(strict=True), (PolicyTarget("a"),))


WAIVER = '[[waiver]]\nrule = "LN102"\nnorm = "ln_f"\nreason = "x"\nuntil = 2027-01-31\n'
FAMILY = '[family.acme]\n[family.acme.sizes.d]\n[[family.acme.norm]]\nname = "n"\nrole = "final"\nkind = "rms_norm"\nshape = ["d"]\n'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("strict = 'yes'\n", ":1: strict: expected true or false, found 'yes'"),
        ("# a\n\nstrikt = true\n", ":3: strikt: expected one of before_rounded, digests, "),
        ("strict = true\n[gate]\n", ":2: gate: expected one of "),
        ("family = 3\n", ":1: family: expected [family.NAME] tables, found 3"),
        ("strict = 0x" + "f" * 900, ":1: strict: expected true or false, found 510486651"),
        ("\n[digests.values]\nln_f.weight = 'x'\n", ":3: digests.values.ln_f: expected 64 hexadecimal digits in lower case, found {'weight': 'x'}"),
        ("[digests.values]\n'a.b' = 'x'\n", ':2: digests.values."a.b": expected 64 hexadecimal digits'),
        ("targets = [\n'a',\n3\n]\n", ":3: targets[1]: expected a string, found 3"),
        ("[[target]]\ntarget = 'a'\n[[target]]\nlock = 'b'\n", ":3: target[1].target: expected a value (what is verified, "),
        ("[[target]]\ntarget = 'a'\nexpect = 'same'\n", ":3: target[0].expect: expected against, which it belongs to, found no such key"),
        ("target = 3\n", ":1: target: expected [[target]] tables, found 3"),
        ("families = ['gpt2',\n 'gtp2']\n", ":2: families[1]: expected the name of a family, found 'gtp2'"),
        ("waiver = 3\n", ":1: waiver: expected [[waiver]] tables, found 3"),
        ("[[waiver]]\n", ":1: waiver[0].rule: expected a value (the rule's id or name), found no such key"),
        (WAIVER.replace("2027-01-31", "'2027-01-31'"), ":5: waiver[0].until: expected a date, found '2027-01-31'"),
        (WAIVER.replace("LN102", "LN303"), ":2: waiver[0].rule: expected a rule that can be waived, found 'LN303'"),
        (WAIVER + WAIVER + "layer = 1\n", ":11: waiver[1].layer: expected one of norm, reason, rule, until, found 'layer'"),
        ("[family.acme]\nname = 'other'\n", ":1: family.acme: expected a table of that name, found {'name': 'other'}"),
        ("[family.acme]\n", ":1: family.acme: norm: expected at least one [[norm]], found none"),
        ("[family.acme]\nnorms = 3\n", ":2: family.acme: norms: expected [[norm]], found 'norms'"),
        ("[family.acme]\nparts = 3\n", ":2: family.acme: parts: expected [[part]], found 'parts'"),
        (FAMILY.replace("sizes.d]", "sizes.d]\nkey = 'e'"), ":3: family.acme: sizes.d.key: expected no such key, found 'e'"),
        (FAMILY.replace("sizes.d]", "sizes.d]\nalias = 'e'"), ":3: family.acme: sizes.d: expected one of aliases, "),
        (FAMILY.replace("rms_norm", "norm"), ":6: family.acme: norm[0].kind: expected one of layer_norm, "),
        (FAMILY + "gian = 1\n", ":8: family.acme: norm[0]: expected one of beside, "),
        (FAMILY.replace("[family.acme]", "[family.acme]\nmodel_type = 'x'", 1), ":2: family.acme: family: expected one of architectures, "),
        (FAMILY.replace("[family.acme]", "[family.acme]\nprefixes = 'x'", 1), ":2: family.acme: family.prefixes: expected a list of strings, "),
        (FAMILY.replace('["d"]', '["e"]'), ":1: family.acme: norm n: expected a key of [sizes], found 'e'"),
        (FAMILY.replace("acme", '"a.c\\nme"').replace("rms_norm", "norm"), ':6: family."a.c\\nme": norm[0].kind: expected one of '),
    ],
)  # fmt: skip
def test_what_is_wrong_in_it_is_told_with_its_line_and_its_key(tmp_path, text, message):
    (tmp_path / "ln-audit.toml").write_text(text)
    with pytest.raises(UsageError) as caught:
        read(str(tmp_path))
    assert caught.value.message.startswith(f"ln-audit.toml{message}")
    assert "\n" not in caught.value.message


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("families = ['gptt2']", "did you mean gpt2?"),
        ("families = ['一']", "`ln-audit families` lists them"),
        ("families = ['xlm-roberta']", "did you mean camembert?"),
        ("require = ['missing-norms']", "did you mean missing-norm?"),
        ("require = ['']", "`ln-audit explain` lists them"),
        ("[digests.values]\nln_f.weight = 'x'", 'a name with dots stands in quotation marks: "ln_f.weight" = "…"'),
    ],
)
def test_and_with_the_way_out(tmp_path, text, hint):
    (tmp_path / "ln-audit.toml").write_text(text)
    with pytest.raises(UsageError) as caught:
        read(str(tmp_path))
    assert caught.value.hint == hint


def test_a_line_of_pyproject_is_that_of_the_whole_file(tmp_path):
    (tmp_path / "pyproject.toml").write_text("[project]\nname = 'x'\n\n[tool.ln-audit]\nstrikt = true\n")
    with pytest.raises(UsageError, match="^pyproject.toml:5: tool.ln-audit.strikt: expected one of "):
        read(str(tmp_path))
    (tmp_path / "pyproject.toml").write_text("[tool]\nln-audit = 3\n")
    with pytest.raises(UsageError, match="^pyproject.toml:2: tool.ln-audit: expected a table, found 3$"):
        read(str(tmp_path))


@pytest.mark.parametrize(
    ("path", "told"),
    [
        (("target", 0, "lock"), "target[0].lock"),
        (("a", "b.c", "ä"), 'a."b.c"."ä"'),
        (("x" * 70,), "x" * 60 + "…"),
        ((), ""),
    ],
)
def test_a_path_is_spelt_as_it_is_written(path, told):
    assert spelt(path).replace('"', "") == told.replace('"', "")
