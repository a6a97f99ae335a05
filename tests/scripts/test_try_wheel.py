"""What `make wheel` would complain of."""

import sys
from pathlib import Path

from scripts.try_wheel import CASES, Case, complaints, extras_found

MODULE = [sys.executable, "-m", "ln_audit"]


def test_every_exit_code_is_among_its_calls():
    assert {case.code for case in CASES} == {0, 1, 2, 3}


def test_this_program_does_what_it_should(tmp_path):
    assert complaints(MODULE, CASES, tmp_path) == []


def test_another_exit_code_and_another_output_are_complaints(tmp_path):
    wrong = (Case(("--version",), 1, "ln-audit "), Case(("verify", "sample"), 0, "FAIL"))
    name = Path(sys.executable).name
    assert complaints(MODULE, wrong, tmp_path) == [
        f"{name} -m ln_audit --version: expected exit 1 and 'ln-audit ', found 0 and 'ln-audit '",
        f"{name} -m ln_audit verify sample: expected exit 0 and 'FAIL', found 0 and 'PASS'",
    ]


def test_packages_of_extras_are_seen():
    assert extras_found("numpy==2.4\nonnx==1.17\nTorch==2.13\ntyper==0.29\n") == ["onnx", "torch"]
    assert extras_found("numpy==2.4\n") == []
