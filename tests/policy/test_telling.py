"""`policy check` says in words what a policy asks for, and warns of what never applies."""

import hashlib

import pytest

from ln_audit.errors import UsageError
from ln_audit.policy.telling import told
from tests.policy.test_reading import ACME, COMMIT, DIGEST
from tests.shared import FIXTURES

POLICY = f"""\
targets = ["sample", "https://user:SECRET@host/m.gguf?sig=SECRET"]
families = ["gpt2"]
revisions = "pinned"
require = ["all", "LN202"]
strict = true
values = "all"
output_dtype = "bfloat16"
before_rounded = "float16"
[digests]
values = {{ "ln_f.gain" = "{DIGEST}" }}
files = {{ "config.json" = "{DIGEST}" }}

[[target]]
target = "org/name"
revision = "{COMMIT}"
revisions = ["{COMMIT}"]
against = "base"
expect = "derived"
recordings = ["run.safetensors"]
norm = "ln_f"
family = "gpt2"
[[target]]
target = "org/other@main"
revisions = "pinned"
[[target]]
target = "./local"
revisions = ["{COMMIT}"]
[[target]]
target = "hf://a/b/../c"

[[waiver]]
rule = "LN102"
norm = "ln_f"
reason = "pruned"
until = 9999-12-31
[[waiver]]
rule = "LN101"
norm = "h.{{layer}}.ln_1"
reason = "old"
until = 2020-01-31

{ACME}"""


def test_everything_that_it_asks_for_is_said(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "ln-audit.toml").write_text(POLICY)
    assert told(".", None).splitlines() == [
        f"OK, 7 warnings  ln-audit.toml, SHA-256 {hashlib.sha256(POLICY.encode()).hexdigest()}",
        "  families: only gpt2",
        "  revisions: a model on the Hub must be given by its commit",
        "  required: all, resolving-power: where one is skipped, the verdict is incomplete",
        "  strict: warnings fail",
        "  values: those of all norms are read",
        "  recordings hold results stored in bfloat16",
        "  recordings hold inputs rounded to float16",
        "  digests of parameters: ln_f.gain",
        "  digests of files: config.json",
        "  families of its own: acme",
        "  waiver: zero-gain of ln_f until 9999-12-31: pruned",
        "  waiver: not-finite of h.{layer}.ln_1 until 2020-01-31: old",
        "  targets: 6",
        "    sample (the model that ships with ln-audit)",
        "    https://host/m.gguf (a file on a web server)",
        f"    org/name (a model on the Hub, pinned to commit {COMMIT[:12]})",
        f"      revision: {COMMIT}",
        "      held to the norms of: base (a model on the Hub, not pinned to a commit)",
        "      as a model trained further: yes",
        "      held to the family: gpt2",
        "      norm of its recordings: ln_f",
        f"      revisions: only {COMMIT}",
        "      recordings: run.safetensors",
        "    org/other@main (a model on the Hub at main, not pinned to a commit)",
        "      revisions: it must be given by its commit",
        "    ./local (a path on this machine)",
        f"      revisions: only {COMMIT}",
        "    hf://a/b/../c (a model on the Hub)",
        "warnings:",
        "  ! waiver of not-finite for h.{layer}.ln_1: over since 2020-01-31: it waives nothing and fails (LN303)",
        "  ! family.acme: described, and not among the allowed `families`",
        "  ! org/name: recordings: no file run.safetensors is there now",
        "  ! org/other@main: revisions: it is given by main, not by its commit: it will fail (LN304)",
        "  ! ./local: taken for a path on this machine; nothing is there now: the working directory holds ln-audit.toml",
        "  ! ./local: revisions: this is no model on the Hub and has no commit: it will fail (LN304)",
        "  ! hf://a/b/../c: hf://a/b/../c: expected a file name inside the folder, found '../c'",
    ]


@pytest.mark.parametrize("text", ["", "targets = []\n", "strict = true\n"])
def test_a_policy_without_targets_is_warned_of(tmp_path, text):
    (tmp_path / "ln-audit.toml").write_text(text)
    assert told(str(tmp_path), None).splitlines()[-2:] == [
        "warnings:",
        "  ! no targets: `ln-audit verify` without a target is a usage error, never a pass",
    ]


def test_a_mistyped_folder_that_became_a_model_on_the_hub_is_warned_of(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "gemma").mkdir()
    (tmp_path / "ln-audit.toml").write_text('[[target]]\ntarget = "gema"\nagainst = "gemna"\n')
    assert told(".", None).splitlines()[1:] == [
        "  targets: 1",
        "    gema (a model on the Hub, not pinned to a commit)",
        "      held to the norms of: gemna (a model on the Hub, not pinned to a commit)",
        "warnings:",
        "  ! gema: taken for a model on the Hub, not pinned to a commit; no such path on this machine: did you mean gemma?",
        "  ! gema: against: gemna taken for a model on the Hub, not pinned to a commit; no such path on this machine: did you mean gemma?",
    ]


def test_a_policy_in_order_has_no_warnings(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    lock = FIXTURES / "good" / "gpt2-locked" / "ln-audit.lock"
    config = FIXTURES / "good" / "gpt2-locked" / "config.json"
    (tmp_path / "gate.toml").write_text(f'[[target]]\ntarget = "sample"\nlock = "{lock}"\nconfig = "{config}"\n')
    assert told(".", "gate.toml").splitlines()[1:] == [
        "  targets: 1",
        "    sample (the model that ships with ln-audit)",
        f"      held to the lock: {lock}",
        f"      config: {config}",
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('[[target]]\ntarget = "a"\nlock = "none.lock"\n', "none.lock: expected a lockfile that can be read, found: "),
        (
            '[[target]]\ntarget = "a"\nconfig = "none"\n',
            "ln-audit.toml: config of a: expected a file, found none at none",
        ),
        ('[[target]]\ntarget = "a"\nfamily = "gtp2"\n', "family 'gtp2': expected one of "),
        ('[[target]]\ntarget = "a"\nfamily = "none.toml"\n', "--family none.toml: expected a family table, found "),
        ("strikt = true\n", "ln-audit.toml:1: strikt: expected one of "),
    ],
)
def test_what_verify_would_refuse_is_refused(tmp_path, monkeypatch, text, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "ln-audit.toml").write_text(text)
    with pytest.raises(UsageError) as caught:
        told(".", None)
    assert caught.value.message.startswith(message)


def test_no_policy_is_none_that_is_right(tmp_path):
    with pytest.raises(
        UsageError, match=r"policy: expected ln-audit.toml, or \[tool.ln-audit\] in pyproject.toml, found "
    ):
        told(str(tmp_path), None)


def test_names_in_it_are_shown_and_not_obeyed(tmp_path):
    (tmp_path / "ln-audit.toml").write_text('targets = ["a\\u202eb", "<script>", "::error::"]\n')
    lines = told(str(tmp_path), None).splitlines()[2:]
    said = " (nothing that is known, and no path on this machine)"
    assert lines[:3] == [f"    {name}{said}" for name in ("a\\u202eb", "<script>", "::error::")]
    assert lines[3] == "warnings:"
    assert all(line.isprintable() for line in lines)
