"""The runner notices what it is there to notice: a page that is not true fails."""

import pytest

from tests.docs.runner.blocks import Block, blocks, commands, fits
from tests.docs.runner.session import Session, refuse_unknown


def console(text, language="console", title=""):
    return Block("page.md", 1, language, title, text)


@pytest.fixture
def session(tmp_path):
    return Session(tmp_path, {"given": 2}, elsewhere={"false": "elsewhere"})


def test_a_page_that_is_true_passes(session):
    session.run(console("hello\n", "toml", "a/b.toml"))
    session.run(console("$ cat a/b.toml\nhello\n$ ls nowhere\n…nowhere…\n$ echo $?\n2\n$ true\n"))
    session.run(console("assert given == 2\n", "python"))
    session.run(console("false   # another test runs it\nls a\n", "sh"))
    session.run(console(" hel\n", "text"))


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("$ echo hello\nhallo\n", "--- printed\nhello"),
        ("$ echo hello\n", "--- printed\nhello"),
        ("$ ls nowhere\n…\n", "ends with exit code 2, and does not show it"),
        ("$ ls nowhere\n…\n$ true\n", "exit code 2, and `echo \\$\\?` does not show it"),
        ("$ ls nowhere\n…\n$ echo $?\n1\n", r"exit code 2, shown \('1',\)"),
        ("hello\n", "expected a line that begins with"),
    ],
)
def test_a_page_that_is_not_true_fails(session, text, told):
    with pytest.raises(AssertionError, match=told):
        session.run(console(text))


def test_a_command_without_output_must_pass_and_complain_of_nothing(session):
    for line in ("ls nowhere", "echo odd >&2"):
        with pytest.raises(AssertionError):
            session.run(console(f"{line}\n", "sh"))


def test_code_that_fails_fails_the_page(session):
    with pytest.raises(AssertionError):
        session.run(console("assert given == 3\n", "python"))


def test_a_change_must_find_its_place_once(session):
    file = session.folder / "x.py"
    file.write_text("a\nb\na\n")
    session.run(console(" b\n+c\n", "diff", "x.py"))
    assert file.read_text() == "a\nb\nc\na\n"
    session.run(console("-b\n@@ here\n-c\n+d\n", "diff", "x.py"))
    assert file.read_text() == "a\nd\na\n"
    for text, told in ((" a\n+e\n", "found 2"), (" z\n+e\n", "found 0"), (" d\n", "expected a change")):
        with pytest.raises(AssertionError, match=told):
            session.run(console(text, "diff", "x.py"))


@pytest.mark.parametrize("words", ["pip install other", 'pip install "ln-audit[none]"', "pip install ln-audit==1"])
def test_pip_is_asked_for_nothing_unknown(words, session):
    with pytest.raises(AssertionError, match="expected"):
        session.run(console(f"{words}\n", "sh"))


def test_pip_may_be_asked_for_our_extras():
    refuse_unknown('pip install "ln-audit[onnx]" onnxruntime   # a comment')


def test_left_out_text_is_any_text_of_a_line_and_left_out_lines_any_lines():
    assert fits(("a … c", "  …", "d"), "a b c\nx\ny\nd\n")
    assert fits(("a … c", "…", "d"), "a  c\nd\n")
    assert not fits(("a … c",), "a b\nc\n")
    assert not fits(("a",), "a\nb\n")
    assert not fits(("a.c",), "abc\n")


def test_fences_that_nobody_would_run_are_refused(tmp_path):
    page = tmp_path / "page.md"
    for text, told in (("  ```sh\nls\n", "expected ```language"), ("```sh\nls\n", "expected the end of the block")):
        page.write_text(text)
        with pytest.raises(AssertionError, match=told):
            blocks(page, "page.md")
    page.write_text('```toml title="a.toml"\nx = 1\n```\n')
    assert blocks(page, "page.md") == [Block("page.md", 1, "toml", "a.toml", "x = 1\n")]
    with pytest.raises(AssertionError, match="expected a command"):
        commands(console(""))
