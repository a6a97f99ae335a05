"""The same verdicts for other programs, and the same refusals of a call that makes no sense."""

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from ln_audit import in_process
from ln_audit.errors import UsageError
from ln_audit.in_process import VerdictError, passed, text, told, verified
from tests.shared import FIXTURES

GOOD, BAD, UNKNOWN = FIXTURES / "good" / "gpt2-recorded", FIXTURES / "bad" / "LN101-not-finite", "./none"


def test_reports_are_those_of_the_command_line(capsys):
    from ln_audit import cli

    assert cli.main(["verify", str(BAD)]) == 1
    assert text(verified(BAD)) == capsys.readouterr().out


@pytest.mark.parametrize(
    ("target", "options", "verdict"),
    [
        (GOOD, {}, "pass"),
        (GOOD, {"recording": GOOD / "run.safetensors", "against": GOOD, "values": "all"}, "pass"),
        (GOOD, {"recording": [str(GOOD / "run.safetensors")], "require": ("off-reference",)}, "pass"),
        (GOOD, {"require": "off-reference"}, "incomplete"),
        (GOOD, {"eps": 1e-6, "lock": None}, "fail"),
        (GOOD, {"against": str(FIXTURES / "good" / "gpt2-negative-gain"), "expect": "derived"}, "pass"),
        (BAD, {}, "fail"),
        (UNKNOWN, {"offline": True}, "incomplete"),
    ],
)
def test_options_mean_what_they_mean_there(target, options, verdict):
    (report,) = verified(target, **options)
    assert report.verdict.word == verdict
    assert passed([report]) == (verdict == "pass")


def test_a_target_that_the_policy_names_is_held_to_what_it_says_of_it(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "ln-audit.toml").write_text(
        f'[[target]]\ntarget = "{GOOD}"\ndigests.files = {{"model.safetensors" = "{"0" * 64}"}}\n'
        f'[[target]]\ntarget = "{GOOD}"\nrequire = ["off-reference"]\n'
    )
    assert [report.verdict.word for report in verified(GOOD)] == ["fail", "incomplete"]
    assert [report.verdict.word for report in verified(FIXTURES / "good" / "gpt2-bare-names")] == ["pass"]


def test_nothing_verified_is_no_pass():
    assert not passed([])
    assert told([]) == "nothing was verified"
    assert in_process.VerdictError([]).message == "nothing was verified"


def test_the_worst_is_told_first_and_on_one_line():
    reports = [*verified(GOOD), *verified(UNKNOWN), *verified(BAD)]
    line = told(reports)
    assert line.startswith(f"FAIL {BAD}: LN101 not-finite: ")
    assert [word for word in line.split() if word.isupper() and word.isalpha()] == ["FAIL", "INCOMPLETE", "PASS"]
    error = VerdictError(reports)
    assert (error.reports, error.message, error.kind) == (tuple(reports), line, "verdict")
    (blind,) = verified(GOOD, require="off-reference")
    assert told([blind]).startswith(f"INCOMPLETE {GOOD}: LN201 off-reference: no recorded hidden states")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"thorough": True}, "option: expected one of after, against, .*, found thorough"),
        ({"locked": None}, "found locked"),
        ({"strict": "yes"}, "strict: expected a switch, found 'yes'"),
        ({"eps": "1e-5"}, "eps: expected a number, found '1e-5'"),
        ({"eps": float("nan")}, "eps: expected a finite number"),
        ({"family": 3}, "family: expected a word or a path, found 3"),
        ({"require": [1]}, "require: expected a word or a path, found 1"),
        ({"require": "LN998"}, "LN998"),
        ({"values": "some"}, "--values: expected final or all, found 'some'"),
        ({"expect": "same"}, "--expect: expected --against"),
        ({"lock": "none.lock"}, "none.lock: expected a lockfile that can be read"),
    ],
)
def test_a_call_that_makes_no_sense_is_refused(options, message):
    with pytest.raises(UsageError, match=message):
        verified(GOOD, **options)


def test_a_target_is_a_word_or_a_path():
    with pytest.raises(UsageError, match="target: expected a word or a path, found None"):
        verified(None)  # type: ignore[arg-type]


def test_an_error_says_the_way_out_of_the_worst():
    (wrong,) = (each for each in verified(BAD)[0].findings if each.status == "fail")
    assert VerdictError(verified(BAD)).hint == wrong.reason != ""
    missing = VerdictError([*verified(GOOD), *verified(f"{GOOD}x")])
    assert missing.hint.startswith("did you mean ")
    assert missing.__notes__ == [f"→ {missing.hint}"]
    (unknown,) = verified(FIXTURES / "bad" / "LN001-unknown-family")
    assert VerdictError([unknown]).hint == "see .reports, or run ln-audit verify on it"
    with pytest.raises(UsageError, match=r"found agianst: did you mean against\?$"):
        verified(GOOD, agianst="base")


def test_what_one_line_leaves_out_is_said_by_the_command_it_ends_with(tmp_path):
    folder = tmp_path / "two words"
    folder.mkdir()
    (folder / "config.json").write_bytes((GOOD / "config.json").read_bytes())
    tensors = load_file(GOOD / "model.safetensors")
    tensors["transformer.ln_f.weight"][0] = tensors["transformer.h.0.ln_1.weight"][0] = np.nan
    save_file(tensors, folder / "model.safetensors")
    reports = verified(folder)
    assert sum(each.status == "fail" for each in reports[0].findings) == 2
    assert told(reports).endswith(f" (and 1 more: ln-audit verify '{folder}')")
