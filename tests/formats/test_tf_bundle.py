import hashlib
import json
import shutil

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.numpy import load

from ln_audit.core import Declared, TensorInfo
from ln_audit.errors import FormatError, UnsupportedError
from ln_audit.formats import tf_bundle
from ln_audit.formats.crc32c import crc32c
from ln_audit.formats.dtypes import array
from ln_audit.sources.local import LocalSource
from tests.formats import tf_writer
from tests.formats.memory_source import MemorySource
from tests.formats.shared import shared

TENSORS: dict[str, np.ndarray] = {
    "model/ln_f/g": np.linspace(0.5, 2, 6, dtype=np.float32),
    "model/ln_f/b": np.linspace(-1, 1, 6, dtype=np.float16),
    "half": np.array([1.5, -0.0, np.inf], dtype=ml_dtypes.bfloat16),
    "counts": np.arange(-2, 4).reshape(2, 3),
    "mask": np.array([[True, False]]),
    "scalar": np.array(2.25),
    "nothing": np.zeros((3, 0), np.float32),
}
FILES = tf_writer.checkpoint(TENSORS)
INDEX, DATA = "model.ckpt.index", "model.ckpt.data-00000-of-00001"


def _open(files, file=INDEX):
    return tf_bundle.read_checkpoint(MemorySource(files), file)


def test_the_tensors_come_back_as_they_were_written():
    checkpoint = _open(FILES)
    stored = checkpoint.read(list(TENSORS))
    assert (checkpoint.format, checkpoint.files, checkpoint.declared) == ("tensorflow", (INDEX, DATA), ())
    assert checkpoint.tensors.keys() == stored.keys() == TENSORS.keys()
    for name, wrote in TENSORS.items():
        read = array(stored[name])
        assert (read.dtype, read.shape, read.tobytes()) == (wrote.dtype, wrote.shape, wrote.tobytes())
    assert checkpoint.tensors["counts"] == TensorInfo("counts", "I64", (2, 3), 48)
    assert checkpoint.tensors["half"] == TensorInfo("half", "BF16", (3,), 6)


def test_the_data_file_is_read_once_in_file_order_and_only_where_needed():
    source = MemorySource(FILES)
    checkpoint = tf_bundle.read_checkpoint(source, INDEX)
    source.reads.clear()
    checkpoint.read(["model/ln_f/g", "model/ln_f/b"])
    ((file, ranges),) = source.reads
    assert (file, [end - begin for begin, end in ranges]) == (DATA, [12, 24])
    assert ranges[0].end == ranges[1].begin


def test_the_checksum_of_a_tensor_that_is_read_is_held():
    damaged = bytearray(FILES[DATA])
    begin = len(FILES[DATA]) - TENSORS["scalar"].nbytes  # the last by name
    damaged[begin] ^= 1
    checkpoint = _open({INDEX: FILES[INDEX], DATA: bytes(damaged)})
    checkpoint.read(["model/ln_f/g"])
    with pytest.raises(FormatError, match=rf"^{DATA}: 'scalar': expected CRC32C 0x\w{{8}} as its index says, found 0x"):
        checkpoint.read(["scalar"])


@pytest.mark.parametrize("cut", [INDEX, DATA])
def test_a_checkpoint_cut_anywhere_is_refused(cut):
    for length in range(len(FILES[cut])):
        with pytest.raises(FormatError):
            _open(FILES | {cut: FILES[cut][:length]})


@given(st.integers(0, len(FILES[INDEX]) - 1), st.integers(1, 255))
@settings(max_examples=300)
def test_an_index_with_a_changed_byte_is_refused_or_reads_the_same(position, change):
    damaged = bytearray(FILES[INDEX])
    damaged[position] ^= change
    try:
        checkpoint = _open(FILES | {INDEX: bytes(damaged)})
    except FormatError:
        return
    assert checkpoint.tensors == _open(FILES).tensors


def test_bytes_behind_the_index_are_refused():
    with pytest.raises(FormatError, match="footer: expected the mark of a table file"):
        _open(FILES | {INDEX: FILES[INDEX] + b"\0"})


