"""docs/recording.md is true: its commands run, its code runs, and its tables name the options and keys that there are."""

import inspect
import re
import shlex
from typing import Any

import pytest

import ln_audit
from ln_audit import cli
from ln_audit.recording import open_recording
from ln_audit.recording.recording import METADATA
from tests.shared import ROOT

TEXT = (ROOT / "docs" / "recording.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w*)\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)
COMMANDS = [line for language, block in BLOCKS if not language for line in block.splitlines()]
CODE = [block for language, block in BLOCKS if language == "python"]


def test_every_key_of_the_metadata_is_explained():
    assert [key for key in (*METADATA, "before_rounded") if f"`{key}`" not in TEXT] == []


def test_every_option_named_exists(capsys):
    assert cli.main(["record", "--help"]) == 0
    assert cli.main(["verify", "--help"]) == 0
    known = set(re.findall(r"--[a-z-]+", capsys.readouterr().out))
    assert set(re.findall(r"`(--[a-z-]+)", TEXT)) - known == set()
    asked = set(re.findall(r"(\w+)=", "".join(CODE)))
    assert asked <= set(inspect.signature(ln_audit.capture).parameters)


def test_every_link_leads_somewhere():
    assert [link for link in re.findall(r"\]\((\S+?)\)", TEXT) if not (ROOT / "docs" / link).exists()] == []


def test_every_line_of_the_command_blocks_is_a_command():
    assert all(line.startswith("ln-audit ") for line in COMMANDS)
    assert len(COMMANDS) == 9


def _session() -> Any:
    import onnxruntime
    from onnx import TensorProto, helper

    values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [4, 8]) for name in ("read", "given")]
    scale = helper.make_tensor("scale", TensorProto.FLOAT, [8], [1.0] * 8)
    nodes = [helper.make_node("LayerNormalization", ["read", "scale"], ["given"])]
    graph = helper.make_graph(nodes, "g", values[:1], [values[1], values[0]], [scale])
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    return onnxruntime.InferenceSession(made.SerializeToString(), providers=["CPUExecutionProvider"])


@pytest.mark.peers
@pytest.mark.filterwarnings("ignore")  # of the exporter
def test_commands_and_code_run_one_after_the_other(tmp_path, monkeypatch):
    torch: Any = pytest.importorskip("torch")
    pytest.importorskip("transformers")
    pytest.importorskip("onnxruntime")
    from tests.peers.onnx_exports import exported
    from tests.peers.torch_models import saved, tiny

    saved("llama", tmp_path / "path" / "to" / "folder")
    exported(tmp_path / "path" / "to")
    monkeypatch.chdir(tmp_path)
    given = {"model": tiny("llama"), "tokens": torch.arange(20)[None], "rows": torch.randn(4, 8)}
    given |= {"session": _session(), "inputs": {"read": torch.randn(4, 8).numpy()}}
    given["norm"] = torch.nn.RMSNorm(8, eps=1e-6)
    for language, block in BLOCKS:
        if language == "python":
            exec(compile(block, "docs/recording.md", "exec"), given)
            continue
        for line in block.splitlines():
            assert (line, cli.main(shlex.split(line)[1:])) == (line, 0)
    assert len(open_recording("run.safetensors").norms) == 1
