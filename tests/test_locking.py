"""What `ln-audit lock` writes, and what it refuses to lock."""

import os
from pathlib import Path

import numpy as np
import pytest

from ln_audit.demand import Demand
from ln_audit.errors import UsageError
from ln_audit.lock.reading import read
from ln_audit.lock.writing import text
from ln_audit.locking import former, made, told
from tests.lock.models import folder, held, lock
from tests.shared import FIXTURES
from tests.test_seven_containers import TENSORS, gguf

ALL = Demand(values="all")


def test_a_lock_of_the_sample_holds_the_sample():
    locked = lock("sample")
    assert (locked.identity, len(locked.norms)) == ("sample", 7)
    assert held("sample", locked).verdict.word == "pass"


def test_the_same_model_gives_the_same_bytes_wherever_it_lies(tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    one, two = lock(folder(tmp_path / "a" / "m")), lock(folder(tmp_path / "b" / "m"))
    assert text(one) == text(two)


@pytest.mark.parametrize(
    ("fixture", "verdict"),
    [
        ("bad/LN001-missing-norm", "fail"),
        ("bad/LN101-not-finite", "fail"),
        ("bad/LN001-unknown-family", "incomplete"),
        ("bad/LN008-wrong-epsilon-unknown", "incomplete"),
        ("hostile/safetensors/cut-short", "incomplete"),
    ],
)
def test_only_what_passes_is_locked(fixture, verdict):
    locking = made(str(FIXTURES / fixture), ALL)
    assert (locking.lock, locking.report.verdict.word) == (None, verdict)


def test_a_target_that_cannot_be_opened_gives_a_report_with_its_error(tmp_path):
    locking = made(str(tmp_path / "none"), ALL)
    assert locking.lock is None
    assert locking.report.error is not None
    assert locking.report.source.spec == str(tmp_path / "none")


def test_warnings_do_not_keep_it_from_being_locked():
    locking = made(str(FIXTURES / "good" / "nemotron-no-block-bias"), ALL)
    assert locking.lock is not None
    assert (
        told(locking, locking.lock, "x.lock", None)
        .splitlines()[1]
        .endswith(
            f"5 norms, 48 parameters, 4 warnings: see `ln-audit verify {FIXTURES / 'good' / 'nemotron-no-block-bias'}`"
        )
    )


def test_of_several_artifacts_one_must_be_named(tmp_path):
    for name in ("q4", "q8"):
        Path(gguf(tmp_path)).replace(tmp_path / f"{name}.gguf")
    with pytest.raises(UsageError) as caught:
        made(f"{tmp_path}/", ALL)
    assert str(caught.value) == f"{tmp_path}/: expected one artifact, found 2 (q4.gguf, q8.gguf)"
    assert caught.value.hint == (f"each has a lock of its own: ln-audit lock {tmp_path}/q4.gguf --output q4.gguf.lock")
    assert lock(str(tmp_path / "q4.gguf")).identity == "q4.gguf"


def test_final_values_alone_give_a_lock_that_says_so(tmp_path):
    locking = made(folder(tmp_path / "m"), Demand(values="final"))
    assert locking.lock is not None
    assert [bool(norm.gain and norm.gain.digests) for norm in locking.lock.norms] == [False] * 4 + [True]


def test_what_is_written_in_place_of_an_older_lock_says_what_has_changed(tmp_path):
    target, path = folder(tmp_path / "m"), str(tmp_path / "l")
    locking = made(target, ALL)
    assert locking.lock is not None
    assert former(path) is None
    Path(path).write_text(text(locking.lock))
    before = former(path)
    assert before == read(path)
    assert told(locking, locking.lock, path, before) == (
        f"LOCKED  {target} → {path}\n  5 norms, 80 parameters\n  no norm has changed since it was last written\n"
    )
    other = made(folder(tmp_path / "n", {**TENSORS, "ln_f.bias": TENSORS["ln_f.bias"] + np.float32(1)}), ALL)
    assert other.lock is not None
    assert told(other, other.lock, path, before).endswith("changed since it was last written: 1 norms (ln_f)\n")


def test_another_file_is_not_overwritten_and_an_unreadable_lock_is(tmp_path):
    folder(tmp_path / "m")
    model = tmp_path / "m" / "model.safetensors"
    with pytest.raises(UsageError, match="expected a lockfile to renew, or no file, found another file"):
        former(str(model))
    (tmp_path / "new").write_text('format = "ln-audit.lock/99"\n')
    (tmp_path / "empty").touch()
    assert [former(str(tmp_path / name)) for name in ("new", "empty", "none")] == [None] * 3


def test_a_pipe_that_nobody_reads_is_no_lockfile_to_be(tmp_path):
    os.mkfifo(tmp_path / "f.lock")
    (tmp_path / "link.lock").symlink_to("f.lock")
    for name in ("f.lock", "link.lock"):
        with pytest.raises(UsageError, match=f"{name}: expected a lockfile to renew, or no file, found a pipe"):
            former(str(tmp_path / name))
    assert former("a\0b") is None
