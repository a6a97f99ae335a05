"""What counts as noticed by another tool: a report that is another one than on the healthy conversion."""

import pytest

from scripts.bench_peers import cases, column, file_of, table
from scripts.source_faults.page import PAGE, PEERS
from scripts.source_faults.trial import WAYS


def test_a_report_is_held_to_the_one_on_the_healthy_conversion():
    told = {"healthy": "", "NaN": "a b", "one bit": ""}
    assert column(told, counted=True) == {"healthy": "✓", "NaN": "✓", "one bit": "–"}
    alarmed = {"healthy": 'a b {"a": 1}', "NaN": 'a b {"a": 1}', "one bit": 'a b {"a": 2}'}
    assert column(alarmed, counted=True) == {"healthy": "✗ 2", "NaN": "–", "one bit": "✓"}
    assert column({"healthy": "three words here"}, counted=False) == {"healthy": "✗ 1"}


def test_a_row_that_no_column_has_is_left_out():
    text = table({"ours": {"healthy": "✓", "NaN": "✓"}, "theirs": {"healthy": "✓"}})
    assert text.splitlines() == ["| fault | ours | theirs |", "|---|---|---|", "| healthy | ✓ | ✓ |", "| NaN | ✓ | … |"]


@pytest.mark.parametrize(
    "way", [WAYS[0], next(way for way in WAYS if way.artifact[0] == "gguf")], ids=lambda way: way.name
)
def test_every_fault_lies_in_a_folder_of_its_own_beside_source_and_healthy(way, tmp_path):
    made = cases("llama", way, tmp_path / "made")
    assert len(set(made.values())) == len(made) > 20
    assert {file_of(folder).rpartition("/")[2] for folder in made.values()} == {f"model.{way.artifact[0]}"}
    assert file_of(tmp_path / "made" / "source").endswith("model.safetensors")


def test_the_page_holds_both_families():
    text = PAGE.read_text(encoding="utf-8").partition(PEERS)[2]
    assert "### Llama\n" in text
    assert "### Gemma 2\n" in text
