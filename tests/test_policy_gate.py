"""A gate under a policy, as users meet it: both entrances, every verdict with its exit code, and nothing that weakens it."""

import hashlib
import json
import shutil

import jsonschema
import pytest

from tests.hub_simulator import HubSimulator
from tests.shared import FIXTURES
from tests.test_cli import ENTRANCES, SCHEMA, SCRIPT, run
from tests.test_verify_hub import run as on_hub

GOOD = FIXTURES / "good" / "gpt2-safetensors"
BAD = FIXTURES / "bad" / "LN101-not-finite"
HOSTILE = FIXTURES / "hostile" / "safetensors" / "empty"
NEMOTRON = FIXTURES / "good" / "nemotron-no-block-bias"  # passes with warnings
LOCK = FIXTURES / "good" / "gpt2-locked" / "ln-audit.lock"
NONE = "0" * 64


def gate(folder, text: str, *args: str, command: str = "verify", entrance=SCRIPT, **env: str):
    """One call under a policy; the exit code, the JSON document and standard error."""
    (folder / "ln-audit.toml").write_text(text)
    shape = ["--format", "json"] if command in ("verify", "report") else []
    made = run(*entrance, command, *args, *shape, cwd=folder, **env)
    document = json.loads(made.stdout) if shape else {}
    if shape:
        jsonschema.validate(document, SCHEMA)
        assert document["exit_code"] == made.returncode
    return made.returncode, document, made.stderr


def said(document: dict, rule: str) -> list[tuple[str, str, str]]:
    return [
        (f["status"], f["subject"], f["reason"] if f["status"] == "skip" else f["message"])
        for report in document["reports"]
        for f in report["findings"]
        if f["rule"] == rule
    ]


@ENTRANCES
@pytest.mark.parametrize(
    ("targets", "code"),
    [
        ([GOOD], 0),
        ([GOOD, "sample"], 0),
        ([GOOD, HOSTILE], 3),
        ([HOSTILE, BAD, GOOD], 1),
        (["./no/such/folder"], 3),
        ([], 2),
    ],
    ids=["pass", "two", "incomplete", "fail", "absent", "none"],
)
def test_its_targets_are_verified_and_the_worst_counts(entrance, targets, code, tmp_path):
    text = f"targets = {json.dumps([str(target) for target in targets])}\n"
    found, document, _ = gate(tmp_path, text, entrance=entrance)
    assert (found, [report["source"]["spec"] for report in document["reports"]]) == (code, [str(t) for t in targets])


@pytest.mark.parametrize("text", ["targets = []\n", "target = []\n", "strict = true\n", ""])
def test_without_a_target_in_it_or_in_the_call_there_is_no_pass(tmp_path, text):
    code, document, err = gate(tmp_path, text)
    assert (code, document["verdict"]) == (2, "error")
    assert err.endswith("found neither alone\n  → ln-audit.toml names no target either\n")


@ENTRANCES
def test_its_path_and_digest_stand_in_every_report(entrance, tmp_path):
    text = 'targets = ["sample"]\n'
    digest = hashlib.sha256(text.encode()).hexdigest()
    _, document, _ = gate(tmp_path, text, entrance=entrance)
    assert document["policy"] == {"path": "ln-audit.toml", "sha256": digest}
    told = run(*entrance, "verify", cwd=tmp_path)
    assert (told.returncode, f"policy: ln-audit.toml, SHA-256 {digest}" in told.stdout) == (0, True)
    (tmp_path / "ci").mkdir()
    (tmp_path / "ci" / "gate.toml").write_text("strict = false\n")
    named = json.loads(
        run(*entrance, "verify", "sample", "--policy", "ci/gate.toml", "--format", "json", cwd=tmp_path).stdout
    )
    assert named["policy"] == {"path": "ci/gate.toml", "sha256": hashlib.sha256(b"strict = false\n").hexdigest()}


