from __future__ import annotations

import json

import numpy as np
import pytest
from safetensors.numpy import save

from ln_audit.core import Range, ShardIndex, Stored, TensorInfo
from ln_audit.errors import FormatError, UnsupportedError
from ln_audit.formats.assembly import MAX_SHARDS, read_index, read_sharded
from ln_audit.formats.safetensors import read_checkpoint
from tests.formats.memory_source import MemorySource

INDEX = "model.safetensors.index.json"


def shard(**tensors: list[float]) -> bytes:
    return bytes(save({name: np.array(values, np.float32) for name, values in tensors.items()}, {"format": "pt"}))


def f32(*values: float) -> Stored:
    return Stored("F32", (len(values),), np.array(values, "<f4").tobytes())


def index(weight_map: object, **metadata: object) -> bytes:
    return json.dumps({"metadata": metadata, "weight_map": weight_map}).encode()


def two_shards() -> dict[str, bytes]:
    return {
        "1.safetensors": shard(a=[1, 2], b=[3]),
        "2.safetensors": shard(c=[4], d=[5, 6, 7]),
        INDEX: index(
            {"a": "1.safetensors", "b": "1.safetensors", "c": "2.safetensors", "d": "2.safetensors"}, total_size=28
        ),
    }


def test_shards_are_one_checkpoint():
    checkpoint = read_sharded(MemorySource(two_shards()), INDEX, read_checkpoint)
    assert (checkpoint.format, checkpoint.files) == ("safetensors", (INDEX, "1.safetensors", "2.safetensors"))
    assert checkpoint.tensors == {
        "a": TensorInfo("a", "F32", (2,), 8),
        "b": TensorInfo("b", "F32", (1,), 4),
        "c": TensorInfo("c", "F32", (1,), 4),
        "d": TensorInfo("d", "F32", (3,), 12),
    }
    assert checkpoint.index == ShardIndex(
        file=INDEX,
        weight_map={"a": "1.safetensors", "b": "1.safetensors", "c": "2.safetensors", "d": "2.safetensors"},
        holders={"a": ("1.safetensors",), "b": ("1.safetensors",), "c": ("2.safetensors",), "d": ("2.safetensors",)},
        total_size=28,
        actual_size=28,
    )
    assert checkpoint.read(["d", "a", "b"]) == {"a": f32(1, 2), "b": f32(3), "d": f32(5, 6, 7)}


def test_values_cost_one_read_per_shard_that_holds_any():
    source = MemorySource(two_shards())
    checkpoint = read_sharded(source, INDEX, read_checkpoint)
    source.reads.clear()
    checkpoint.read(["b", "d", "a"])
    end = len(source.contents["1.safetensors"])
    assert source.reads[0] == ("1.safetensors", (Range(end - 12, end - 4), Range(end - 4, end)))
    assert [file for file, _ in source.reads] == ["1.safetensors", "2.safetensors"]


def test_a_missing_shard_is_named_with_what_is_in_it():
    files = two_shards()
    del files["2.safetensors"]
    with pytest.raises(FormatError) as caught:
        read_sharded(MemorySource(files), INDEX, read_checkpoint)
    assert caught.value.message == f"{INDEX}: weight_map: expected 2.safetensors for 'c', found no such file"
    assert caught.value.hint == "2 of 4 tensors are in it: the download is not complete"


def test_a_shard_that_is_a_pointer_is_called_one():
    files = two_shards() | {"2.safetensors": b"version https://git-lfs.github.com/spec/v1\nsize 9932343992\n"}
    with pytest.raises(
        FormatError, match=r"^2\.safetensors: .* found a Git LFS pointer to a file of 9,932,343,992 bytes"
    ):
        read_sharded(MemorySource(files), INDEX, read_checkpoint)


def test_a_tensor_that_the_index_misplaces_is_read_from_where_it_is_and_recorded():
    weight_map = {"a": "2.safetensors", "c": "1.safetensors", "gone": "1.safetensors"}
    checkpoint = read_sharded(MemorySource(two_shards() | {INDEX: index(weight_map)}), INDEX, read_checkpoint)
    assert checkpoint.index is not None
    assert checkpoint.index.weight_map == weight_map
    assert checkpoint.index.holders["a"] == ("1.safetensors",)
    assert "gone" not in checkpoint.tensors
    assert checkpoint.read(["a", "c", "d"]) == {"a": f32(1, 2), "c": f32(4), "d": f32(5, 6, 7)}


