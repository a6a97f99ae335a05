"""`--before FILE.pt:name`: tensors that torch.save wrote, without torch and without pickle."""

import numpy as np
import pytest

from ln_audit.errors import RecordingError
from ln_audit.recording import open_pair
from tests.formats import torch_files

ROWS = {
    "before": np.arange(24, dtype=np.float32).reshape(2, 3, 4),
    "after": np.arange(24, 48, dtype=np.float32).reshape(2, 3, 4),
}


def blocks(recording):
    return [np.concatenate(side) for side in zip(*recording.rows("").blocks(4), strict=True)]


@pytest.mark.parametrize("save", [torch_files.save, torch_files.save_legacy])
@pytest.mark.parametrize("suffix", ["pt", "pth", "bin"])
def test_tensors_of_a_torch_file_are_read_by_name(tmp_path, save, suffix):
    path = tmp_path / f"run.{suffix}"
    path.write_bytes(save(torch_files.tensors(ROWS)))
    before, after = blocks(open_pair(f"{path}:before", f"{path}:after"))
    assert np.array_equal(before, ROWS["before"].reshape(6, 4))
    assert np.array_equal(after, ROWS["after"].reshape(6, 4))


def test_a_name_that_is_not_there_and_a_file_that_would_run_code_are_refused(tmp_path):
    path = tmp_path / "run.pt"
    path.write_bytes(torch_files.save(torch_files.tensors(ROWS)))
    with pytest.raises(RecordingError, match="nothere"):
        open_pair(f"{path}:nothere", f"{path}:after")
    path.write_bytes(
        torch_files.save({"before": torch_files.Call(torch_files.Global("os", "system"), ("touch marker",))})
    )
    with pytest.raises(RecordingError, match="os.system|os system"):
        open_pair(f"{path}:before", f"{path}:before")
    assert not (tmp_path / "marker").exists()