@ENTRANCES
@pytest.mark.parametrize(
    ("text", "line"),
    [
        (
            "targets = ['sample']\n\n# gate\nstrikt = true\n",
            "ln-audit.toml:4: strikt: expected one of before_rounded, ",
        ),
        ("[[target]]\ntarget = 'sample'\nlok = 'x'\n", "ln-audit.toml:3: target[0].lok: expected one of against, "),
        ("strict = 1\n", "ln-audit.toml:1: strict: expected true or false, found 1\n"),
    ],
)
def test_what_is_wrong_in_it_is_exit_2_with_the_line(entrance, tmp_path, text, line):
    code, document, err = gate(tmp_path, text, "sample", entrance=entrance)
    assert (code, document["error"]["kind"], document["reports"]) == (2, "usage", [])
    assert err.startswith(f"ln-audit: {line}")


@ENTRANCES
@pytest.mark.parametrize(
    "args",
    [
        ["verify", "sample"],
        ["report", "sample"],
        ["lock", "sample", "-o", "-"],
        ["families"],
        ["trace", "run.safetensors"],
        ["record", "sample", "--random", "4", "-o", "r.safetensors"],
    ],
    ids=lambda args: args[0],
)
def test_a_policy_that_is_named_and_missing_is_exit_2_on_every_command(entrance, args, tmp_path):
    made = run(*entrance, *args, "--policy", "none.toml", cwd=tmp_path)
    assert (made.returncode, made.stderr) == (2, "ln-audit: none.toml: expected a file, found none that can be read\n")


def test_the_named_policy_is_read_and_the_one_of_the_folder_is_not(tmp_path):
    (tmp_path / "loose.toml").write_text("strict = false\n")
    assert gate(tmp_path, "strict = true\n", str(NEMOTRON))[0] == 1
    assert gate(tmp_path, "strict = true\n", str(NEMOTRON), "--policy", "loose.toml")[0] == 0
    assert gate(tmp_path, "strikt = true\n", str(NEMOTRON), "--policy", "loose.toml")[0] == 0


def test_a_policy_beside_the_target_is_not_read(tmp_path):
    shutil.copytree(GOOD, tmp_path / "model")
    (tmp_path / "model" / "ln-audit.toml").write_text("nonsense = true\n")
    (tmp_path / "model" / "pyproject.toml").write_text("[tool.ln-audit]\nnonsense = true\n")
    made = run(*SCRIPT, "verify", "model", "--format", "json", cwd=tmp_path)
    assert (made.returncode, json.loads(made.stdout)["policy"]) == (0, None)


def test_strict_fails_warnings_and_a_call_without_it_does_not_take_it_back(tmp_path):
    assert gate(tmp_path, "", str(NEMOTRON))[0] == 0
    code, document, _ = gate(tmp_path, "strict = true\n", str(NEMOTRON))
    reasons = [f["reason"] for f in document["reports"][0]["findings"] if f["status"] == "fail"]
    assert (code, {reason.rpartition("; ")[2] for reason in reasons}) == (
        1,
        {"a warning, failed by strict in ln-audit.toml"},
    )
    assert gate(tmp_path, "strict = false\n", str(NEMOTRON), "--strict")[0] == 1


def test_required_rules_of_policy_and_call_add_up(tmp_path):
    assert gate(tmp_path, "", str(GOOD))[0] == 0
    for text, args in (
        ('require = ["LN202"]\n', []),
        ("require = []\n", ["--require", "LN202"]),
        ('require = ["LN101"]\n', ["--require", "LN202"]),
        ('require = ["resolving-power"]\n', ["--require", "LN101"]),
        ('require = ["all"]\n', []),
    ):
        assert gate(tmp_path, text, str(GOOD), *args)[0] == 3, text
    assert gate(tmp_path, 'require = ["LN101"]\n', str(GOOD), "--require", "LN102")[0] == 0


@pytest.mark.parametrize("value", ["loose.toml", "0", "false", ""])
def test_nothing_in_the_environment_weakens_it(tmp_path, value):
    (tmp_path / "loose.toml").write_text("strict = false\n")
    options = ("POLICY", "STRICT", "REQUIRE", "VALUES", "LOCK", "AGAINST", "FAMILY", "QUIET")
    environment = {f"LN_AUDIT_{name}": value for name in options}
    assert gate(tmp_path, "strict = true\n", str(NEMOTRON), **environment)[0] == 1


