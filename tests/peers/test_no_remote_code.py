"""`record` never runs code that lies beside a checkpoint, though transformers would if it were asked to."""

import contextlib
import json
from typing import Any

import pytest

from ln_audit import cli
from tests.peers.torch_models import saved

pytestmark = pytest.mark.peers
transformers: Any = pytest.importorskip("transformers")


def test_a_repositorys_own_code_is_never_run(tmp_path, monkeypatch):
    folder, owned = tmp_path / "model", tmp_path / "owned"
    saved("gpt2", folder)
    config = json.loads((folder / "config.json").read_text())
    own = {"AutoConfig": "own.Config", "AutoModelForCausalLM": "own.Model", "AutoModel": "own.Model"}
    (folder / "config.json").write_text(json.dumps(config | {"auto_map": own}))
    (folder / "own.py").write_text(f"open({str(owned)!r}, 'w').close()\n")
    assert cli.main(["record", str(folder), "--random", "8", "-o", str(tmp_path / "run.safetensors")]) == 0
    assert not owned.exists()
    monkeypatch.setattr("transformers.dynamic_module_utils.HF_MODULES_CACHE", str(tmp_path / "modules"))
    with contextlib.suppress(AttributeError):  # own.py has no Config, and has run by then
        transformers.AutoConfig.from_pretrained(str(folder), trust_remote_code=True)
    assert owned.exists()
