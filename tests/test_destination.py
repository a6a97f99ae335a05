"""A report goes to a file: never on top of standard output, and what cannot be a file is said before any work is done."""

import os
import shlex
import shutil
import subprocess
import threading
from pathlib import Path

import pytest

from ln_audit.cli import main
from ln_audit.destination import refuse_no_file, refuse_twice, words_of
from ln_audit.errors import UsageError
from tests.shared import FIXTURES
from tests.test_cli import ENTRANCES, SCRIPT, run

STANDARD = "expected a file, found standard output, which gets the report of --format"


@ENTRANCES
@pytest.mark.parametrize("word", ["-", "json=-", "./-", "json=/dev/stdout", "json=/dev/fd/1", "json=/proc/self/fd/1"])
def test_standard_output_is_no_file(entrance, tmp_path, word):
    made = run(*entrance, "verify", "sample", "--output", word, cwd=tmp_path)
    assert (made.returncode, made.stdout, list(tmp_path.iterdir())) == (2, "", [])
    path = Path(word.removeprefix("json="))
    assert made.stderr == f"ln-audit: --output {path}: {STANDARD}\n  → --format json writes JSON there\n"


def test_a_file_that_standard_output_goes_to_is_not_replaced(tmp_path):
    with (tmp_path / "out.json").open("wb") as out:
        out.write(b"mine\n")
        out.flush()
        command = [*SCRIPT, "verify", "sample", "--format", "json", "--output", "out.json"]
        made = subprocess.run(command, cwd=tmp_path, stdout=out, stderr=subprocess.PIPE, text=True, check=False)
    assert (made.returncode, made.stderr.splitlines()[0]) == (2, f"ln-audit: --output out.json: {STANDARD}")
    assert (tmp_path / "out.json").read_text().startswith('mine\n{\n "schema"')


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("folder", "--output folder: expected a file that can be written, found: a directory"),
        ("", "--output .: expected a file that can be written, found: a directory"),
        ("none/r.json", "--output none/r.json: expected a file that can be written, found: no folder none"),
        ("file/r.json", "--output file/r.json: expected a file that can be written, found: Not a directory"),
    ],
)
def test_what_can_be_no_file_is_said(tmp_path, name, message):
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").touch()
    made = run(*SCRIPT, "verify", "sample", "--output", f"json={name}", cwd=tmp_path)
    assert (made.returncode, made.stderr) == (2, f"ln-audit: {message}\n")


def test_it_is_said_before_any_work_is_done(tmp_path):
    made = run(*SCRIPT, "verify", "./none", "--output", "none/r.json", cwd=tmp_path)
    assert (made.returncode, made.stdout) == (2, "")


def test_devices_and_pipes_are_written_to_like_files(tmp_path):
    for word in ("json=/dev/null", "json=/dev/stderr"):
        made = run(*SCRIPT, "verify", "sample", "--quiet", "--output", word, cwd=tmp_path)
        assert (made.returncode, made.stdout) == (0, "PASS  sample\n")
        assert made.stderr.startswith('{\n "schema"') == word.endswith("stderr")
    os.mkfifo(tmp_path / "pipe")
    read: list[str] = []
    reader = threading.Thread(target=lambda: read.append((tmp_path / "pipe").read_text()), daemon=True)
    reader.start()
    assert run(*SCRIPT, "verify", "sample", "--quiet", "--output", "json=pipe", cwd=tmp_path).returncode == 0
    reader.join(60)
    assert read[0].startswith('{\n "schema"')
    assert (tmp_path / "pipe").is_fifo()


def test_what_a_shell_makes_of_a_process_is_written_to(tmp_path):
    words = " ".join(map(shlex.quote, SCRIPT))
    command = ["bash", "-c", f"{words} verify sample --quiet --output json=>(cat >first); wait $!"]
    made = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)
    assert (made.stdout, made.stderr, (tmp_path / "first").read_text()[:1]) == ("PASS  sample\n", "", "{")


def test_a_stream_that_is_no_file_is_no_path(monkeypatch, tmp_path):
    refuse_no_file(tmp_path / "r.json")
    refuse_no_file(Path("a\0b"))
    monkeypatch.setattr("sys.stdout", None)
    refuse_no_file(tmp_path / "r.json")
    with pytest.raises(UsageError, match="found standard output"):
        refuse_no_file(Path("-"))


READS = "expected a file for a report, found one that the call reads"


@pytest.mark.parametrize(
    ("words", "policy"),
    [
        (["m", "--config", "in.json"], ""),
        (["m", "--config=in.json"], ""),
        (["m", "--recording", "in.json"], ""),
        (["m", "--lock", "in.json"], ""),
        (["m", "--policy", "in.json"], ""),
        (["m", "--family", "./in.json"], ""),
        (["m", "--against", "in.json"], ""),
        (["in.json"], ""),
        (["--no-such", "in.json"], ""),
        (["m"], '[[target]]\ntarget = "m"\nconfig = "in.json"\n'),
        ([], '[[target]]\ntarget = "m"\nrecordings = ["in.json"]\n'),
        ([], 'targets = ["in.json"]\n'),
    ],
)
@pytest.mark.parametrize("name", ["in.json", "json=link", "json=sub/../in.json"])
def test_a_file_that_the_call_reads_is_not_written_over(words, policy, name, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "in.json").write_text("mine")
    (tmp_path / "link").symlink_to("in.json")
    (tmp_path / "sub").mkdir()
    shutil.copytree(FIXTURES / "good" / "gpt2-safetensors", "m")
    if policy:
        (tmp_path / "ln-audit.toml").write_text(policy)
    assert main(["verify", *words, "--output", name]) == 2
    assert (tmp_path / "in.json").read_text() == "mine"
    if words[:1] == ["m"] and words[1:] and words[1] in ("--config", "--config=in.json"):
        path = name.removeprefix("json=")
        assert capsys.readouterr() == ("", f"ln-audit: --output {path}: {READS}\n")


def test_a_link_to_a_models_file_has_its_name(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    shutil.copytree(FIXTURES / "good" / "gpt2-safetensors", "m")
    before = (tmp_path / "m" / "model.safetensors").read_bytes()
    (tmp_path / "r.json").symlink_to("m/model.safetensors")
    assert main(["verify", "m", "--output", "r.json"]) == 2
    assert "found the name of another kind of file" in capsys.readouterr().err
    assert (tmp_path / "m" / "model.safetensors").read_bytes() == before


def test_a_report_is_renewed_and_one_in_the_targets_folder_too(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    shutil.copytree(FIXTURES / "good" / "gpt2-safetensors", "m")
    for _ in range(2):
        assert main(["verify", "m", "--quiet", "--output", "r.json", "--output=m/r.html.json"]) == 0


@pytest.mark.parametrize("other", ["./a.json", "link.json", "sub/../a.json", "to/a.json"])
def test_two_reports_in_one_file_are_refused_however_it_is_spelt(tmp_path, other, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sub").mkdir()
    (tmp_path / "to").symlink_to(".")
    (tmp_path / "link.json").symlink_to("a.json")
    for second in (other, str(tmp_path / other)):
        with pytest.raises(UsageError, match="expected a file of its own for each report, found it twice"):
            refuse_twice([Path("a.json"), Path("b.json"), Path(second)])
    refuse_twice([Path("a.json"), Path("b.json"), Path("a\0b")])


def test_words_of_a_call_that_may_be_files():
    words = ["verify", "m", "--config=c.json", "--output", "o.json", "--output=json=p.json", "--lock", "l"]
    assert words_of(words) == ["verify", "m", "--config=c.json", "c.json", "--output", "--lock", "l"]