@ENTRANCES
def test_a_family_that_is_not_allowed_fails_and_an_unknown_one_is_cannot_tell(entrance, tmp_path):
    assert gate(tmp_path, 'families = ["gpt2", "llama"]\n', str(GOOD), entrance=entrance)[0] == 0
    code, document, _ = gate(tmp_path, 'families = ["llama", "opt"]\n', str(GOOD), entrance=entrance)
    told = "model.safetensors: family: expected llama or opt as ln-audit.toml says, found gpt2"
    assert (code, said(document, "LN304")) == (1, [("fail", "family", told)])
    unknown = str(FIXTURES / "bad" / "LN001-unknown-family")
    code, document, _ = gate(tmp_path, 'families = ["llama"]\n', unknown, entrance=entrance)
    assert (code, said(document, "LN304")) == (
        3,
        [("skip", "family", "it is not known, and ln-audit.toml allows only some")],
    )


def test_a_table_that_only_bears_the_name_of_an_allowed_family_fails(tmp_path):
    (tmp_path / "mine.toml").write_text(
        'name = "gpt2"\nmodel_types = ["gpt2"]\nprefixes = ["transformer."]\nsizes = {n_embd = {}}\nepsilon = {keys = ["layer_norm_epsilon"]}\n'
        '[[norm]]\nname = "ln_f"\nrole = "final"\nkind = "layer_norm"\nbias = "required"\nshape = ["n_embd"]\n'
    )
    assert gate(tmp_path, "", str(GOOD), "--family", "mine.toml")[0] == 0
    code, document, _ = gate(tmp_path, 'families = ["gpt2"]\n', str(GOOD), "--family", "mine.toml")
    assert (code, said(document, "LN304")[0][0]) == (1, "fail")


def test_a_recording_alone_says_that_the_targets_were_not_verified(tmp_path):
    carried = str(FIXTURES / "recordings" / "prenorm-stack.safetensors")
    code, document, _ = gate(tmp_path, 'targets = ["model", "other"]\n', "--recording", carried)
    (report,) = document["reports"]
    assert (code, report["source"]["spec"], report["not_checked"][0]) == (
        0,
        carried,
        "the 2 targets of ln-audit.toml: not verified: only this recording was asked for",
    )
    assert not any(
        "target" in each for each in gate(tmp_path, "", "--recording", carried)[1]["reports"][0]["not_checked"]
    )


def test_a_policy_that_is_not_read_beside_another_is_in_every_report_and_in_the_check(tmp_path):
    (tmp_path / "pyproject.toml").write_text("[tool.ln-audit]\nstrict = true\n")
    code, document, _ = gate(tmp_path, 'targets = ["sample"]\n', str(NEMOTRON))
    told = "[tool.ln-audit] of pyproject.toml: not read: ln-audit.toml goes before it"
    assert (code, document["reports"][0]["not_checked"][0]) == (0, told)
    checked = run(*SCRIPT, "policy", "check", cwd=tmp_path)
    assert (checked.returncode, f"  ! {told}" in checked.stdout.splitlines()) == (0, True)
    code, document, err = gate(tmp_path, "", str(NEMOTRON))
    assert (code, document["error"]["kind"], err.splitlines()[0][:53]) == (
        2,
        "usage",
        "ln-audit: ln-audit.toml: expected a policy, found no ",
    )


def test_a_recording_alone_is_of_no_family_that_could_be_allowed(tmp_path):
    carried = FIXTURES / "recordings" / "prenorm-stack.safetensors"
    assert carried.is_file()
    args = ["--recording", str(carried)]
    assert gate(tmp_path, 'targets = ["sample"]\n', *args)[0] == gate(tmp_path, "", *args)[0]
    code, document, _ = gate(tmp_path, 'targets = ["sample"]\nfamilies = ["gpt2"]\n', *args)
    assert (code, [report["source"]["spec"] for report in document["reports"]]) == (3, [str(carried)])


