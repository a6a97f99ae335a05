import io
import json
import zipfile

import ml_dtypes
import numpy as np
import pytest

from ln_audit.core import Declared, NormSite, TensorInfo
from ln_audit.errors import FormatError, UnsupportedError
from ln_audit.formats import keras
from ln_audit.formats.dtypes import array
from tests.formats.hdf5_writer import hdf5
from tests.formats.memory_source import MemorySource, folder

GAIN, BIAS = np.linspace(0.5, 2, 6, dtype=np.float32), np.linspace(-1, 1, 6, dtype=np.float32)
TREE = {"layers": {"layer_normalization": {"vars": {"0": GAIN, "1": BIAS}}, "dense": {"vars": {"0": np.eye(6)}}}}
TEXTS = {"layers/layer_normalization/vars": {"name": "ln_f"}}
LN = {"module": "keras.layers", "class_name": "LayerNormalization", "config": {"name": "ln_f", "epsilon": 1e-5}}
CONFIG = {
    "class_name": "Functional",
    "config": {"layers": [LN, {"class_name": "Lambda", "config": {"function": "boom"}}]},
}
WEIGHTS = hdf5(TREE, TEXTS)
NAMES = ("layers/layer_normalization/vars/0", "layers/layer_normalization/vars/1")


def zipped(weights: bytes = WEIGHTS, config=CONFIG, method=zipfile.ZIP_STORED) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as archive:
        archive.writestr("metadata.json", '{"keras_version": "3.15.1"}')
        archive.writestr("config.json", json.dumps(config))
        archive.writestr("model.weights.h5", weights)
    return out.getvalue()


def _open(data: bytes, file: str = "m.keras"):
    return keras.read_checkpoint(MemorySource({file: data}), file)


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_variables_come_back_and_norms_are_those_of_the_configuration(method):
    checkpoint = _open(zipped(method=method))
    assert (checkpoint.format, checkpoint.files) == ("keras", ("m.keras",))
    assert checkpoint.tensors[NAMES[0]] == TensorInfo(NAMES[0], "F32", (6,), 24)
    assert checkpoint.norm_sites == (
        NormSite("ln_f", "layer_norm", *NAMES, 1e-5, "m.keras: config.json: epsilon of LayerNormalization 'ln_f'"),
    )
    stored = checkpoint.read(NAMES)
    assert [array(stored[name]).tolist() for name in NAMES] == [GAIN.tolist(), BIAS.tolist()]


def test_only_what_is_needed_is_read():
    source = MemorySource({"m.keras": zipped(hdf5(TREE | {"big": np.zeros(1_000_000)}, TEXTS))})
    checkpoint = keras.read_checkpoint(source, "m.keras")
    checkpoint.read(NAMES)
    assert sum(end - begin for _, ranges in source.reads for begin, end in ranges) < 200_000


def test_weights_alone_have_no_epsilon():
    checkpoint = _open(WEIGHTS, "m.weights.h5")
    where = "m.weights.h5: no configuration in the file"
    assert checkpoint.norm_sites == (NormSite("ln_f", "layer_norm", *NAMES, None, where),)


def test_a_legacy_file_has_its_configuration_in_an_attribute():
    tree = {"model_weights": {"ln_f": {"ln_f": {"gamma:0": GAIN, "beta:0": BIAS}}}, "optimizer_weights": {"m": GAIN}}
    data = hdf5(tree, {"": {"model_config": json.dumps(CONFIG), "keras_version": "2.11.0"}})
    checkpoint = _open(data, "m.h5")
    names = ("model_weights/ln_f/ln_f/gamma:0", "model_weights/ln_f/ln_f/beta:0")
    assert checkpoint.norm_sites == (
        NormSite("ln_f", "layer_norm", *names, 1e-5, "m.h5: model_config: epsilon of LayerNormalization 'ln_f'"),
    )
    assert sorted(checkpoint.tensors) == sorted(names)
    assert checkpoint.declared == (
        Declared("keras_version", "2.11.0", "m.h5"),
        Declared("datasets left aside", 1, "m.h5"),
    )


