from dataclasses import replace

from ln_audit.checks import shard_index
from ln_audit.core import ShardIndex
from tests.checks.subject_builder import WHOLE, floats, found, norm, stored, subject

INDEX = ShardIndex(
    "i.json", {"ln_f.weight": "a", "ln_f.bias": "b"}, {"ln_f.weight": ("a",), "ln_f.bias": ("b",)}, 32, 32
)


def sharded(index, **changes):
    made = subject(WHOLE, norm(), **changes)
    return replace(made, checkpoint=replace(made.checkpoint, index=index))


def test_a_whole_file_has_no_index():
    assert found(shard_index, subject(WHOLE, norm())) == []


def test_a_true_index_passes():
    assert found(shard_index, sharded(INDEX)) == [
        ("pass", "i.json", "2 tensors are in the shards that the index names")
    ]
    assert found(shard_index, sharded(replace(INDEX, total_size=None)))[0][0] == "pass"


def test_a_tensor_that_is_elsewhere_or_nowhere_fails():
    moved = replace(INDEX, holders={"ln_f.weight": ("b",), "wte.weight": ("a",)})
    assert found(shard_index, sharded(moved))[:2] == [
        ("fail", "ln_f.weight", "i.json: ln_f.weight: expected in a, found in b"),
        ("fail", "ln_f.bias", "i.json: ln_f.bias: expected in b, found in no shard"),
    ]


def test_many_misplaced_tensors_are_counted_not_listed():
    many = ShardIndex("i.json", {f"t{i}": "a" for i in range(50)}, {"t": ("a",)}, None, 0)
    said = [each for each in found(shard_index, sharded(many)) if each[0] == "fail"]
    assert len(said) == 21
    assert said[-1] == ("fail", "i.json", "i.json: 30 more tensors: expected in the shard that the index names")


def test_an_empty_shard_is_one_failure_however_many_tensors_it_was_to_hold():
    empty = ShardIndex("i.json", {"t": "a", **{f"t{i}": "b" for i in range(50)}}, {"t": ("a",)}, 9000, 0)
    assert found(shard_index, sharded(empty)) == [("fail", "b", "i.json: b: expected 50 tensors, found none")]


def test_a_stale_total_size_is_a_warning():
    assert found(shard_index, sharded(replace(INDEX, total_size=48)))[0] == (
        "warn", "i.json", "i.json: total_size: expected 32 bytes, found 48",
    )  # fmt: skip


def test_a_norm_in_two_shards_is_read_from_both():
    doubled = replace(INDEX, holders={**INDEX.holders, "ln_f.weight": ("a", "b")})
    same, other = stored(WHOLE["ln_f.weight"]), stored(floats(9, 9, 9, 9))
    for copy, status, message in (
        (same, "warn", "i.json: ln_f.weight: expected in one shard, found the same values in a and b"),
        (other, "fail", "i.json: ln_f.weight: expected one value, found different ones in a and b"),
    ):
        made = sharded(doubled)
        copies = {"a": same, "b": copy}
        made = replace(
            made, checkpoint=replace(made.checkpoint, read_from=lambda shard, name, copies=copies: copies[shard])
        )
        assert found(shard_index, made)[0] == (status, "ln_f.weight", message)


def test_a_doubled_tensor_whose_values_were_not_read_is_a_warning():
    doubled = replace(INDEX, holders={**INDEX.holders, "ln_f.weight": ("a", "b")})
    assert found(shard_index, sharded(doubled, read=False))[0] == (
        "warn", "ln_f.weight", "i.json: ln_f.weight: expected in one shard, found in a and b",
    )  # fmt: skip
