"""How processes are measured: whole, with their memory, and never a failed one."""

import sys

import pytest

from scripts.bench_process import Command, environment, interleaved, median_seconds, run


def python(code: str, **env: str) -> Command:
    return Command("a test", (sys.executable, "-c", code), env)


def test_a_run_gives_its_time_its_memory_and_what_it_printed():
    found = run(python("import time; held = b'0' * 80_000_000; time.sleep(0.2); print(held[:1].decode())"))
    assert found.stdout == "0\n"
    assert 0.2 <= found.seconds < 20
    assert found.peak_bytes > 80_000_000  # a child of a large process, as here, starts with the peak of its parent


def test_a_command_that_fails_ends_the_benchmark_with_what_it_said():
    with pytest.raises(SystemExit) as ended:
        run(python("import sys; print('half a result'); sys.exit('no such model')"))
    assert ended.value.code == "a test: expected exit code 0, found 1\nhalf a result\nno such model\n"


def test_children_may_write_their_byte_code(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    assert "PYTHONDONTWRITEBYTECODE" not in environment({})
    assert run(python("import os; print(os.environ['HF_ENDPOINT'])", HF_ENDPOINT="http://x")).stdout == "http://x\n"


def test_commands_take_turns_after_one_run_each_that_does_not_count(tmp_path):
    log = tmp_path / "log"
    commands = [python(f"open({str(log)!r}, 'a').write({name!r})") for name in "ab"]
    found = interleaved(commands, times=3)
    assert log.read_text() == "ab" + "ab" * 3
    assert [len(runs) for runs in found] == [3, 3]
    assert median_seconds(found[0]) == sorted(each.seconds for each in found[0])[1]