def test_an_index_without_its_data_is_refused_with_the_way_out():
    with pytest.raises(FormatError) as caught:
        _open({INDEX: FILES[INDEX]})
    assert caught.value.message == f"{INDEX}: 'scalar': expected {DATA} beside the index, found no such file"
    assert caught.value.hint == "an index holds no values: download the data files too"


def test_a_pointer_in_place_of_the_index_is_called_one():
    with pytest.raises(FormatError, match="found a Git LFS pointer to a file of 5,215 bytes"):
        _open({INDEX: b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 5215\n"})


def test_optimizer_copies_and_counters_are_left_aside_and_counted():
    model = {f"bert/LayerNorm/{part}": np.ones(4, np.float32) for part in ("gamma", "beta")}
    copies = {
        f"bert/LayerNorm/gamma/{of}": np.ones(4, np.float32) for of in ("adam_m", "adam_v", "ExponentialMovingAverage")
    }
    copies |= {
        "bert/LayerNorm/gamma_slot_v": np.ones(4, np.float32),
        "global_step": np.array(7),
        "beta1_power": np.array(0.9),
    }
    checkpoint = _open(tf_writer.checkpoint(model | copies))
    assert sorted(checkpoint.tensors) == sorted(model)
    assert checkpoint.declared == (
        Declared("tensors left aside", 6, f"{INDEX}, for example 'bert/LayerNorm/gamma/ExponentialMovingAverage'"),
    )


def test_an_average_whose_variable_is_not_there_is_the_model_itself():
    name = "ln_f/g/ExponentialMovingAverage"
    assert list(_open(tf_writer.checkpoint({name: np.ones(4, np.float32)})).tensors) == [name]


def test_object_graph_and_slots_of_tensorflow_2_are_left_aside():
    value = "/.ATTRIBUTES/VARIABLE_VALUE"
    items = [
        (b"", tf_writer.header()),
        (b"_CHECKPOINTABLE_OBJECT_GRAPH", tf_writer.entry(tf_writer.STRING, (), 16, bytes(9))),
        (f"layer/gamma{value}".encode(), tf_writer.entry(1, (1,), 0, bytes(4))),
        (f"layer/gamma/.OPTIMIZER_SLOT/optimizer/m{value}".encode(), tf_writer.entry(1, (1,), 12, bytes(4))),
        (f"optimizer/_trainable_variables/1{value}".encode(), tf_writer.entry(1, (1,), 0, bytes(4))),
        (f"optimizer/iter{value}".encode(), tf_writer.entry(3, (), 4, bytes(4))),
        (f"save_counter{value}".encode(), tf_writer.entry(3, (), 8, bytes(4))),
    ]
    checkpoint = _open({INDEX: tf_writer.table(items), DATA: bytes(25)})
    assert list(checkpoint.tensors) == [f"layer/gamma{value}", f"optimizer/_trainable_variables/1{value}"]
    assert checkpoint.declared[0].value == 4


def test_a_tensor_in_slices_is_listed_and_refused_when_its_values_are_asked_for():
    whole = tf_writer.entry(1, (4,), 0, b"", extra=tf_writer.nested(7, b"") * 2)
    items = [(b"", tf_writer.header()), (b"\0slice", tf_writer.entry(1, (2,), 0, bytes(8))), (b"w", whole)]
    checkpoint = _open({INDEX: tf_writer.table(items), DATA: bytes(16)})
    assert checkpoint.tensors == {"w": TensorInfo("w", "F32", (4,), 16)}
    with pytest.raises(UnsupportedError, match="(?m)^model.ckpt.index: 'w': expected it in one piece, found 2 slices$"):
        checkpoint.read(["w"])


def test_big_endian_values_are_refused():
    items = [(b"", tf_writer.header(1, 1)), (b"w", tf_writer.entry(1, (1,), 0, bytes(4)))]
    checkpoint = _open({INDEX: tf_writer.table(items), DATA: bytes(4)})
    with pytest.raises(UnsupportedError, match="byte order: expected little-endian, found big-endian"):
        checkpoint.read(["w"])


def test_tensors_come_from_the_data_file_that_the_index_names():
    items = [
        (b"", tf_writer.header(2)),
        (b"a", tf_writer.entry(1, (1,), 0, b"\0\0\x80?")),
        (b"b", tf_writer.entry(1, (1,), 0, b"\0\0\0@", shard=1)),
    ]
    files = {
        "v/x.index": tf_writer.table(items),
        "v/x.data-00000-of-00002": b"\0\0\x80?",
        "v/x.data-00001-of-00002": b"\0\0\0@",
    }
    checkpoint = _open(files, "v/x.index")
    assert [array(stored).tolist() for stored in checkpoint.read(["a", "b"]).values()] == [[1.0], [2.0]]
    assert checkpoint.files == ("v/x.index", "v/x.data-00000-of-00002", "v/x.data-00001-of-00002")


def test_a_data_file_that_the_header_does_not_count_is_refused():
    items = [(b"", tf_writer.header(1)), (b"a", tf_writer.entry(1, (1,), 0, bytes(4), shard=1))]
    with pytest.raises(FormatError, match="^model.ckpt.index: 'a': expected one of 1 data files, found 1$"):
        _open({INDEX: tf_writer.table(items), DATA: bytes(4)})


def test_an_index_without_a_header_is_refused():
    with pytest.raises(FormatError, match="^model.ckpt.index: expected a header under the empty key, found none$"):
        _open({INDEX: tf_writer.table([(b"w", tf_writer.entry(1, (1,), 0, bytes(4)))]), DATA: bytes(4)})


def test_recognises_its_own_beginning():
    assert tf_bundle.recognises(FILES[INDEX][:512])
    assert not tf_bundle.recognises(b"")
    assert not tf_bundle.recognises(bytes(512))


@pytest.fixture(scope="module")
def gpt2(tmp_path_factory):
    """OpenAI's own index; its data file with the real norms in their places and holes between them."""
    real = shared("real/gpt2-small")
    folder = tmp_path_factory.mktemp("openai-117M")
    for name in (INDEX, "hparams.json", "checkpoint"):
        shutil.copy(real / "openai-117M" / name, folder)
    norms = load((real / "norms.safetensors").read_bytes())
    checkpoint = tf_bundle.read_index(MemorySource({INDEX: (folder / INDEX).read_bytes()}), INDEX)
    with (folder / DATA).open("wb") as file:
        for name, values in norms.items():
            file.seek(checkpoint.entries[_as_openai(name)].begin)
            file.write(values.tobytes())
        file.truncate(max(entry.end for entry in checkpoint.entries.values()))
    return LocalSource(str(folder), folder, None)


def _as_openai(name: str) -> str:
    """h.0.ln_1.weight -> model/h0/ln_1/g"""
    *block, norm, part = name.split(".")
    return f"model/{''.join(block)}/{norm}/{part}".replace("//", "/").replace("weight", "g").replace("bias", "b")


def test_the_real_gpt2_small_as_openai_published_it(gpt2):
    checkpoint = tf_bundle.read_checkpoint(gpt2, INDEX)
    assert len(checkpoint.tensors) == 148
    assert sum(info.elements for info in checkpoint.tensors.values()) == 124_439_808
    assert [(fact.key, fact.value) for fact in checkpoint.declared] == [
        ("hparams.n_vocab", 50257),
        ("hparams.n_ctx", 1024),
        ("hparams.n_embd", 768),
        ("hparams.n_head", 12),
        ("hparams.n_layer", 12),
    ]
    facts = json.loads((shared("real/gpt2-small/facts.json")).read_text())["norms"]
    stored = checkpoint.read([_as_openai(name) for name in facts])
    assert len(facts) == 50
    for name, fact in facts.items():
        data = stored[_as_openai(name)].data
        assert (hashlib.sha256(data).hexdigest(), crc32c(data)) == (fact["sha256"], fact["crc32c"])
    assert {use.name: use.bytes_read for use in gpt2.used} == {INDEX: 5_215, DATA: 153_600, "hparams.json": 89}


def test_a_hole_in_place_of_a_tensor_is_seen_by_its_checksum(gpt2):
    with pytest.raises(
        FormatError, match=f"^{DATA}: 'model/h0/attn/c_attn/b': expected CRC32C 0x294e74d2 as its index"
    ):
        tf_bundle.read_checkpoint(gpt2, INDEX).read(["model/h0/attn/c_attn/b"])
