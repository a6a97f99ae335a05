"""Where transformers is told to look: never at a URL, pinned to the commit that was read. Needs no torch."""

import pytest

from ln_audit.demand import Demand
from ln_audit.errors import RecordingError
from ln_audit.record.loading import place
from tests.shared import FIXTURES

FOLDER = FIXTURES / "good" / "gpt2-recorded"


def test_a_folder_is_called_by_its_name():
    found = place(str(FOLDER), None, Demand())
    assert (found.where, found.called, found.options) == (str(FOLDER), "gpt2-recorded", {"local_files_only": False})


def test_a_file_stands_for_its_folder():
    assert place(str(FOLDER / "model.safetensors"), None, Demand()).where == str(FOLDER)


def test_the_sample_is_a_folder_of_the_package():
    found = place("sample", None, Demand(offline=True))
    assert (found.called, found.options) == ("ln-audit's sample", {"local_files_only": True})


def test_a_model_on_the_hub_is_pinned():
    found = place("hf://org/name/sub/model.safetensors", "0123abcd", Demand(offline=True))
    assert (found.where, found.called) == ("org/name", "org/name")
    assert found.options == {"local_files_only": True, "revision": "0123abcd", "subfolder": "sub"}


@pytest.mark.parametrize("target", ["https://host/model.safetensors", str(FIXTURES / "good" / "gpt2-npz" / "x.npz")])
def test_what_transformers_does_not_load_is_refused(target, tmp_path):
    if target.endswith(".npz"):
        (tmp_path / "x.npz").write_bytes(b"PK")
        target = str(tmp_path / "x.npz")
    with pytest.raises(
        RecordingError, match="expected a folder or a model on the Hub that transformers loads"
    ) as caught:
        place(target, None, Demand())
    assert "ln_audit.capture" in caught.value.hint
