"""Foreign text in a code span, and tables with as many cells in each row as in the head."""

import pytest
from markdown_it import MarkdownIt

from ln_audit.reports.markdown_table import Align, code, table

MARKDOWN = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("ln_f", "`ln_f`"),
        ("a|b", "`a\\x7cb`"),
        ("run `hf download`", "`` run `hf download` ``"),
        ("```x```", "```` ```x``` ````"),
        ("`" * 7, "`" + "\\x60" * 7 + "`"),
        ("", "–"),
        ("  ", "–"),
        ("a\nb", "`a\\nb`"),
        ("x" * 5_000, f"`{'x' * 1_999}…`"),
    ],
)
def test_code(text, shown):
    assert code(text) == shown


@pytest.mark.parametrize("text", ["a`b|c", "\\", "\\|", "`", "``", "<b>|</b>", "[x](y)", "|||", "`|`"])
def test_a_cell_stays_a_cell_and_its_text_is_code(text):
    lines = [*table(("head", "number"), [(code(text), "1")], (Align.LEFT, Align.RIGHT))]
    assert lines[-1] == ""
    tokens = MARKDOWN.parse("\n".join(lines))
    cells = [token for token in tokens if token.type == "inline"]
    assert [[(child.type, child.content) for child in cell.children or []] for cell in cells] == [
        [("text", "head")],
        [("text", "number")],
        [("code_inline", text.replace("|", "\\x7c"))],
        [("text", "1")],
    ]


def test_no_rows_no_table():
    assert [*table(("a",), [])] == []
