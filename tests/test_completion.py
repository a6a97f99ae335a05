"""Completion: the words are the program's own, and real shells complete them when TAB is pressed."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from ln_audit import call, checks, completion, reports
from ln_audit.demand import DTYPES
from tests.test_cli import SCRIPT

BIN = str(Path(sys.executable).parent)


def completed(*words: str) -> list[str]:
    """What bash is offered at the last of these words."""
    asked = {"_LN_AUDIT_COMPLETE": "complete_bash", "COMP_WORDS": " ".join(words), "COMP_CWORD": str(len(words) - 1)}
    made = subprocess.run(SCRIPT, env=os.environ | asked, capture_output=True, text=True, timeout=60, check=True)
    return made.stdout.split()


def test_rules_are_completed_by_name_and_by_id():
    assert completed("ln-audit", "explain", "wrong-e") == ["wrong-epsilon"]
    assert completed("ln-audit", "verify", "sample", "--require", "LN30") == [f"LN30{n}" for n in range(1, 6)]
    assert completion.rules("") == [check.RULE.name for check in checks.CHECKS]
    assert completion.required("a") == ["all"]


def test_families_are_completed_with_the_types_that_they_are_the_table_of():
    assert "mistral" in completed("ln-audit", "families", "mist")
    assert completed("ln-audit", "verify", "--family", "nemotro") == completion.families("nemotro")
    assert completion.families("gpt2-x") == []


def test_words_of_an_option_are_those_that_it_takes():
    assert completion.WORDS["--format"]("") == list(reports.names())
    assert completion.WORDS["--output-dtype"]("b") == ["bfloat16"]
    assert completion.WORDS["--before-rounded"]("") == list(DTYPES)
    for word in completion.WORDS["--values"](""):
        assert call.values(word) == word
    for word in completion.WORDS["--expect"](""):
        assert call.expect(word, "source") == word
    assert completion.WORDS["--kind"]("r") == ["rms_norm"]


START = {"bash": ["bash", "--norc", "-i"], "zsh": ["zsh", "-f", "-i"], "fish": ["fish", "--no-config", "-i"]}
LOAD = {
    "bash": 'eval "$(ln-audit --show-completion)"; PS1="ready> "',
    "zsh": 'autoload -Uz compinit; compinit -u; eval "$(ln-audit --show-completion)"; PS1="ready> "',
}


@pytest.fixture(params=["bash", "zsh"])
def shell(request, tmp_path):
    """A shell that has loaded what `--show-completion` prints in it."""
    if shutil.which(request.param) is None:
        pytest.skip(f"{request.param} is not installed")
    terminal = pytest.importorskip("tests.terminal", reason="no terminals on this system", exc_type=ImportError)
    run = terminal.Terminal(START[request.param], tmp_path, f"{BIN}:/usr/bin:/bin")
    run.send(LOAD[request.param] + "; echo loa''ded\n")
    run.expect("loaded")
    yield run
    run.close()


def test_tab_completes_commands_options_and_rules(shell):
    shell.send("ln-audit ver\t")
    shell.expect("ln-audit verify ")
    shell.send("sample --req\t")
    shell.expect("--require ")
    shell.send("resol\t")
    shell.expect("resolving-power")


def test_fish_completes_commands_options_and_rules(tmp_path):
    if shutil.which("fish") is None:
        pytest.skip("fish is not installed")
    found = {}
    for line in ("ln-audit ver", "ln-audit verify sample --requ", "ln-audit explain wrong-e"):
        script = f"ln-audit --show-completion | source; complete --do-complete '{line}'"
        home = {"HOME": str(tmp_path), "PATH": f"{BIN}:/usr/bin:/bin", "LANG": "C.UTF-8"}
        made = subprocess.run(
            ["fish", "--no-config", "-c", script], env=home, capture_output=True, text=True, timeout=60, check=True
        )
        found[line] = made.stdout.partition("\t")[0].strip()
    assert list(found.values()) == ["verify", "--require", "wrong-epsilon"]


@pytest.mark.parametrize(
    ("name", "file"),
    [
        ("bash", ".bash_completions/ln-audit.sh"),
        ("zsh", ".zfunc/_ln-audit"),
        ("fish", ".config/fish/completions/ln-audit.fish"),
    ],
)
def test_install_completion_writes_where_the_shell_looks(name, file, tmp_path):
    if shutil.which(name) is None:
        pytest.skip(f"{name} is not installed")
    home = {"HOME": str(tmp_path), "PATH": f"{BIN}:/usr/bin:/bin"}
    quiet = {"bash": ["--norc"], "zsh": ["-f"], "fish": ["--no-config"]}[name]
    call = [name, *quiet, "-c", "ln-audit --install-completion; true"]
    made = subprocess.run(call, env=home, capture_output=True, text=True, timeout=60, check=True)
    assert made.stdout.startswith(f"{name} completion installed in {tmp_path / file}")
    assert "_LN_AUDIT_COMPLETE" in (tmp_path / file).read_text()
