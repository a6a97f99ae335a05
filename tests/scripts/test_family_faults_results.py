"""Results are kept by line: a run goes on where it stopped, and what was made with other code or tables does not count."""

from pathlib import Path

import pytest

from scripts.family_faults import results, runner
from scripts.family_faults.expected import Trial
from scripts.family_faults.registry import FAULTS
from scripts.family_faults.results import MODEL, Record

TRIAL = Trial("norm", "float32", "named", "epsilon 3e-05 instead of 0.0003")
KEYS = {name: f"key of {name}" for name in (MODEL, *(fault.name for fault in FAULTS))}


def record(fault: str, model_type: str = "llama", key: str | None = None) -> Record:
    return Record(model_type, fault, key or KEYS[fault], "llama", (TRIAL,), ("a note",))


def whole(model_type: str = "llama") -> dict[tuple[str, str], Record]:
    return {(model_type, name): record(name, model_type) for name in KEYS}


def test_a_line_is_read_as_it_was_written(tmp_path: Path):
    written = [record(name) for name in KEYS]
    results.append(written[:3], tmp_path / "folder" / "results-1-of-2.jsonl")
    results.append(written[3:], tmp_path / "folder" / "results-2-of-2.jsonl")
    assert sorted(results.load(tmp_path / "folder").values(), key=repr) == sorted(written, key=repr)


def test_nothing_measured_yet_is_nothing(tmp_path: Path):
    assert results.load(tmp_path / "absent") == {}


def test_half_a_line_is_left_out_and_does_not_spoil_the_next(tmp_path: Path):
    file = tmp_path / "results.jsonl"
    results.append([record("NaN")], file)
    with file.open("a", encoding="utf-8") as out:
        out.write(record("healthy").line()[:40])
    results.append([record("wrong shape")], file)
    assert set(results.load(tmp_path)) == {("llama", "NaN"), ("llama", "wrong shape")}


def test_the_newest_line_counts(tmp_path: Path):
    results.append([record("NaN", key="old"), record("NaN", key="new")], tmp_path / "results.jsonl")
    assert results.load(tmp_path)["llama", "NaN"].key == "new"


def test_only_what_is_not_measured_is_measured():
    done = whole()
    assert runner.lacking("llama", done, KEYS) == []
    done["llama", "NaN"] = record("NaN", key="of other code")
    del done["llama", "wrong shape"]
    assert [fault.name for fault in runner.lacking("llama", done, KEYS)] == ["wrong shape", "NaN"]
    assert runner.lacking("gpt2", done, KEYS) == list(FAULTS)


def test_a_model_that_could_not_be_built_is_not_built_again_for_the_same_code():
    known = {("llama", MODEL): Record("llama", MODEL, KEYS[MODEL], None, (), ("not built",))}
    assert runner.lacking("llama", known, KEYS) == []
    assert runner.lacking("llama", known, {**KEYS, MODEL: "new"}) == list(FAULTS)


def write_tables(folder: Path, llama: str) -> Path:
    folder.mkdir()
    (folder / "index.json").write_text('{"model_types": {"llama": "llama", "llava": "llava", "gpt2": "gpt2"}}')
    for name, text in {"llama": llama, "gpt2": "x", "llava": "[[part]]"}.items():
        (folder / f"{name}.toml").write_text(text)
    return folder


def test_a_table_that_changes_asks_again_for_its_own_family_and_for_those_with_parts(tmp_path: Path):
    def all_tables(llama: str) -> list[str]:
        data = write_tables(tmp_path / llama, llama)
        return [results.tables(each, data) for each in ("llama", "llava", "gpt2", "unknown")]

    first, second = all_tables("a"), all_tables("b")
    assert [one != other for one, other in zip(first, second, strict=True)] == [True, True, False, False]
    assert len(set(first)) == 4


def test_other_code_another_table_or_another_fault_is_another_key():
    keys = {results.key(*each) for each in (("a", "b", "c", "d"), ("x", "b", "c", "d"), ("a", "x", "c", "d"),
                                            ("a", "b", "x", "d"), ("a", "b", "c", "x"))}  # fmt: skip
    assert len(keys) == 5


def test_the_page_is_made_of_what_was_measured_with_this_code(tmp_path: Path):
    known = results.key("llama", "NaN", "code", results.tables("llama"))
    done = {("llama", "NaN"): record("NaN", key=known), ("llama", "healthy"): record("healthy", key="of other code")}
    assert list(results.current(done, "code")) == [("llama", "NaN")]
    assert results.current(done, "other code") == {}


def test_shards_share_out_all_model_types_and_none_twice():
    names = [f"type {number}" for number in range(10)]
    parts = [runner.shard(names, f"{number}/3") for number in (1, 2, 3)]
    assert sorted(name for part in parts for name in part) == names
    assert [len(part) for part in parts] == [4, 3, 3]


@pytest.mark.parametrize("part", ["0/4", "5/4", "1", "a/b", "1/0", "-1/4"])
def test_what_is_no_part_is_refused(part):
    with pytest.raises(ValueError, match="--shard: expected K/N"):
        runner.shard(["llama"], part)
