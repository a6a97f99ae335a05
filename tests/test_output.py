"""Where reports go, in which colour, and what a broken call says."""

import json
import sys

import pytest

from ln_audit import output, reports
from ln_audit.errors import SourceError, UsageError
from ln_audit.reports import github, markdown
from ln_audit.reports.document import Run
from ln_audit.result import Failure
from tests.reports.made import FAILED, REPORT


def writer(shown="text", files=(), **changes):
    return output.Writer.of(shown, files, **({"quiet": False, "verbose": False, "no_color": False} | changes))


def test_the_format_of_a_file_is_its_own_or_the_shown_one(tmp_path, capsys):
    assert writer("json", [f"text={tmp_path / 'a=b'}", str(tmp_path / "c=d")]).write((REPORT,)) == 0
    assert (tmp_path / "a=b").read_text().startswith("PASS")
    assert json.loads((tmp_path / "c=d").read_text()) == json.loads(capsys.readouterr().out)


def test_a_suffix_that_names_no_format_is_refused_unless_a_format_was_asked_for(tmp_path):
    with pytest.raises(UsageError) as raised:
        writer(files=["out.foo"])
    assert raised.value.message == (
        "--output out.foo: expected a suffix that names a format"
        " (.txt, .json, .md, .markdown, .xml, .sarif, .sarif.json, .html, .htm), found '.foo'"
    )
    assert raised.value.hint == (
        "name the format before it: text, json, markdown, junit, sarif, github, html, as in --output text=out.foo"
    )
    for shown, word in (("text", "text=out.foo"), ("json", "out.foo"), ("text", "report"), ("text", "/dev/null")):
        assert [found.NAME for found, _ in writer(shown, files=[word]).files] == [shown]


def test_the_suffix_of_a_file_names_its_format(tmp_path):
    assert writer(files=[str(tmp_path / "out.json")]).write((REPORT,)) == 0
    assert json.loads((tmp_path / "out.json").read_text())["reports"]


@pytest.mark.parametrize(
    ("word", "found", "hint"),
    [
        ("sariff=out", "'sariff'", "did you mean sarif?"),
        ("yaml=out", "'yaml'", "a file of that name is written ./yaml=out"),
        ("GitHub=x.txt", "'GitHub'", "did you mean github?"),
    ],
)
def test_a_format_that_is_none_is_no_name_of_a_file(word, found, hint):
    with pytest.raises(UsageError) as caught:
        writer(files=[word])
    assert caught.value.message == f"--output {word}: expected one of {', '.join(reports.names())}, found {found}"
    assert caught.value.hint == hint


def test_two_reports_in_one_file_are_refused():
    with pytest.raises(UsageError) as caught:
        writer(files=["json=x", "sarif=y", "./x"])
    assert caught.value.message == "--output x: expected a file of its own for each report, found it twice"


def test_an_unknown_format_is_refused():
    with pytest.raises(UsageError) as caught:
        writer("jsno")
    assert caught.value.message == f"--format: expected one of {', '.join(reports.names())}, found 'jsno'"
    assert caught.value.hint == "did you mean json?"


def test_whether_pictures_are_asked_for_and_what_is_no_report_is_written_in_its_formats(tmp_path, capsys):
    assert not writer("json", ["x.txt"]).pictures
    asked = writer(files=[str(tmp_path / "x.html")]).only(("text", "html"))
    assert asked.pictures
    asked.tell(lambda form: f"as {form}")
    assert ((tmp_path / "x.html").read_text(), capsys.readouterr().out) == ("as html", "as text")
    with pytest.raises(UsageError, match="expected one of text, html, found 'json'"):
        writer(files=["x.json"]).only(("text", "html"))


def test_the_exit_code_is_returned_and_text_can_be_another(capsys):
    assert writer().write((FAILED,), text=lambda run, width: f"{len(run.reports)} report, {width}\n") == 1
    assert capsys.readouterr().out == "1 report, None\n"


