"""A call that contradicts itself is refused before anything is opened."""

import pytest

from ln_audit import call
from ln_audit.demand import Demand
from ln_audit.errors import UsageError
from tests.shared import FIXTURES


@pytest.mark.parametrize(
    ("demand", "message"),
    [
        (
            Demand(output_dtype="int8"),
            "--output-dtype: expected one of float32, bfloat16, float16, float64, found 'int8'",
        ),
        (
            Demand(before_rounded="f16"),
            "--before-rounded: expected one of float32, bfloat16, float16, float64, found 'f16'",
        ),
        (Demand(after="x"), "--before and --after: expected both or neither, found one"),
        (Demand(eps=0.0), "--eps: expected a positive number, found 0.0"),
        (Demand(kind="batch_norm"), "--kind: expected layer_norm or rms_norm, found 'batch_norm'"),
        (Demand(config="none.json"), "--config none.json: expected a file, found none"),
        (Demand(full=True, offline=True), "--full and --offline: expected one of them, found both"),
        (Demand(require=("LN998",)), "rule 'LN998': expected a rule's id or name"),
    ],
)
def test_a_wrong_call(demand, message):
    with pytest.raises(UsageError) as caught:
        call.sound(demand, ["a"])
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize(
    "demand", [Demand(recordings=("r",)), Demand(before="b", after="a"), Demand(norm="n"), Demand(eps=1e-5)]
)
def test_what_belongs_to_one_target_needs_one(demand):
    call.sound(demand, ["a"])
    with pytest.raises(UsageError, match="expected one target, found 2"):
        call.sound(demand, ["a", "b"])


def test_a_lock_is_read_once_before_anything_is_opened(tmp_path):
    lock = FIXTURES / "good" / "gpt2-locked" / "ln-audit.lock"
    (tmp_path / "l").write_bytes(lock.read_bytes())
    checked = call.sound(Demand(lock=str(tmp_path / "l")), ["a", "b"])
    assert checked.locked is not None
    assert (checked.locked.where, len(checked.locked.norms)) == (str(tmp_path / "l"), 5)
    with pytest.raises(UsageError, match="none: expected a lockfile that can be read"):
        call.sound(Demand(lock="none"), ["a"])
    with pytest.raises(UsageError, match="--lock: expected a target that it applies to, found none"):
        call.sound(Demand(lock=str(tmp_path / "l"), recordings=("r",)), [])


def test_the_words_of_expect_and_values():
    assert (call.expect(None, None), call.expect("derived", "x"), call.values("final")) == ("same", "derived", "final")
    with pytest.raises(UsageError, match="--expect: expected same or derived, found 'equal'"):
        call.expect("equal", "x")
    with pytest.raises(UsageError, match="--expect: expected --against, which it belongs to, found none"):
        call.expect("same", None)
    with pytest.raises(UsageError, match="--values: expected final or all, found 'none'"):
        call.values("none")


def test_the_policy_of_the_working_directory_is_read(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert call.under_policy(Demand(), ["a"]).policy is None
    (tmp_path / "ln-audit.toml").write_text("")
    found = call.under_policy(Demand(), ["a"]).policy
    assert found is not None
    assert found.path == "ln-audit.toml"


def test_the_targets_of_a_policy_count_as_those_of_the_call(tmp_path):
    (tmp_path / "p.toml").write_text('targets = ["a", "b"]\n')
    checked = call.under_policy(Demand(), [], str(tmp_path / "p.toml"))
    assert checked.policy is not None
    assert [each.target for each in checked.policy.targets] == ["a", "b"]
    with pytest.raises(UsageError, match="--norm: expected one target, found 2"):
        call.under_policy(Demand(norm="n"), [], str(tmp_path / "p.toml"))
    call.under_policy(Demand(norm="n"), ["a"], str(tmp_path / "p.toml"))
    (tmp_path / "p.toml").write_text("targets = []\n")
    with pytest.raises(UsageError, match="targets: expected a target, ") as caught:
        call.under_policy(Demand(), [], str(tmp_path / "p.toml"))
    assert caught.value.hint == f"{tmp_path / 'p.toml'} names no target either"
