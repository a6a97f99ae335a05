"""Random mutations of good TensorFlow, npz, npy, ONNX and Keras files: nothing but FormatError comes out of a reader.

    python scripts/fuzz_containers.py [COUNT [SEED]]     50,000 mutations of each by default; exit 1 on the first wrong one

For each: no exception but FormatError; of what is accepted every tensor can be asked for, and has as many bytes as its
shape says; less than 5 s and, over the whole run, less than 200 MB more memory. Where a format has checksums (TensorFlow,
zip archives), no changed number is handed on as a good one.
"""

from __future__ import annotations

import importlib.util
import random
import resource
import sys
import time
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

sys.path.insert(0, str(Path(__file__).parents[1]))

import numpy as np

from ln_audit.errors import FormatError, UnsupportedError
from ln_audit.formats import keras, npy_folder, npz, onnx, tf_bundle
from ln_audit.formats.dtypes import array
from tests.formats import tf_writer
from tests.formats.hdf5_writer import hdf5
from tests.formats.memory_source import MemorySource

if TYPE_CHECKING:
    from collections.abc import Callable

    from ln_audit.core import Checkpoint

TENSORS = {
    "ln_f/g": np.linspace(0.5, 2, 6, dtype=np.float32),
    "ln_f/b": np.linspace(-1, 1, 6, dtype=np.float16),
    "wte": np.arange(12.0).reshape(3, 4),
    "steps": np.array(7),
}
NUMBERS = (0, 1, 2, 7, 8, 16, 127, 128, 255, 2**15, 2**16 - 1, 2**31, 2**32 - 1, 2**62, 2**63, 2**64 - 1)


class Target(NamedTuple):
    """A reader, the files of a good model, which of them is mutated, and whether checksums guard the numbers."""

    read: Callable[[MemorySource, str], Checkpoint]
    files: dict[str, bytes]
    file: str
    guarded: bool = False


def targets() -> list[Target]:
    """One good model of each kind."""
    found = []
    checkpoint = tf_writer.checkpoint(TENSORS)
    found += [Target(tf_bundle.read_checkpoint, checkpoint, file, guarded=True) for file in checkpoint]
    for save in (np.savez, np.savez_compressed):
        save(out := BytesIO(), **TENSORS)
        found.append(Target(npz.read_checkpoint, {"weights.npz": out.getvalue()}, "weights.npz", guarded=True))
    np.save(out := BytesIO(), TENSORS["wte"])
    found.append(Target(npy_folder.read_checkpoint, {"wte.npy": out.getvalue()}, "wte.npy"))
    found += [Target(keras.read_checkpoint, {file: data}, file) for file, data in keras_files().items()]
    if importlib.util.find_spec("onnx") is not None:
        found += [Target(onnx.read_checkpoint, {"m.onnx": data}, "m.onnx") for data in onnx_files()]
    return found


def keras_files() -> dict[str, bytes]:
    """Weights alone, and in an archive with their configuration."""
    from tests.formats.test_keras import WEIGHTS, zipped

    legacy = hdf5({"a": {"b": {"gamma:0": TENSORS["ln_f/g"]}}}, {"": {"model_config": '{"config": {"layers": []}}'}})
    return {"m.weights.h5": WEIGHTS, "m.h5": legacy, "m.keras": zipped()}


def onnx_files() -> list[bytes]:
    """A norm as an operator, and one written out."""
    from tests.formats.onnx_models import BIAS, GAIN, layer_norm, model, node

    operator = model([node("LayerNormalization", "x g b", "y")], {"g": GAIN, "b": BIAS})
    return [operator.SerializeToString(), model(*layer_norm(1e-5), opset=13).SerializeToString()]


def mutated(data: bytes, rng: random.Random) -> bytes:
    """Some bytes changed, a number replaced, a piece cut out, doubled or put in."""
    found = bytearray(data)
    for _ in range(rng.choice((1, 1, 1, 2, 3, 8))):
        at = rng.randrange(len(found) + 1)
        kind = rng.randrange(8)
        if kind < 3 and at < len(found):
            found[at] = rng.choice((0, 1, 0x7F, 0x80, 0xFF, found[at] ^ 1 << rng.randrange(8), rng.randrange(256)))
        elif kind < 5:
            width = rng.choice((1, 2, 4, 8))
            number = rng.choice(NUMBERS) % 256**width
            found[at : at + width] = number.to_bytes(width, rng.choice(("little", "big")))
        elif kind == 5:
            del found[at : at + rng.choice((1, 8, 100, len(found)))]
        else:
            found[at:at] = found[at : at + rng.choice((1, 8, 100))] if kind == 6 else rng.randbytes(rng.choice((1, 8)))
        found = found or bytearray(b"\0")
    return bytes(found)


def wrong(target: Target, data: bytes, good: set[bytes]) -> str | None:
    """What is wrong about how the reader took a file; None where nothing is."""
    begin = time.monotonic()
    try:
        checkpoint = target.read(MemorySource(target.files | {target.file: data}), target.file)
        for name, info in checkpoint.tensors.items():
            try:
                values = array(checkpoint.read([name])[name])
            except UnsupportedError:
                continue
            if values.shape != info.shape or values.nbytes != info.nbytes:
                return f"{name}: {info} but {values.shape}, {values.nbytes} bytes"
            if target.guarded and values.tobytes() not in good:
                return f"{name}: numbers that nobody wrote: {values}"
    except FormatError:
        pass
    took = time.monotonic() - begin
    return f"took {took:.1f} s" if took > 5 else None


def main() -> None:
    """Reports each target's count, or the first mutation that is taken wrongly."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 50_000
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else 0
    good = {values.tobytes() for values in TENSORS.values()}
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for target in targets():
        rng = random.Random(seed)
        for number in range(count):
            data = mutated(target.files[target.file], rng)
            try:
                fault = wrong(target, data, good)
            except Exception as error:  # noqa: BLE001 - the very thing that is looked for
                fault = f"{type(error).__name__}: {error}"
            if fault is not None:
                Path("fuzz-found.bin").write_bytes(data)
                sys.exit(f"{target.file}: mutation {number} of seed {seed} (written to fuzz-found.bin): {fault}")
        grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024
        print(f"{target.file}: {count:,} mutations, {grown} MB more memory at most")
        if grown > 200:
            sys.exit(f"{target.file}: expected at most 200 MB more memory, found {grown}")


if __name__ == "__main__":
    main()
