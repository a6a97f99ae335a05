"""Make the recording of an untrained pre-norm stack: how its residual stream grows, and what the final norm does to it.

    python scripts/make_prenorm_recording.py [DEST]      # default: fixtures/recordings/prenorm-stack.safetensors

A transformer of 12 layers, 64 wide, 8 heads, feed-forward 256, seed 42, on 4 positions of random input, with a final
LayerNorm. Each layer is x += s·attention(norm(x)), then x += s·feed_forward(norm(x)); every matrix is normal with
standard deviation 1/√64; s = 0.1 is the LayerScale that CaiT starts stacks of up to 18 layers with (Touvron et al.
2021, arXiv:2103.17239). The mean L2 norm per position goes from 7.78 to 8.68; the final norm brings it to √64 = 8.00.
The example was asked for with these magnitudes; initialisation, heads, positions and s were chosen among many so that
it shows them. They illustrate, and reproduce nobody's measurement.

As in transformers, `hidden_states.12` is the state after the final norm, so what layer 12 gave is `before`. The stack
is computed in float64 and its states stored as float32; `after` is a float32 LayerNorm of the stored `before`. Needs
numpy only, and NumPy promises that the stream of `RandomState` never changes.
"""

from __future__ import annotations

import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from recording_file import value_sha256, write_recording

_ROOT = Path(__file__).resolve().parent.parent
_SEED = 42
_LAYERS, _WIDTH, _FEED_FORWARD, _HEADS, _POSITIONS = 12, 64, 256, 8, 4
_LAYER_SCALE = 0.1
_EPSILON = 1e-5

Array = np.ndarray[Any, Any]


def normalize(x: Array) -> Array:
    """LayerNorm with gain 1 and bias 0, in the dtype of x: [n, d] -> [n, d]."""
    centred = x - x.mean(-1, keepdims=True)
    variance = (centred * centred).mean(-1, keepdims=True)
    return centred / np.sqrt(variance + x.dtype.type(_EPSILON))


def gelu(x: Array) -> Array:
    """GPT-2's approximation by tanh (Hendrycks, Gimpel 2016)."""
    return 0.5 * x * (1.0 + np.tanh(np.sqrt(2.0 / np.pi) * (x + 0.044715 * x**3)))


def attention(x: Array, query: Array, key: Array, value: Array, output: Array) -> Array:
    """Multi-head attention, no mask: [n, d] and four [d, d] -> [n, d]."""
    q, k, v = ((x @ w).reshape(_POSITIONS, _HEADS, -1).swapaxes(0, 1) for w in (query, key, value))  # [h, n, d/h]
    scores = np.exp(q @ k.swapaxes(1, 2) / np.sqrt(_WIDTH / _HEADS))  # [h, n, n]
    mixed = scores / scores.sum(-1, keepdims=True) @ v  # [h, n, d/h]
    return mixed.swapaxes(0, 1).reshape(_POSITIONS, _WIDTH) @ output


def states() -> list[Array]:
    """The residual stream before the first layer and after each: 13 arrays [n, d] of float64."""
    draw = np.random.RandomState(_SEED).standard_normal

    def matrix(*shape: int) -> Array:
        return draw(shape) / np.sqrt(_WIDTH)

    stream = [draw((_POSITIONS, _WIDTH))]
    for _ in range(_LAYERS):
        heads = [matrix(_WIDTH, _WIDTH) for _ in range(4)]
        up, down = matrix(_WIDTH, _FEED_FORWARD), matrix(_FEED_FORWARD, _WIDTH)
        x = stream[-1]
        x = x + _LAYER_SCALE * attention(normalize(x), *heads)
        stream.append(x + _LAYER_SCALE * (gelu(normalize(x) @ up) @ down))
    return stream


def main(dest: Path) -> None:
    """Run the stack and its final norm, write everything, print the three magnitudes."""
    *layers, before = (state.astype(np.float32) for state in states())
    after = normalize(before)
    gain, bias = np.ones(_WIDTH, np.float32), np.zeros(_WIDTH, np.float32)
    tensors = {"before": before, "after": after, "gain": gain, "bias": bias}
    tensors |= {f"hidden_states.{number}": state for number, state in enumerate([*layers, after])}
    metadata = {
        "ln_audit.recording": "1",
        "model": "an untrained pre-norm stack: 12 layers, width 64, feed-forward 256, seed 42",
        "kind": "layer_norm",
        "eps": repr(_EPSILON),
        "framework": f"numpy {version('numpy')}",
        "output_dtype": "float32",
        "param_dtype": "float32",
        "compute_dtype": "float32",
        "gain_value_sha256": value_sha256(gain),
        "bias_value_sha256": value_sha256(bias),
        "made_with": "scripts/make_prenorm_recording.py",
        "note": "random weights, random input; hidden_states.12 is after the final norm, what layer 12 gave is before",
    }
    size = write_recording(dest, tensors, metadata)
    into, grown, out = (np.linalg.norm(state, axis=-1).mean() for state in (layers[0], before, after))
    print(f"{dest}: mean norm {into:.2f} in, {grown:.2f} before the final norm, {out:.2f} out; {size:,} bytes")


if __name__ == "__main__":
    default = _ROOT / "fixtures" / "recordings" / "prenorm-stack.safetensors"
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else default)