@ENTRANCES
def test_known_good_digests(entrance, tmp_path):
    gain = next(
        tensor["value_sha256"]
        for norm in gate(tmp_path, "", str(GOOD), command="report")[1]["reports"][0]["norms"]
        for tensor in norm["tensors"]
        if tensor["name"] == "transformer.ln_f.weight"
    )
    whole = hashlib.sha256((GOOD / "model.safetensors").read_bytes()).hexdigest()
    text = '[digests.values]\n"ln_f.gain" = "{}"\n[digests.files]\n"model.safetensors" = "{}"\n'
    assert gate(tmp_path, text.format(gain, whole), str(GOOD), entrance=entrance)[0] == 0
    for values, files in ((NONE, whole), (gain, NONE)):
        code, document, _ = gate(tmp_path, text.format(values, files), str(GOOD), entrance=entrance)
        assert (code, sorted(status for status, *_ in said(document, "LN305"))) == (1, ["fail", "pass"])
    code, document, _ = gate(tmp_path, text.format(gain, whole).replace("ln_f", "ln_x"), str(GOOD), entrance=entrance)
    assert (code, said(document, "LN305")[0]) == (3, ("skip", "ln_x.gain", "no norm here has a parameter of that name"))
    code, document, _ = gate(
        tmp_path, text.format(gain, whole).replace("model.", "other."), str(GOOD), entrance=entrance
    )
    assert (code, said(document, "LN305")[1][0]) == (3, "skip")


def test_values_of_which_it_has_a_digest_are_read_whatever_the_call_says(tmp_path):
    text = f'[digests.values]\n"h.0.ln_1.gain" = "{NONE}"\n'
    code, document, _ = gate(tmp_path, text, str(GOOD), "--values", "final")
    assert (code, said(document, "LN305")[0][0]) == (1, "fail")
    read = [n["name"] for n in document["reports"][0]["norms"] if n["tensors"][0]["value_sha256"]]
    assert read == ["transformer.h.0.ln_1", "transformer.ln_f"]


def test_a_file_that_leads_out_of_the_target_is_not_read(tmp_path):
    (tmp_path / "secret").write_bytes(b"x")
    shutil.copytree(GOOD, tmp_path / "model")
    text = f'[digests.files]\n"../secret" = "{hashlib.sha256(b"x").hexdigest()}"\n'
    code, document, _ = gate(tmp_path, text, "model")
    assert (code, document["reports"][0]["error"]["message"]) == (
        3,
        "model: expected a file name inside the folder, found '../secret'",
    )


def test_a_target_is_held_to_its_lock_its_source_and_its_recordings(tmp_path):
    shutil.copytree(GOOD, tmp_path / "model")
    shutil.copy(LOCK, tmp_path / "gpt2.lock")
    shutil.copy(FIXTURES / "good" / "gpt2-recorded" / "run.safetensors", tmp_path / "run.safetensors")
    text = f'[[target]]\ntarget = "model"\nlock = "gpt2.lock"\nagainst = "{GOOD}"\nrecordings = ["run.safetensors"]\n'
    code, document, _ = gate(tmp_path, text)
    assert code == 0
    assert {status for rule in ("LN201", "LN301", "LN302") for status, *_ in said(document, rule)} == {"pass"}
    for args in (["model"], ["./model"], [str(tmp_path / "model")]):  # the call names what the policy names
        found = gate(tmp_path, text, *args)
        assert (found[0], len(said(found[1], "LN302"))) == (0, 5)
    assert said(gate(tmp_path, text, str(GOOD))[1], "LN302") == []
    bad = (tmp_path / "gpt2.lock").read_text().replace("epsilon = 1e-05", "epsilon = 1e-06", 1)
    (tmp_path / "gpt2.lock").write_text(bad)
    assert gate(tmp_path, text)[0] == 1
    (tmp_path / "gpt2.lock").write_text("nonsense")
    code, document, err = gate(tmp_path, text)
    assert (code, document["reports"]) == (2, [])
    assert err.startswith("ln-audit: gpt2.lock: expected ")


@ENTRANCES
def test_a_file_of_its_target_is_held_to_all_that_it_says_of_the_folder_and_the_other_way_round(entrance, tmp_path):
    shutil.copytree(GOOD, tmp_path / "model")
    asked = f'[target.digests.values]\n"ln_f.gain" = "{NONE}"\n'
    for named, called in (("model", "model/model.safetensors"), ("model/model.safetensors", "model")):
        text = f'[[target]]\ntarget = "{named}"\nstrict = true\n{asked}'
        code, document, _ = gate(tmp_path, text, called, entrance=entrance)
        assert (code, [status for status, *_ in said(document, "LN305")]) == (1, ["fail"]), named
    assert gate(tmp_path, f'[[target]]\ntarget = "other"\n{asked}', "model", entrance=entrance)[0] == 0


