"""The fuzzer of the PyTorch reader: what it starts from is sound, and it would notice."""

from scripts import fuzz_torch
from scripts.fuzz_torch import good_files, main, outcome


def test_it_starts_from_files_that_are_read():
    assert [outcome(data) for data in good_files()] == ["read"] * 3
    assert outcome(b"PK") == "refused"


def test_it_counts_what_it_did(capsys):
    assert main(400, 0) == 0
    out = capsys.readouterr().out
    for container in ("zip", "legacy", "deflated zip", "pickle in a zip"):
        assert f"{container}: refused" in out
    assert "slowest" in out


def test_it_stops_where_a_file_does_not_give_what_its_header_says(monkeypatch, capsys):
    outcomes = iter(["read"] * 6)
    monkeypatch.setattr(fuzz_torch, "outcome", lambda _: next(outcomes, "odd"))
    assert main(400, 0) == 1
    assert capsys.readouterr().out.startswith("mutation 3 of seed 0: odd, []: b")
