"""The door answers --version itself and hands everything else to the command line."""

import gc
import os
import sys

import pytest

from ln_audit import __main__, cli


def test_the_door(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["ln-audit", "--version"])
    assert __main__.main() == 0
    assert capsys.readouterr().out == "ln-audit 0.1.0\n"
    monkeypatch.setattr(sys, "argv", ["ln-audit", "verify", "--version"])
    assert __main__.main() == 2


@pytest.mark.parametrize(
    ("words", "threads"),
    [(["verify", "x"], "1"), (["record", "x"], None), (["verify", "x", "--record"], None)],
)
def test_numpys_blas_starts_no_threads_but_for_a_model_that_is_run(words, threads, monkeypatch):
    monkeypatch.delenv("OPENBLAS_NUM_THREADS", raising=False)
    seen = _environment_in_a_call(words, monkeypatch)
    assert seen.get("OPENBLAS_NUM_THREADS") == threads


def test_a_number_of_threads_that_a_user_set_is_kept(monkeypatch):
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "3")
    assert _environment_in_a_call(["verify", "x"], monkeypatch)["OPENBLAS_NUM_THREADS"] == "3"


def _environment_in_a_call(words, monkeypatch):
    environment = dict(os.environ)
    monkeypatch.setattr(os, "environ", environment)  # what the door sets goes no further
    monkeypatch.setattr(sys, "argv", ["ln-audit", *words])
    monkeypatch.setattr(cli, "main", lambda _: 0)
    threshold = gc.get_threshold()
    try:
        assert __main__.main() == 0
    finally:
        gc.set_threshold(*threshold)
        gc.unfreeze()
    return environment
