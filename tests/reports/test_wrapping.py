"""Lines hang below where their text began, at a terminal's width; nowhere else are they broken."""

import pytest

from ln_audit.reports.wrapping import HANG, laid_out

LINE = f"  family       {HANG}one two three four five six seven eight nine ten eleven twelve thirteen"


def test_without_a_width_an_item_is_a_line():
    assert laid_out([LINE, "", ""], None) == LINE.replace(HANG, "") + "\n"


@pytest.mark.parametrize("width", [20, 60])
def test_what_does_not_fit_hangs(width):
    assert laid_out([LINE], width) == (
        "  family       one two three four five six seven eight nine\n               ten eleven twelve thirteen\n"
    )


def test_a_line_without_a_mark_hangs_two_further_than_it_begins():
    assert laid_out(["  " + "word " * 14 + "end"], 60).splitlines() == [
        "  word word word word word word word word word word word",
        "    word word word end",
    ]


def test_long_words_and_what_is_to_be_copied_stay_whole():
    path, literal = "x/" * 50, " " * 8 + "a = 1 " * 20
    assert laid_out([f"  {HANG}{path}", literal], 60) == f"  {path}\n{literal}\n"


def test_no_line_of_a_log_is_a_command():
    assert (
        laid_out(["  ::error::x", "::stop-commands::y", "a ::b"], None)
        == "  \\x3a:error::x\n\\x3a:stop-commands::y\na ::b\n"
    )
    broken = laid_out([f"    – {HANG}" + "word " * 10 + "::error::x"], 60)
    assert broken.splitlines()[1] == "      \\x3a:error::x"