@pytest.mark.parametrize(
    ("text", "args", "message"),
    [
        ('[[target]]\ntarget = "sample"\nlock = "{lock}"\n', ["--lock", "{other}"], "--lock: expected "),
        ('output_dtype = "float32"\n[[target]]\ntarget = "sample"\n', ["--output-dtype", "bfloat16"], "--output-dtype: expected float32, as ln-audit.toml says, found bfloat16"),
        ('values = "all"\ntargets = ["sample"]\n', ["--values", "final"], "--values: expected all, as ln-audit.toml says, found final"),
        ('targets = ["sample", "sample2"]\n', ["--norm", "ln_f"], "--norm: expected one target, found 2"),
    ],
)  # fmt: skip
def test_a_call_that_says_otherwise_is_exit_2(tmp_path, text, args, message):
    shutil.copy(LOCK, tmp_path / "other.lock")
    args = [arg.format(other="other.lock") for arg in args]
    code, _, err = gate(tmp_path, text.replace("{lock}", str(LOCK)), *args)
    assert (code, err.startswith(f"ln-audit: {message}")) == (2, True)


def test_output_dtype_and_before_rounded_are_as_the_options(tmp_path):
    shutil.copy(FIXTURES / "good" / "gpt2-recorded" / "run.safetensors", tmp_path / "run.safetensors")
    args = [str(GOOD), "--recording", "run.safetensors"]
    for key in ("output_dtype", "before_rounded"):
        option = f"--{key.replace('_', '-')}"
        asked = gate(tmp_path, "", *args, option, "bfloat16")
        code, document, _ = gate(tmp_path, f'{key} = "bfloat16"\n', *args)
        assert (code, document["reports"][0]["comparisons"]) == (asked[0], asked[1]["reports"][0]["comparisons"])
        own = (
            f'{key} = "float16"\n[[target]]\ntarget = "{GOOD}"\nrecordings = ["run.safetensors"]\n{key} = "bfloat16"\n'
        )
        code, document, _ = gate(tmp_path, own)
        assert (code, document["reports"][0]["comparisons"]) == (asked[0], asked[1]["reports"][0]["comparisons"])


def test_paths_in_it_are_relative_to_its_folder(tmp_path):
    (tmp_path / "ci").mkdir()
    shutil.copytree(GOOD, tmp_path / "model")
    shutil.copy(LOCK, tmp_path / "ci" / "gpt2.lock")
    (tmp_path / "ci" / "gate.toml").write_text('[[target]]\ntarget = "../model"\nlock = "gpt2.lock"\n')
    made = run(*SCRIPT, "verify", "--policy", "ci/gate.toml", "--format", "json", cwd=tmp_path)
    document = json.loads(made.stdout)
    assert (made.returncode, document["reports"][0]["source"]["spec"]) == (0, "./ci/../model")
    assert len(said(document, "LN302")) == 5


def test_report_and_lock_are_under_it_too(tmp_path):
    assert gate(tmp_path, 'families = ["llama"]\n', str(GOOD), command="report")[0] == 1
    (tmp_path / "ln-audit.toml").write_text('families = ["llama"]\n')
    made = run(*SCRIPT, "lock", str(GOOD), cwd=tmp_path)
    assert (made.returncode, (tmp_path / "ln-audit.lock").exists()) == (1, False)
    (tmp_path / "ln-audit.toml").write_text('require = ["LN202"]\n')
    assert run(*SCRIPT, "lock", str(GOOD), cwd=tmp_path).returncode == 3
    (tmp_path / "ln-audit.toml").write_text(
        f'families = ["gpt2"]\n[[target]]\ntarget = "{GOOD}"\nlock = "ln-audit.lock"\n'
    )
    assert run(*SCRIPT, "lock", str(GOOD), cwd=tmp_path).returncode == 0  # a lock can be written anew
    assert run(*SCRIPT, "verify", cwd=tmp_path).returncode == 0


