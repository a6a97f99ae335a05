"""Exported graphs are run by onnxruntime and asked for what their norms read and gave; the recording verifies."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ln_audit import cli
from ln_audit.audit import audit
from ln_audit.demand import Demand
from ln_audit.errors import RecordingError, UsageError
from ln_audit.output import no_progress
from ln_audit.record.loading import local_file
from ln_audit.record.recipe import Recipe
from ln_audit.record.run import record
from tests.formats.onnx_models import BIAS, GAIN, const, helper, layer_norm, model, node, onnx
from tests.peers.onnx_exports import exported
from tests.peers.torch_models import read

pytestmark = pytest.mark.peers
torch: Any = pytest.importorskip("torch")
onnxruntime: Any = pytest.importorskip("onnxruntime")
pytest.importorskip("transformers")


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("dtype", ["float32", "float16"])
@pytest.mark.parametrize(("opset", "level"), [(14, None), (17, None), (17, "EXTENDED"), (14, "EXTENDED")])
def test_an_exported_model_is_recorded_and_verifies(tmp_path, opset, level, dtype):
    path, run = exported(tmp_path, opset, dtype, level), tmp_path / "run.safetensors"
    made = record(path, str(run), Recipe(random=76), Demand(), no_progress)
    assert (made.norms, made.positions) == (("transformer.ln_f",), 76)
    (report,) = audit(path, Demand(recordings=(str(run),)))
    failed = [(f.name, f.message) for f in report.findings if f.status == "fail"]
    assert (report.verdict.word, failed, report.comparisons[0].weights) == ("pass", [], "same")
    everything = record(path, str(run), Recipe(random=38, all_norms=True), Demand(), no_progress)
    assert len(everything.norms) == 5
    assert cli.main(["verify", path, "--recording", str(run)]) == 0


def own(nodes, tensors, **changes):
    """A graph whose input is ids of four words."""
    table = np.random.default_rng(1).normal(size=(4, 6)).astype(np.float32)
    made = model(
        [helper.make_node("Gather", ["table", "input_ids"], ["x"]), *nodes], tensors | {"table": table}, **changes
    )
    made.graph.input[0].CopyFrom(helper.make_tensor_value_info("input_ids", onnx.TensorProto.INT64, [1, "n"]))
    return made


def saved(folder: Path, made) -> str:
    onnx.save(made, folder / "m.onnx")
    return str(folder / "m.onnx")


def test_a_graph_of_no_family_that_is_known(tmp_path, capsys):
    path, run = saved(tmp_path, own(*layer_norm(1e-5))), str(tmp_path / "run.safetensors")
    with pytest.raises(
        RecordingError, match="expected a norm to record, found none that is known to be the last"
    ) as caught:
        record(path, run, Recipe(random=9), Demand(), no_progress)
    assert caught.value.hint.endswith("the graph computes g")
    assert cli.main(["record", path, "--random", "9", "--norm", "g", "-o", run]) == 0
    assert "9 positions of g" in capsys.readouterr().out
    tensors, metadata = read(run)
    assert (tensors["before"].shape, metadata["norm"], metadata["eps"], metadata["kind"]) == (
        (1, 9, 6),
        "g",
        "1e-05",
        "layer_norm",
    )
    assert metadata["framework"].startswith(f"onnxruntime {onnxruntime.__version__}, ")
    assert cli.main(["verify", "--recording", run]) == 0
    with pytest.raises(UsageError, match=r"--norm h: expected a norm of m\.onnx, found none of that name"):
        record(path, run, Recipe(random=9, norms=("h",)), Demand(), no_progress)


def test_what_belongs_to_transformers_is_refused(tmp_path):
    path, run = saved(tmp_path, own(*layer_norm(1e-5))), str(tmp_path / "run.safetensors")
    for recipe in (Recipe(random=9, dtype="float16"), Recipe(random=9, hidden_states=True)):
        with pytest.raises(UsageError, match="expected a model that transformers loads, found an ONNX graph"):
            record(path, run, recipe, Demand(), no_progress)
    with pytest.raises(UsageError, match="--device: expected a device that this onnxruntime has, found 'cuda'"):
        record(path, run, Recipe(random=9, norms=("g",), device="cuda"), Demand(), no_progress)
    with pytest.raises(RecordingError, match="expected a tokenizer for --text, found: "):
        record(path, run, Recipe(text="x", norms=("g",)), Demand(), no_progress)


def test_a_graph_that_cannot_be_loaded_or_run(tmp_path):
    run, recipe = str(tmp_path / "run.safetensors"), Recipe(random=9, norms=("g",))
    nodes, tensors = layer_norm(1e-5)
    path = saved(tmp_path, own([*nodes, node("NoSuchOperator", "y", "w")], tensors))
    with pytest.raises(RecordingError, match=r"m\.onnx: expected onnxruntime to load it, found: "):
        record(path, run, recipe, Demand(), no_progress)
    shaped = [node("Reshape", "x shape", "r"), node("LayerNormalization", "r g b", "y")]
    path = saved(tmp_path, own(shaped, {"g": GAIN, "b": BIAS} | const("shape", [7, 6], "int64")))
    with pytest.raises(RecordingError, match=r"m\.onnx: expected onnxruntime to run it, found: "):
        record(path, run, recipe, Demand(), no_progress)
    assert [each.name for each in tmp_path.iterdir()] == ["m.onnx"]


def test_an_input_that_nobody_knows(tmp_path):
    made = own(*layer_norm(1e-5))
    made.graph.input.append(helper.make_tensor_value_info("pixels", onnx.TensorProto.FLOAT, [1]))
    with pytest.raises(RecordingError, match="pixels: expected an input of a language model, found tensor"):
        record(saved(tmp_path, made), str(tmp_path / "run"), Recipe(random=9, norms=("g",)), Demand(), no_progress)


def test_what_transformers_is_not_needed_for_is_on_this_machine():
    with pytest.raises(RecordingError, match="expected an ONNX model on this machine, found one elsewhere"):
        local_file("hf://org/name/model.onnx", "model.onnx", Demand())


def test_the_vocabulary_of_a_table_that_is_unfolded_first(tmp_path):
    nodes, tensors = layer_norm(1e-5)
    made = own([helper.make_node("Cast", ["table"], ["wide"], to=1), *nodes], tensors)
    gather = next(each for each in made.graph.node if each.op_type == "Gather")
    gather.input[0] = "wide"
    made.graph.node.insert(0, made.graph.node.pop(1))  # in the order in which they are computed
    run = tmp_path / "run.safetensors"
    record(saved(tmp_path, made), str(run), Recipe(random=50, norms=("g",)), Demand(), no_progress)
    assert set(read(run)[0]["tokens"].reshape(-1).tolist()) == {0, 1, 2, 3}
    gather.input[0] = "elsewhere"
    made.graph.input.append(helper.make_tensor_value_info("elsewhere", 1, [4, 6]))
    with pytest.raises(
        RecordingError, match="expected a vocabulary, found no vocab_size beside it and no embedding in it"
    ):
        record(saved(tmp_path, made), str(run), Recipe(random=50, norms=("g",)), Demand(), no_progress)
