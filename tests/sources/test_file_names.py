"""Names that come out of files others wrote."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ln_audit.errors import SourceError
from ln_audit.sources.file_names import check_inside, printable


@pytest.mark.parametrize("name", ["model.safetensors", "a/b/c.bin", "..model", "a..b", "with space", "é.json"])
def test_a_name_inside_the_folder_is_taken(name):
    check_inside("folder", name)


@pytest.mark.parametrize(
    "name",
    [
        "",
        "/etc/passwd",
        "../x",
        "a/../../x",
        "a//b",
        "a/",
        ".",
        "./x",
        "..\\x",
        "\\x",
        "C:/x",
        "c:\\x",
        "a\0b",
        "\ud800",
        "n" * 1025,
    ],
)
def test_a_name_that_leads_outside_or_cannot_be_a_file_is_refused(name):
    with pytest.raises(SourceError) as error:
        check_inside("folder", name)
    assert error.value.message == f"folder: expected a file name inside the folder, found {printable(name)!r}"


def test_control_characters_never_reach_a_message_and_long_names_are_cut():
    assert printable("a\x1b[31m\nb\u202e") == "a?[31m?b?"
    assert printable("x" * 300) == "x" * 199 + "…"


@given(st.text())
def test_any_text_is_shown_on_one_printable_line(text):
    shown = printable(text)
    assert len(shown) <= 200
    assert shown.isprintable()
