"""The stand-in for a model of 70 thousand million parameters: its names, its shapes, its size, and almost no disk."""

from math import prod

from ln_audit.audit import audit
from ln_audit.demand import Demand
from scripts import sparse_llama


def test_it_has_the_parameters_of_llama_70b():
    shapes = sparse_llama.shapes()
    assert sum(map(prod, shapes.values())) == 70_553_706_496
    assert sum(sparse_llama.is_norm(name) for name in shapes) == 161


def test_every_tensor_lies_in_one_shard_and_shards_are_of_one_size():
    parts = sparse_llama.placed(80, 30)
    assert [name for part in parts for name in part] == list(sparse_llama.shapes())
    sizes = [sum(2 * prod(sparse_llama.shapes()[name]) for name in part) for part in parts]
    assert len(parts) == 30
    assert max(sizes) < 1.5 * min(sizes)


def test_two_of_them_are_the_same_and_cost_only_their_norms(tmp_path):
    for name in ("artifact", "source"):
        size = sparse_llama.write(tmp_path / name, layers=2, shards=3)
    (report,) = audit(str(tmp_path / "artifact"), Demand(against=str(tmp_path / "source")))
    assert report.verdict.word == "pass"
    assert report.against is not None
    assert report.against.pairs == 5
    assert sum(path.stat().st_size for path in (tmp_path / "source").glob("*.safetensors")) > size > 7_000_000_000
    assert report.source.bytes_read < 200_000
    disk = sum(path.stat().st_blocks * 512 for path in tmp_path.glob("*/*"))
    assert disk < 1_000_000