def test_of_a_tensor_in_two_shards_the_indexs_copy_is_read_and_both_can_be():
    files = {
        "1.safetensors": shard(a=[1], both=[1, 1]),
        "2.safetensors": shard(c=[4], both=[2, 2]),
        INDEX: index({"a": "1.safetensors", "c": "2.safetensors", "both": "2.safetensors"}, total_size=99),
    }
    checkpoint = read_sharded(MemorySource(files), INDEX, read_checkpoint)
    assert checkpoint.index is not None
    assert checkpoint.read_from is not None
    assert checkpoint.index.holders["both"] == ("1.safetensors", "2.safetensors")
    assert (checkpoint.index.total_size, checkpoint.index.actual_size) == (99, 16)  # counted once
    assert checkpoint.read(["both"]) == {"both": f32(2, 2)}
    assert [checkpoint.read_from(file, "both") for file in ("1.safetensors", "2.safetensors")] == [f32(1, 1), f32(2, 2)]


def test_of_a_tensor_that_the_index_does_not_name_the_first_shards_copy_is_read():
    files = {
        "1.safetensors": shard(a=[1], x=[1]),
        "2.safetensors": shard(b=[2], x=[2]),
        INDEX: index({"a": "1.safetensors", "b": "2.safetensors"}),
    }
    checkpoint = read_sharded(MemorySource(files), INDEX, read_checkpoint)
    assert checkpoint.index is not None
    assert (checkpoint.index.holders["x"], checkpoint.read(["x"])) == (
        ("1.safetensors", "2.safetensors"),
        {"x": f32(1)},
    )


def test_shards_lie_in_the_folder_of_the_index():
    files = {f"text/{name}": data for name, data in two_shards().items()}
    checkpoint = read_sharded(MemorySource(files), f"text/{INDEX}", read_checkpoint)
    assert checkpoint.files == (f"text/{INDEX}", "text/1.safetensors", "text/2.safetensors")


@pytest.mark.parametrize(
    "name",
    ["../x", "/etc/passwd", "a/../../x", "./x", "a//x", "", "..", "..\\x", "C:/x", "C:\\x", "https://host/x",
     "x\0", "x\n", "x\u202e", "n" * 1_025, 7, None],
)  # fmt: skip
def test_shard_names_stay_inside_the_folder(name):
    source = MemorySource({INDEX: index({"a": name})})
    with pytest.raises(FormatError, match="weight_map: 'a': expected a file of this folder, found "):
        read_sharded(source, INDEX, read_checkpoint)
    assert source.asked == []


def test_shards_in_a_folder_below_are_inside():
    assert read_index(MemorySource({INDEX: index({"a": "deep/x.safetensors"})}), INDEX).weight_map == {
        "a": "deep/x.safetensors"
    }


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"[]", f"{INDEX}: expected a shard index, a JSON object, found []"),
        (b"{}", f"{INDEX}: weight_map: expected an object, found None"),
        (b'{"weight_map":["a"]}', f"{INDEX}: weight_map: expected an object, found ['a']"),
        (b'{"weight_map":{}}', f"{INDEX}: weight_map: expected at least one tensor, found none"),
        (b'{"weight_map":{"a":"1","a":"1"}}', f"{INDEX}: weight_map: 'a': expected one shard, found the tensor listed twice"),
        (b"<html>", f"{INDEX}: expected a shard index, found an HTML page"),
    ],
)  # fmt: skip
def test_an_index_that_is_none_is_refused(data, message):
    with pytest.raises(FormatError) as caught:
        read_index(MemorySource({INDEX: data}), INDEX)
    assert caught.value.message == message


@pytest.mark.parametrize(
    ("metadata", "total"),
    [('{"total_size": 5}', 5), ('{"total_size": 5.0}', 5), ('{"total_size": "5"}', None), ('{"total_size": true}', None),
     ('{"total_size": 5.5}', None), ('{"total_size": NaN}', None), ("{}", None), ("null", None), ("[]", None)],
)  # fmt: skip
def test_a_total_size_is_a_whole_number_or_not_known(metadata, total):
    data = f'{{"metadata":{metadata},"weight_map":{{"a":"1"}}}}'.encode()
    assert read_index(MemorySource({INDEX: data}), INDEX).total_size == total


def test_more_shards_than_any_model_has_are_refused_before_the_first_is_asked_for():
    as_many_as_may_be = MemorySource({INDEX: index({str(i): f"{i}.safetensors" for i in range(MAX_SHARDS)})})
    with pytest.raises(FormatError, match="found no such file"):
        read_sharded(as_many_as_may_be, INDEX, read_checkpoint)
    source = MemorySource({INDEX: index({str(i): f"{i}.safetensors" for i in range(MAX_SHARDS + 1)})})
    with pytest.raises(UnsupportedError, match="expected at most 4,096 shards, found 4,097"):
        read_sharded(source, INDEX, read_checkpoint)
    assert source.asked == []