def test_names_in_it_are_inert(tmp_path):
    text = 'targets = ["./\\u001b[31m"]\n'
    code, document, err = gate(tmp_path, text)
    assert (code, "\x1b" in err) == (2, False)
    text = '[digests.values]\n"<script>\\u202e::error::" = "' + NONE + '"\n'
    code, document, _ = gate(tmp_path, text, "sample")
    assert (code, said(document, "LN305")[0][1]) == (3, "<script>\\u202e::error::")
    assert "\u202e" not in run(*SCRIPT, "verify", "sample", cwd=tmp_path).stdout


@pytest.fixture
def hub():
    with HubSimulator(GOOD, repo="org/name") as simulator:
        simulator.retry_after = "0"
        yield simulator


def hub_gate(hub, folder, text, *args):
    (folder / "ln-audit.toml").write_text(text)
    made = on_hub(hub.endpoint, folder, *args)
    return made.returncode, json.loads(made.stdout)


def test_on_the_hub_a_commit_is_pinned_and_a_branch_fails_with_the_way_out(hub, tmp_path):
    pinned = 'revisions = "pinned"\n'
    for args in ([f"org/name@{hub.commit}"], ["org/name", "--revision", hub.commit]):
        code, document = hub_gate(hub, tmp_path, pinned, *args)
        assert (code, said(document, "LN304")) == (0, [("pass", "revision", f"named by its commit {hub.commit}")])
    for args, found in (
        (["org/name"], "none"),
        (["org/name@main"], "main"),
        (["org/name", "--revision", "main"], "main"),
    ):
        code, document = hub_gate(hub, tmp_path, pinned, *args)
        told = f"org/name: revision: expected a commit as ln-audit.toml says, found {found}"
        assert (code, said(document, "LN304")) == (1, [("fail", "revision", told)])
        (reason,) = [f["reason"] for f in document["reports"][0]["findings"] if f["status"] == "fail"]
        assert reason == f"a branch or a tag can be moved: write org/name@{hub.commit}, what it is now"
    against = f'{pinned}[[target]]\ntarget = "{GOOD}"\nagainst = "org/name"\n'
    assert hub_gate(hub, tmp_path, against)[0] == 1
    assert hub_gate(hub, tmp_path, against.replace("org/name", f"org/name@{hub.commit}"))[0] == 0


def test_commits_that_are_allowed_of_a_target(hub, tmp_path):
    text = '[[target]]\ntarget = "org/name"\nrevisions = ["{}"]\n'
    assert hub_gate(hub, tmp_path, text.format(hub.commit))[0] == 0
    code, document = hub_gate(hub, tmp_path, text.format("f" * 40))
    told = f"org/name: expected commit {'f' * 40} as ln-audit.toml says, found {hub.commit}"
    assert (code, said(document, "LN304")) == (1, [("fail", "commit", told)])
    shutil.copytree(GOOD, tmp_path / "org" / "name")  # a folder of that name wins, and has no commit
    code, document = hub_gate(hub, tmp_path, text.format(hub.commit))
    assert (code, said(document, "LN304")[0][0]) == (1, "fail")


def test_digests_of_a_model_on_the_hub(hub, tmp_path):
    whole = hashlib.sha256((GOOD / "model.safetensors").read_bytes()).hexdigest()
    code, document = hub_gate(hub, tmp_path, f'[digests.files]\n"model.safetensors" = "{whole}"\n', "org/name")
    assert (code, said(document, "LN305")) == (0, [("pass", "model.safetensors", "SHA-256 as the policy says")])
    code, document = hub_gate(hub, tmp_path, f'[digests.files]\n"model.safetensors" = "{NONE}"\n', "org/name")
    assert code == 1
    code, document = hub_gate(hub, tmp_path, f'[digests.values]\n"h.1.ln_2.bias" = "{NONE}"\n', "org/name")
    assert (code, said(document, "LN305")[0][0]) == (1, "fail")


def test_a_folder_of_links_to_each_file_of_its_target_is_held_too(tmp_path):
    shutil.copytree(FIXTURES / "good" / "gpt2-locked", tmp_path / "m")
    (tmp_path / "dd").mkdir()
    for path in (tmp_path / "m").iterdir():
        (tmp_path / "dd" / path.name).symlink_to(path)
    text = '[[target]]\ntarget = "m"\n[target.digests.files]\n"model.safetensors" = "' + "0" * 64 + '"\n'
    assert gate(tmp_path, text, "m")[0] == 1
    assert gate(tmp_path, text, "dd")[0] == 1
