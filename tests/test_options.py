"""A call that contradicts itself is refused before anything is opened."""

import pytest

from ln_audit import options
from ln_audit.cli import app
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
        (Demand(require=("LN998",)), "rule 'LN998': expected one of LN001 missing-norm"),
    ],
)
def test_a_wrong_call(demand, message):
    with pytest.raises(UsageError) as caught:
        options.check(demand, ["a"])
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize(
    "demand", [Demand(recordings=("r",)), Demand(before="b", after="a"), Demand(norm="n"), Demand(eps=1e-5)]
)
def test_what_belongs_to_one_target_needs_one(demand):
    options.check(demand, ["a"])
    with pytest.raises(UsageError, match="expected one target, found 2"):
        options.check(demand, ["a", "b"])


@pytest.mark.parametrize(("text", "value"), [(None, None), ("1e-5", 1e-5), ("0", 0.0)])
def test_numbers(text, value):
    assert options.number("--eps", text) == value


@pytest.mark.parametrize("text", ["nan", "inf", "", "1e", "1,5"])
def test_what_is_no_finite_number_is_refused(text):
    with pytest.raises(UsageError, match=r"--eps: expected a (finite )?number, found "):
        options.number("--eps", text)


def test_the_help_that_belongs_to_a_call():
    for command in app.registered_commands:
        name = getattr(command.callback, "__name__", "")
        assert options.help_for([name, "--x"]) == f"ln-audit {name} --help"
    assert options.help_for(["--x"]) == options.help_for(["nonsense"]) == "ln-audit --help"


def test_a_lock_is_read_once_before_anything_is_opened(tmp_path):
    lock = FIXTURES / "good" / "gpt2-locked" / "ln-audit.lock"
    (tmp_path / "l").write_bytes(lock.read_bytes())
    checked = options.check(Demand(lock=str(tmp_path / "l")), ["a", "b"])
    assert checked.locked is not None
    assert (checked.locked.where, len(checked.locked.norms)) == (str(tmp_path / "l"), 5)
    with pytest.raises(UsageError, match="none: expected a lockfile that can be read"):
        options.check(Demand(lock="none"), ["a"])
    with pytest.raises(UsageError, match="--lock: expected a target that it applies to, found none"):
        options.check(Demand(lock=str(tmp_path / "l"), recordings=("r",)), [])


def test_the_targets_of_a_policy_count_as_those_of_the_call(tmp_path):
    (tmp_path / "p.toml").write_text('targets = ["a", "b"]\n')
    checked = options.check(Demand(), [], str(tmp_path / "p.toml"))
    assert checked.policy is not None
    assert [each.target for each in checked.policy.targets] == ["a", "b"]
    with pytest.raises(UsageError, match="--norm: expected one target, found 2"):
        options.check(Demand(norm="n"), [], str(tmp_path / "p.toml"))
    options.check(Demand(norm="n"), ["a"], str(tmp_path / "p.toml"))
    (tmp_path / "p.toml").write_text("targets = []\n")
    with pytest.raises(UsageError, match="targets: expected a target, ") as caught:
        options.check(Demand(), [], str(tmp_path / "p.toml"))
    assert caught.value.hint == f"{tmp_path / 'p.toml'} names no target either"