@pytest.mark.parametrize(
    ("arguments", "environment", "asked"),
    [
        ([], "", "text"),
        (["--format", "json"], "", "json"),
        (["--format=sarif"], "", "sarif"),
        (["--format", "json", "--format", "text"], "", "text"),
        ([], "junit", "junit"),
        (["--format", "text"], "json", "text"),
        (["--format"], "", "text"),
        (["--format", "none"], "json", "text"),
    ],
)
def test_a_rejected_call_is_a_document_in_the_format_it_asked_for(arguments, environment, asked, monkeypatch, capsys):
    monkeypatch.setenv("LN_AUDIT_FORMAT", environment)
    error = UsageError("no", hint="do this")
    assert output.rejected(arguments, error, 2) == 2
    made = capsys.readouterr()
    assert made.err == "ln-audit: no\n  → do this\n"
    run = Run((), 2, Failure("usage", "no", "do this"), command=tuple(arguments))
    assert made.out == ("" if asked == "text" else reports.find(asked).render(run))


@pytest.mark.parametrize("name", reports.names())
def test_a_rejected_call_writes_every_file_that_it_asked_for(name, tmp_path, monkeypatch, capsys):
    monkeypatch.delenv("LN_AUDIT_FORMAT", raising=False)
    file = tmp_path / "out"
    file.write_text("PASS, of yesterday")
    words = ["verify", "x", "--output", f"{name}={file}", "--output=none=x", "--output", str(tmp_path / "no" / "x")]
    output.rejected(words, UsageError("no"), 2)
    run = Run((), 2, Failure("usage", "no"), command=tuple(words))
    assert file.read_text() == reports.find(name).render(run)
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
    output.rejected(["lock", "x", "--output", str(tmp_path / "ln-audit.lock")], UsageError("no"), 2)
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
    assert capsys.readouterr().out == ""


def test_files_asked_for_by_the_environment_are_written_too(tmp_path, monkeypatch):
    monkeypatch.setenv("LN_AUDIT_OUTPUT", f"json={tmp_path / 'a'} {tmp_path / 'b.md'}")
    output.rejected(["verify"], UsageError("no"), 2)
    assert json.loads((tmp_path / "a").read_text())["exit_code"] == 2
    assert (tmp_path / "b.md").read_text().startswith("## ERROR")


def test_a_report_that_nobody_could_read_keeps_its_files(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(sys, "stdout", None)
    words = ["verify", "x", "--output", f"json={tmp_path / 'a'}"]
    with pytest.raises(SourceError) as caught:
        writer(files=words[3:]).write((REPORT,))
    assert caught.value.kind == "source"
    assert output.rejected(words, caught.value, 3) == 3
    assert json.loads((tmp_path / "a").read_text())["verdict"] == "pass"


def test_the_summary_of_a_step_is_appended_as_markdown(tmp_path, monkeypatch, capsys):
    summary = tmp_path / "summary"
    summary.write_text("before\n")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    assert writer("github").write((FAILED,)) == 1
    assert summary.read_text() == "before\n" + markdown.render(Run((FAILED,), 1))
    writer("json").write((FAILED,))
    writer("text").write((FAILED,))
    assert summary.read_text().count("## FAIL") == 1
    capsys.readouterr()
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path))
    assert writer("github").write((FAILED,)) == 1
    made = capsys.readouterr()
    assert made.out == github.render(Run((FAILED,), 1))
    assert made.err.startswith("ln-audit: GITHUB_STEP_SUMMARY: expected a file to append to, found: ")


@pytest.mark.parametrize(
    "word", ["m/model.safetensors", "json=x.gguf", "config.json", "a.safetensors.index.json", "ln-audit.lock", "X.BIN"]
)
def test_a_report_never_takes_the_name_of_a_model_a_lock_or_a_policy(word):
    with pytest.raises(UsageError, match="expected a file for a report, found the name of another kind of file"):
        writer(files=[word])


def test_a_rejected_call_does_not_write_over_a_model_either(tmp_path):
    model = tmp_path / "model.safetensors"
    model.write_bytes(b"weights")
    assert output.rejected(["verify", "--output", f"json={model}", "--x"], UsageError("no"), 2) == 2
    assert model.read_bytes() == b"weights"
