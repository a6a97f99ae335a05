"""The program as users meet it: both entrances, every exit code with its output, JSON whatever happens."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import jsonschema
import pytest

from ln_audit.reports import REPORTS
from tests.reports.readers import READERS
from tests.shared import FIXTURES, ROOT

SCRIPT = [str(Path(sys.executable).with_name("ln-audit"))]
MODULE = [sys.executable, "-m", "ln_audit"]
ENTRANCES = pytest.mark.parametrize("entrance", [SCRIPT, MODULE], ids=["ln-audit", "python -m ln_audit"])
SCHEMA = json.loads((ROOT / "ln_audit" / "reports" / "report.schema.json").read_text())


def run(*command: str, cwd: Path | None = None, **env: str) -> subprocess.CompletedProcess[str]:
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("LN_AUDIT_", "HF_"))}
    return subprocess.run(command, cwd=cwd, env=clean | env, capture_output=True, text=True, timeout=60, check=False)


@ENTRANCES
@pytest.mark.parametrize(
    ("args", "code", "out", "err"),
    [
        (["verify", "sample"], 0, "PASS  sample\n", ""),
        (["verify", str(FIXTURES / "bad" / "LN101-not-finite")], 1, "FAIL  ", ""),
        (["verify", "sample", "--eps", "small"], 2, "", "ln-audit: --eps: expected a number, found 'small'\n"),
        (["verify", str(FIXTURES / "hostile" / "safetensors" / "empty")], 3, "INCOMPLETE  ", ""),
        (["verify", "./no/such/folder"], 3, "INCOMPLETE  ./no/such/folder\n", ""),
    ],
    ids=["0", "1", "2", "3", "3-absent"],
)
def test_every_exit_code_comes_with_its_output(entrance, args, code, out, err):
    made = run(*entrance, *args)
    assert (made.returncode, made.stdout[: len(out)], made.stderr[: len(err) or None]) == (code, out, err)


BUG = "import sys, ln_audit.audit as a; a.audit = lambda *_: 1 // 0; sys.argv = ['ln-audit', *{args!r}]; from ln_audit.__main__ import main; sys.exit(main())"


def test_our_own_fault_is_exit_4_with_a_traceback_and_where_to_report():
    made = run(sys.executable, "-c", BUG.format(args=["verify", "sample", "--format", "json"]))
    assert made.returncode == 4
    assert "Traceback (most recent call last)" in made.stderr
    assert (
        "ln-audit: a bug in ln-audit: ZeroDivisionError: integer division or modulo by zero\n  → please report it"
        in made.stderr
    )
    document = json.loads(made.stdout)
    jsonschema.validate(document, SCHEMA)
    assert (document["verdict"], document["exit_code"], document["error"]["kind"]) == ("error", 4, "bug")


@pytest.mark.parametrize("words", [["--nonsense"], ["sample"], ["none.bin"]])
def test_a_fault_while_the_document_is_written_is_exit_4_too(words):
    code = (
        "import sys; from ln_audit.reports import json; json.render = lambda run: 1 // 0;"
        f"from ln_audit.cli import main; sys.exit(main(['verify', *{words!r}, '--format', 'json']))"
    )
    made = run(sys.executable, "-c", code)
    assert made.returncode == 4
    assert "ln-audit: a bug in ln-audit: ZeroDivisionError" in made.stderr


@pytest.mark.parametrize("words", [["sample", "--format", "html"], ["--nonsense", "--output", "html=x.html"]])
def test_a_page_without_its_libraries_is_exit_2_with_the_way_out(words, tmp_path):
    code = (
        "import sys; sys.modules.update(matplotlib=None, jinja2=None);"
        f"from ln_audit.cli import main; sys.exit(main(['verify', *{words!r}]))"
    )
    made = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (made.returncode, made.stdout) == (2, "")
    assert "Traceback" not in made.stderr
    if "--format" in words:
        assert made.stderr == (
            "ln-audit: --format html: expected the matplotlib package, found it not installed\n"
            '  → pip install "ln-audit[html]"\n'
        )


def test_an_interrupt_is_exit_130_and_says_nothing_passed():
    code = (
        "import signal, sys, time, ln_audit.audit as a; a.audit = lambda *_: time.sleep(30);"
        "signal.signal(signal.SIGINT, signal.default_int_handler);"  # ignored where the tests run in the background
        "sys.argv = ['ln-audit', 'verify', 'sample']; from ln_audit.__main__ import main;"
        "print('ready', file=sys.stderr, flush=True); sys.exit(main())"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stderr is not None
        assert process.stderr.readline() == "ready\n"
        time.sleep(0.5)
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=20)
    assert (process.returncode, out) == (130, "")


@ENTRANCES
def test_version(entrance):
    made = run(*entrance, "--version")
    assert (made.returncode, made.stdout, made.stderr) == (0, "ln-audit 0.1.0\n", "")


@pytest.mark.parametrize(
    "args",
    [
        ["--help"],
        ["-h"],
        ["verify", "--help"],
        ["report", "-h"],
        ["explain", "--help"],
        ["trace", "--help"],
        ["lock", "-h"],
        ["policy", "-h"],
        ["policy", "check", "--help"],
    ],
)
def test_help_on_every_level(args):
    made = run(*SCRIPT, *args)
    assert made.returncode == 0
    assert "Usage: ln-audit" in made.stdout


def test_the_first_screen_of_the_help_suffices_for_what_most_calls_use():
    lines = run(*SCRIPT, "verify", "--help", COLUMNS="80", TERM="dumb").stdout.splitlines()
    first = "\n".join(lines[:24])
    usual = (
        "against",
        "lock",
        "recording",
        "record",
        "require",
        "strict",
        "policy",
        "format",
        "output",
        "quiet",
        "help",
    )
    assert [name for name in usual if f"--{name} " not in first] == []
    assert len(lines) < 62
    assert "LN_AUDIT_FORMAT, LN_AUDIT_OUTPUT and LN_AUDIT_OFFLINE" in "\n".join(lines)


def test_without_a_command_the_help_is_shown_and_the_gate_stays_closed():
    made = run(*SCRIPT)
    assert made.returncode == 2


@pytest.mark.parametrize(
    "args",
    [
        ["verify", "--format", "json"],
        ["verify", "sample", "--no-such-option", "--format", "json"],
        ["verify", "sample", "--format=json", "--eps", "x"],
        ["verify", "sample", "--format", "json", "--require", "LN998"],
        ["verify", "sample", "sample", "--eps", "1e-5", "--format", "json"],
        ["verify", "sample", "--before", "x.npy", "--format", "json"],
        ["verify", "sample", "--norm", "h.9.ln_1", "--format", "json"],
        ["verify", "sample", "--family", "none", "--format", "json"],
        ["verify", "sample", "--config", "none.json", "--format", "json"],
        ["verify", "sample", "--values", "some", "--format", "json"],
        ["verify", "sample", "--output-dtype", "int8", "--format", "json"],
        ["nonsense", "--format", "json"],
        ["verify", "", "--format", "json"],
    ],
)
def test_a_rejected_call_is_exit_2_and_still_one_json_document(args):
    made = run(*SCRIPT, *args)
    document = json.loads(made.stdout)
    jsonschema.validate(document, SCHEMA)
    assert (made.returncode, document["exit_code"], document["verdict"], document["reports"]) == (2, 2, "error", [])
    assert made.stderr.startswith("ln-audit: ")
    assert "Traceback" not in made.stderr


@pytest.mark.parametrize("name", [output.NAME for output in REPORTS if output.NAME != "text"])
@pytest.mark.parametrize(
    ("target", "code"),
    [("sample", 0), ("fixtures/bad/LN101-not-finite", 1), ("--nonsense", 2), ("no/such/x.bin", 3), ("bug", 4)],
)
def test_every_output_is_whole_whatever_the_exit_code(name, target, code, tmp_path):
    command = [
        sys.executable,
        "-c",
        BUG.format(args=["verify", "sample", "--format", name, "--output", f"{name}={tmp_path / 'f'}"]),
    ]
    if target != "bug":
        command = [*SCRIPT, "verify", target, "--format", name, "--output", f"{name}={tmp_path / 'f'}"]
    made = run(*command, cwd=ROOT)
    READERS[name](made.stdout)
    assert (made.returncode, (tmp_path / "f").read_text()) == (code, made.stdout)


@pytest.mark.parametrize("name", [output.NAME for output in REPORTS])
def test_report_takes_every_format(name):
    made = run(*SCRIPT, "report", "sample", "--format", name)
    assert (made.returncode, made.stderr) == (0, "")
    READERS[name](made.stdout)


def test_help_and_readme_list_the_formats_of_the_registry():
    shown = run(*SCRIPT, "verify", "--help", COLUMNS="200").stdout
    assert f"{', '.join(output.NAME for output in REPORTS)}." in shown
    formats = "\\|".join(output.NAME for output in REPORTS)
    assert f"`--format {formats}`" in (ROOT / "README.md").read_text()


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (["explain", "missing-nrom"], "did you mean missing-norm?"),
        (["verify", "sample", "--require", "LN2011"], "did you mean LN201"),
        (["verify", "sample", "--family", "gtp2"], "did you mean gpt2"),
        (["families", "lama"], "did you mean llama"),
        (["verify", "sample", "--format", "jsn"], "did you mean json?"),
        (["verify", "sample", "--output", "sarf=x"], "did you mean sarif?"),
        (["trace"], "ln-audit record TARGET --random 64 --hidden-states -o run.safetensors makes one"),
    ],
)
def test_a_mistyped_name_is_answered_with_what_was_meant(words, hint, tmp_path):
    made = run(*SCRIPT, *words, cwd=tmp_path)
    assert (made.returncode, made.stdout) == (2, "")
    assert f"\n  → {hint}" in made.stderr


def test_a_mistyped_path_is_no_fault_of_the_hub(tmp_path):
    (tmp_path / "models" / "llama").mkdir(parents=True)
    (tmp_path / "models" / "llama" / "model.safetensors").touch()
    near = {"./modls/llama": "there is no folder ./modls either", "models/llama/modle.safetensors": "did you mean models/llama/model.safetensors?",
            "models/lama/": "did you mean models/llama?", "~/nothing": "~ holds models"}  # fmt: skip
    for target, hint in near.items():
        made = run(*SCRIPT, "verify", target, cwd=tmp_path, HOME=str(tmp_path))
        assert made.returncode == 3
        assert f"found no such file or folder\n  → {hint}" in made.stdout, target
    hub = run(*SCRIPT, "verify", "models/lama", "--offline", cwd=tmp_path)
    assert "\n  → no such path on this machine: did you mean models/llama?; drop --offline" in hub.stdout


def test_json_is_asked_for_by_the_environment_too():
    made = run(*SCRIPT, "verify", "sample", LN_AUDIT_FORMAT="json")
    assert json.loads(made.stdout)["exit_code"] == made.returncode == 0
    rejected = run(*SCRIPT, "verify", "--nonsense", LN_AUDIT_FORMAT="json")
    assert json.loads(rejected.stdout)["exit_code"] == rejected.returncode == 2


def test_several_targets_are_the_worst_of_them():
    bad, hostile = str(FIXTURES / "bad" / "LN101-not-finite"), str(FIXTURES / "hostile" / "safetensors" / "empty")
    assert [
        run(*SCRIPT, "verify", *targets).returncode
        for targets in (["sample", "sample"], ["sample", hostile], [hostile, bad, "sample"])
    ] == [0, 3, 1]


def test_reports_go_to_files_too_whole_or_not_at_all(tmp_path):
    made = run(
        *SCRIPT, "verify", "sample", "--output", f"json={tmp_path / 'r.json'}", "--output", str(tmp_path / "r.txt")
    )
    assert json.loads((tmp_path / "r.json").read_text())["verdict"] == "pass"
    assert (tmp_path / "r.txt").read_text() == made.stdout
    assert sorted(path.name for path in tmp_path.iterdir()) == ["r.json", "r.txt"]
    absent = run(*SCRIPT, "verify", "sample", "--output", str(tmp_path / "none" / "r.txt"))
    assert absent.returncode == 2
    assert absent.stderr.startswith(
        f"ln-audit: --output {tmp_path / 'none' / 'r.txt'}: expected a file that can be written, found: "
    )


def test_a_report_that_cannot_be_delivered_is_no_pass_and_no_fail(tmp_path):
    for shape in ("text", "json"):
        full = run("bash", "-c", f"{' '.join(MODULE)} verify sample --format {shape} > /dev/full")
        assert (full.returncode, "Traceback" in full.stderr) == (3, False), shape
        assert full.stderr.startswith("ln-audit: standard output: expected to write the report, found: ")
        closed = run("bash", "-c", f"{' '.join(MODULE)} verify sample --format {shape} >&-")
        assert closed.returncode == 3, shape
    silent = run("bash", "-c", f"{' '.join(MODULE)} verify sample --nonsense 2>&-")
    assert (silent.returncode, silent.stdout) == (2, "")
    gone = run(
        "bash",
        "-c",
        f"set -o pipefail; {' '.join(MODULE)} verify {'sample ' * 10} --format json | head -c 10 > /dev/null; exit ${{PIPESTATUS[0]}}",
    )
    assert (gone.returncode, "Traceback" in gone.stderr) == (3, False)


@pytest.mark.parametrize("encoding", ["ascii", "cp1252", "latin1", "utf-8"])
def test_a_console_without_our_characters_still_gets_the_report(encoding):
    for command in (
        ["verify", "sample"],
        ["explain"],
        ["trace", str(FIXTURES / "recordings" / "prenorm-stack.safetensors")],
    ):
        clean = {name: value for name, value in os.environ.items() if not name.startswith(("LN_AUDIT_", "HF_"))}
        made = subprocess.run(
            [*MODULE, *command],
            env=clean | {"PYTHONIOENCODING": encoding},
            capture_output=True,
            timeout=60,
            check=False,
        )
        assert (made.returncode, made.stderr) == (0, b"")


def test_devices_and_links_keep_their_place(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "real.json").write_text("old")
    (tmp_path / "link.json").symlink_to("real.json")
    with subprocess.Popen(["cat", str(tmp_path / "pipe")], stdout=subprocess.PIPE, text=True) as reader:
        assert run(*SCRIPT, "verify", "sample", "--output", f"json={tmp_path / 'pipe'}").returncode == 0
        out, _ = reader.communicate(timeout=20)
    assert json.loads(out)["verdict"] == "pass"
    assert (tmp_path / "pipe").is_fifo()
    assert run(*SCRIPT, "verify", "sample", "--output", f"json={tmp_path / 'link.json'}").returncode == 0
    assert (tmp_path / "link.json").is_symlink()
    assert json.loads((tmp_path / "real.json").read_text())["verdict"] == "pass"


@pytest.mark.parametrize("name", ["", ".", "/", "json=", "x" * 300, "none/r.json"])
def test_a_name_that_cannot_be_written_is_a_wrong_call(name, tmp_path):
    made = run(*SCRIPT, "verify", "sample", "--output", name, cwd=tmp_path)
    assert (made.returncode, "Traceback" in made.stderr) == (2, False)


def test_the_environment_cannot_open_the_gate():
    bad = str(FIXTURES / "bad" / "LN101-not-finite")
    for name, value in [
        ("_LN_AUDIT_COMPLETE", "source_bash"),
        ("_LN_AUDIT_COMPLETE", "complete_zsh"),
        ("LN_AUDIT_STRICT", "0"),
    ]:
        assert run(*SCRIPT, "verify", bad, cwd=None, **{name: value}).returncode == 1
    assert run(*SCRIPT, "verify", "sample", LN_AUDIT_OFFLINE="maybe").returncode == 2
    completed = run(*SCRIPT, _LN_AUDIT_COMPLETE="complete_bash", COMP_WORDS="ln-audit ver", COMP_CWORD="1")
    assert completed.stdout.split() == ["verify"]


def test_passwords_and_signatures_of_a_url_are_not_repeated():
    made = run(*SCRIPT, "verify", "https://user:PASSWORD@127.0.0.1:9/f.safetensors?sig=SECRET", "--format", "json")
    assert made.returncode == 3
    assert not {word for word in ("PASSWORD", "SECRET") if word in made.stdout + made.stderr}


def test_escapes_from_a_file_do_not_reach_the_terminal(tmp_path):
    made = run(*SCRIPT, "verify", "\x1b[31mred", "--format", "text")
    assert made.returncode == 3
    assert "\x1b" not in made.stdout + made.stderr


def test_a_family_of_the_policy_is_used_and_the_policy_named(tmp_path):
    (tmp_path / "ln-audit.toml").write_text(
        '[family.acme]\nmodel_types = ["gpt2"]\nprefixes = ["transformer."]\nsizes = {n_embd = {}}\n'
        'epsilon = {keys = ["layer_norm_epsilon"]}\n[[family.acme.norm]]\nname = "ln_f"\nrole = "final"\n'
        'kind = "layer_norm"\nbias = "required"\nshape = ["n_embd"]\n'
    )
    made = run(*SCRIPT, "verify", "sample", "--format", "json", cwd=tmp_path)
    told = json.loads(made.stdout)
    assert (made.returncode, told["policy"]["path"], len(told["policy"]["sha256"])) == (0, "ln-audit.toml", 64)
    assert told["reports"][0]["family"] == {
        "name": "acme",
        "evidence": 'model_type "gpt2" in config.json, family of the policy',
    }
    text = run(*SCRIPT, "verify", "sample", cwd=tmp_path).stdout
    assert f"policy: ln-audit.toml, SHA-256 {told['policy']['sha256']}" in text
    assert run(*SCRIPT, "families", cwd=tmp_path).stdout.startswith("acme ")
    assert run(*SCRIPT, "families", "acme", cwd=tmp_path).stdout.startswith("acme  acme\n")


def test_nothing_heavy_is_imported_for_version_and_no_type_library_for_verify():
    code = "import sys; sys.argv = ['ln-audit', *{args!r}]; from ln_audit.__main__ import main; code = main(); print(code, *sorted(n for n in {heavy!r} if n in sys.modules), file=sys.stderr)"
    heavy = [
        "numpy",
        "typer",
        "rich",
        "huggingface_hub",
        "pydantic",
        "safetensors",
        "ml_dtypes",
        "torch",
        "http.client",
        "json",
    ]
    assert run(sys.executable, "-c", code.format(args=["--version"], heavy=heavy)).stderr == "0\n"
    seen = run(
        sys.executable,
        "-c",
        code.format(
            args=[
                "verify",
                str(FIXTURES / "good" / "gpt2-recorded"),
                "--recording",
                str(FIXTURES / "good" / "gpt2-recorded" / "run.safetensors"),
            ],
            heavy=heavy,
        ),
    ).stderr
    assert set(seen.split()) <= {"0", "numpy", "typer", "json", "ml_dtypes"}


def test_the_package_itself_imports_nothing_heavy():
    code = (
        "import sys, ln_audit; print(*sorted(n for n in ('numpy', 'typer', 'json', 'dataclasses') if n in sys.modules))"
    )
    assert run(sys.executable, "-c", code).stdout == "\n"


def test_no_colour_where_nobody_looks():
    assert "\x1b" not in run(*SCRIPT, "verify", "sample").stdout


def test_strict_and_require_close_the_gate():
    single = str(FIXTURES / "bad" / "LN102-zero-gain-single")
    assert [run(*SCRIPT, "verify", single, *more).returncode for more in ([], ["--strict"])] == [0, 1]
    assert [
        run(*SCRIPT, "verify", single, "--require", rule).returncode
        for rule in ("off-reference", "LN201", "all", "LN101")
    ] == [3, 3, 3, 0]


def test_a_recording_that_carries_its_own_norm_needs_no_target():
    stack = str(FIXTURES / "recordings" / "prenorm-stack.safetensors")
    assert [run(*SCRIPT, "verify", "--recording", stack, *more).returncode for more in ([], ["--eps", "1e-3"])] == [
        0,
        1,
    ]
    lacking = run(*SCRIPT, "verify", "--recording", str(FIXTURES / "good" / "gpt2-recorded" / "run.safetensors"))
    assert lacking.returncode == 3
    assert "expected a recording with its own gain, kind and eps, found no tensor gain" in lacking.stdout
    assert run(*SCRIPT, "verify", "--recording", stack, "--recording", "absent.safetensors").returncode == 3


LOCK = str(FIXTURES / "good" / "gpt2-locked" / "ln-audit.lock")


@ENTRANCES
def test_a_lock_is_written_and_holds_what_it_was_made_of(entrance, tmp_path):
    written = run(*entrance, "lock", "sample", cwd=tmp_path)
    assert (written.returncode, written.stderr) == (0, "")
    assert written.stdout == "LOCKED  sample → ln-audit.lock\n  7 norms, 672 parameters\n"
    assert [path.name for path in tmp_path.iterdir()] == ["ln-audit.lock"]
    first = (tmp_path / "ln-audit.lock").read_bytes()
    assert run(*entrance, "verify", "sample", "--lock", "ln-audit.lock", cwd=tmp_path).returncode == 0
    again = run(*entrance, "lock", "sample", "--output", "ln-audit.lock", cwd=tmp_path)
    assert again.stdout.endswith("  no norm has changed since it was last written\n")
    assert (tmp_path / "ln-audit.lock").read_bytes() == first
    assert run(*entrance, "lock", "sample", "-o", "-", cwd=tmp_path).stdout.encode() == first
    assert run(*entrance, "lock", "sample", "--quiet", cwd=tmp_path).stdout == ""


@ENTRANCES
@pytest.mark.parametrize(
    ("target", "code", "word"),
    [("bad/LN101-not-finite", 1, "fail"), ("bad/LN001-unknown-family", 3, "incomplete"), ("no/such", 3, "incomplete")],
)
def test_what_does_not_pass_is_not_locked(entrance, target, code, word, tmp_path):
    made = run(*entrance, "lock", str(FIXTURES / target), cwd=tmp_path)
    assert (made.returncode, made.stdout.partition(" ")[0], list(tmp_path.iterdir())) == (code, word.upper(), [])
    assert made.stderr == f"ln-audit: ln-audit.lock: not written: only what passes is locked, found {word}\n"
    piped = run(*entrance, "lock", str(FIXTURES / target), "-o", "-", cwd=tmp_path)
    assert (piped.returncode, piped.stdout) == (code, "")
    assert piped.stderr.startswith(word.upper())


def test_a_lock_that_cannot_be_written_or_would_cost_another_file_is_a_wrong_call(tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    (tmp_path / "folder").mkdir()
    for name in ("notes.txt", "folder", "none/l", ""):
        made = run(*SCRIPT, "lock", "sample", "-o", name, cwd=tmp_path)
        assert (made.returncode, made.stdout, "Traceback" in made.stderr) == (2, "", False), name
        assert made.stderr.startswith(f"ln-audit: --output {name or '.'}: expected a ")
    assert (tmp_path / "notes.txt").read_text() == "mine"


@ENTRANCES
@pytest.mark.parametrize(
    ("fixture", "code"),
    [
        ("good/gpt2-safetensors", 0),
        ("good/nemotron-safetensors", 1),
        ("bad/LN001-unknown-family", 3),
        ("bad/LN302-lock-mismatch", 1),
    ],
)
def test_a_lock_closes_the_gate(entrance, fixture, code):
    made = run(*entrance, "verify", str(FIXTURES / fixture), "--lock", LOCK, "--format", "json")
    document = json.loads(made.stdout)
    jsonschema.validate(document, SCHEMA)
    said = {finding["status"] for finding in document["reports"][0]["findings"] if finding["rule"] == "LN302"}
    assert (made.returncode, document["exit_code"]) == (code, code), said


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "l: expected a lockfile that can be read, found: no such file or directory"),
        ("", "l: format: expected 'ln-audit.lock/1', found None"),
        ('format = "ln-audit.lock/7"\n', "l: format: expected ln-audit.lock/1 at most, found 'ln-audit.lock/7'"),
        ("[", "l: expected a lockfile in TOML, found: "),
    ],
)
def test_a_lock_that_cannot_be_read_is_a_wrong_call_before_anything_is_opened(content, message, tmp_path):
    if content is not None:
        (tmp_path / "l").write_text(content)
    made = run(*SCRIPT, "verify", "no/such/target", "--lock", "l", "--format", "json", cwd=tmp_path)
    document = json.loads(made.stdout)
    jsonschema.validate(document, SCHEMA)
    assert (made.returncode, document["exit_code"], document["reports"]) == (2, 2, [])
    assert document["error"]["message"].startswith(message)
    assert document["error"]["hint"]


def test_a_lock_applies_to_each_target_and_needs_one():
    good, bad = (str(FIXTURES / name) for name in ("good/gpt2-safetensors", "bad/LN302-lock-mismatch"))
    assert run(*SCRIPT, "verify", good, good, "--lock", LOCK).returncode == 0
    assert run(*SCRIPT, "verify", good, bad, "--lock", LOCK).returncode == 1
    alone = run(*SCRIPT, "verify", "--recording", "run.safetensors", "--lock", LOCK)
    assert (alone.returncode, alone.stderr.partition("\n")[0]) == (
        2,
        "ln-audit: --lock: expected a target that it applies to, found none",
    )


def test_a_waiver_keeps_a_gate_open_until_its_day_and_never_for_what_cannot_be_read(tmp_path):
    row = '[[waiver]]\nrule = "LN101"\nnorm = "ln_f"\nreason = "known"\nuntil = {}\n'
    bad, hostile = (str(FIXTURES / name) for name in ("bad/LN101-not-finite", "hostile/safetensors/empty"))
    policy = tmp_path / "ln-audit.toml"
    policy.write_text(row.format("9999-12-31"))
    made = run(*SCRIPT, "verify", bad, "--strict", cwd=tmp_path)
    assert (made.returncode, made.stdout.partition("  ")[0]) == (0, "PASS, 1 warning")
    assert "waived until 9999-12-31: known" in made.stdout
    assert run(*SCRIPT, "verify", hostile, cwd=tmp_path).returncode == 3
    unused = run(*SCRIPT, "verify", "sample", "--strict", cwd=tmp_path)
    assert (unused.returncode, "waiver of LN101 for ln_f: nothing here to waive" in unused.stdout) == (0, True)
    policy.write_text(row.format("2026-01-31"))
    for target in (bad, "sample"):
        assert run(*SCRIPT, "verify", target, cwd=tmp_path).returncode == 1
    policy.write_text(row.format("'2026-01-31'"))
    assert run(*SCRIPT, "verify", "sample", cwd=tmp_path).returncode == 2