def test_bfloat16_is_known_by_what_keras_says_of_it():
    half = GAIN.astype(ml_dtypes.bfloat16)
    checkpoint = _open(hdf5({"a": half, "b": half, "c": GAIN.astype(">f4")}, {"a": {"dtype": "bfloat16"}}), "m.h5")
    assert [checkpoint.tensors[name].dtype for name in "abc"] == ["BF16", "V2", "F32"]
    assert array(checkpoint.read(["a"])["a"]).tobytes() == half.tobytes()
    assert array(checkpoint.read(["c"])["c"]).tolist() == GAIN.tolist()
    with pytest.raises(UnsupportedError, match="(?m)^m.h5: 'b': expected numbers, found V2, two bytes without a type$"):
        checkpoint.read(["b"])


@pytest.mark.parametrize("data", [zipped(), WEIGHTS], ids=["keras", "h5"])
def test_a_file_cut_anywhere_is_refused(data):
    for length in range(0, len(data), 7):
        with pytest.raises(FormatError):
            _open(data[:length])


@pytest.mark.parametrize("data", [zipped(), WEIGHTS], ids=["keras", "h5"])
def test_a_flipped_byte_anywhere_is_read_or_refused(data):
    outcomes = {"read": 0, "refused": 0}
    for position in range(len(data)):
        damaged = bytearray(data)
        damaged[position] ^= 0x21
        try:
            checkpoint = _open(bytes(damaged))
            for stored in checkpoint.read(list(checkpoint.tensors)).values():
                assert len(stored.data) >= 0
            outcomes["read"] += 1
        except FormatError:
            outcomes["refused"] += 1
    assert min(outcomes.values()) > 0, outcomes


@pytest.mark.parametrize(
    ("data", "found"),
    [
        (b"", "m.keras: expected a Keras model, found an empty file (0 bytes)"),
        (b"\x80\x04" + bytes(80), "m.keras: expected a Keras model, found a Python pickle"),
        (zipped(config=[1]), "m.keras: config.json: expected a model configuration, a JSON object, found [1]"),
        (hdf5({}), "m.keras: expected variables of layers, found none among 0 datasets"),
    ],
)
def test_what_is_no_model_is_called_what_it_is(data, found):
    with pytest.raises(FormatError) as caught:
        _open(data)
    assert caught.value.message == found


def test_an_archive_without_weights_is_refused():
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("config.json", "{}")
    with pytest.raises(
        FormatError, match=r"^m.keras: expected model.weights.h5 in the archive, found \['config.json'\]$"
    ):
        _open(out.getvalue())


def test_recognises_its_own_beginnings_and_not_those_of_other_archives():
    assert keras.recognises(WEIGHTS[:512])
    assert keras.recognises(zipped()[:512])
    assert not keras.recognises(b"")
    assert not keras.recognises(zipped()[:512].replace(b"metadata.json", b"archive/a.pkl"))


@pytest.mark.peers
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ["m.keras", "m.weights.h5", "m.h5"])
def test_models_of_keras_itself(tmp_path, name):
    k = pytest.importorskip("keras", reason="needs Keras with a backend")
    layers = k.layers
    inner = k.Sequential([k.Input((4, 6)), layers.LayerNormalization(name="inner_ln", scale=False), layers.Dense(3)])
    x = layers.Normalization(mean=0.0, variance=1.0)(start := k.Input((4, 6)))
    x = layers.LayerNormalization(epsilon=1e-6, name="ln_1")(x)
    x = layers.BatchNormalization()(layers.Dense(6)(x))
    x = layers.RMSNormalization(epsilon=1e-5, name="rms")(layers.LayerNormalization(name="ln_f", center=False)(x))
    model = k.Model(start, inner(x))
    for weight in model.weights:
        weight.assign(np.random.default_rng(1).standard_normal(weight.shape))
    model.save_weights(tmp_path / name) if name == "m.weights.h5" else model.save(tmp_path / name)
    checkpoint = keras.read_checkpoint(folder(tmp_path), name)
    written = {layer.name: layer for layer in (*model.layers, *inner.layers)}
    epsilons = {"ln_1": 1e-6, "ln_f": 1e-3, "rms": 1e-5, "inner_ln": 1e-3}
    for site in checkpoint.norm_sites:
        ours = [array(checkpoint.read([n])[n]).tolist() for n in (site.gain, site.bias) if n is not None]
        assert ours == [weight.numpy().tolist() for weight in written[site.name].weights]
        assert site.eps == (None if name == "m.weights.h5" else epsilons[site.name])
    found = ["ln_1", "rms"] if name == "m.weights.h5" else list(epsilons)  # one variable of two: nobody can tell
    assert [site.name for site in checkpoint.norm_sites] == found
