"""`capture` around an onnxruntime session whose graph exposes what a norm reads and gives."""

from typing import Any

import numpy as np
import pytest

import ln_audit
from ln_audit.audit import audit_recording
from ln_audit.demand import Demand
from ln_audit.errors import RecordingError, UsageError
from ln_audit.record.onnx_session import is_session
from tests.formats.onnx_models import helper, layer_norm, model, node
from tests.peers.torch_models import read

pytestmark = pytest.mark.peers
onnxruntime: Any = pytest.importorskip("onnxruntime")
ROWS = np.random.default_rng(3).normal(size=(3, 5, 6)).astype(np.float32)


def session(*outputs: str):
    nodes, tensors = layer_norm(1e-5)
    made = model([*nodes, node("Shape", "x", "shape"), node("Neg", "y", "other")], tensors)
    made.graph.input[0].CopyFrom(helper.make_tensor_value_info("x", 1, [None, None, 6]))
    del made.graph.output[:]
    made.graph.output.extend(helper.ValueInfoProto(name=name) for name in outputs)
    return onnxruntime.InferenceSession(made.SerializeToString(), providers=["CPUExecutionProvider"])


def test_every_run_is_recorded_and_the_caller_gets_what_was_asked_for(tmp_path):
    run, path = session("c2", "x", "y", "other"), tmp_path / "run.safetensors"
    before = run.run(["other"], {"x": ROWS})
    with ln_audit.capture(run, path, ("x", "y"), kind="layer_norm", eps=1e-5, said={"model": "mine"}) as counted:
        (other,) = run.run(["other"], {"x": ROWS})
        assert len(run.run(None, {"x": ROWS[:1]})) == 4
    assert np.array_equal(other, before[0])
    assert counted.positions == 20
    tensors, metadata = read(path)
    assert (tensors["before"].shape, metadata["norm"], metadata["model"]) == ((4, 5, 6), "y", "mine")
    assert "run" not in vars(run)
    assert audit_recording(str(path), Demand()).error is not None  # the gain is in the model


@pytest.mark.parametrize("given", [None, "y", ("x", "z"), ("x", "y", "x"), (["x"], "y"), (1, 2), {"x", "y"}])
def test_names_that_are_no_outputs(tmp_path, given):
    with (
        pytest.raises(UsageError, match="norm: expected two outputs of the graph") as caught,
        ln_audit.capture(session("x", "y"), tmp_path / "x", given),
    ):
        pass
    assert caught.value.hint.startswith("the graph gives x, y; ")
    assert list(tmp_path.iterdir()) == []


def test_what_cannot_be_recorded_leaves_nothing(tmp_path):
    shapes = session("y", "shape")
    with (
        pytest.raises(RecordingError, match="expected float rows of one shape, found float32"),
        ln_audit.capture(shapes, tmp_path / "x", ("y", "shape")),
    ):
        shapes.run(None, {"x": ROWS})
    with (
        pytest.raises(RecordingError, match=r"expected session\.run inside the `with`, found none"),
        ln_audit.capture(session("x", "y"), tmp_path / "x", ("x", "y")),
    ):
        pass
    assert list(tmp_path.iterdir()) == []


def test_what_a_session_is():
    assert is_session(session("y"))
    assert not is_session(np)
