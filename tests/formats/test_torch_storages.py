from __future__ import annotations

import pytest

from ln_audit.errors import FormatError
from ln_audit.formats.torch_names import names
from ln_audit.formats.torch_storages import NO_VIEW, WITH_VIEW, Storages
from ln_audit.formats.torch_views import Storage

FLOAT, BYTE = names()["torch.FloatStorage"], names()["torch.ByteStorage"]


def refusal(saved: object, parts: int = NO_VIEW) -> str:
    with pytest.raises(FormatError) as caught:
        Storages(parts).persistent(saved, "f: byte 7")
    return caught.value.message


def test_a_storage_has_a_key_a_type_and_a_size():
    storages = Storages(NO_VIEW)
    expected = Storage("3", "F32", 4, 40)
    assert storages.persistent(("storage", FLOAT, "3", "cuda:0", 10), "f") == expected
    assert storages.persistent((b"storage", FLOAT, b"3", b"cpu", 10), "f") == expected
    assert storages.found == {"3": expected}


def test_an_old_file_knows_storages_inside_storages():
    storages = Storages(WITH_VIEW)
    assert storages.persistent(("storage", FLOAT, "3", "cpu", 10, None), "f") == Storage("3", "F32", 4, 40)
    assert storages.persistent(("storage", FLOAT, "3", "cpu", 10, ("4", 2, 5)), "f") == Storage("3", "F32", 4, 20, 8)
    assert storages.found == {"3": Storage("3", "F32", 4, 40)}


@pytest.mark.parametrize(
    ("view", "said"),
    [
        (("4", 6, 5), "f: byte 7: storage '3': expected at least 44 bytes, found 40"),
        (("4", -1, 5), "f: byte 7: offset of a storage: expected an integer from 0 to 2^63 - 1, found -1"),
        (("4", 6), "f: byte 7: storage '3': expected key, offset and size of a view, found a tuple"),
        ("view", "f: byte 7: storage '3': expected key, offset and size of a view, found 'view'"),
    ],
)
def test_a_storage_that_reaches_out_of_another_is_refused(view, said):
    assert refusal(("storage", FLOAT, "3", "cpu", 10, view), WITH_VIEW) == said


@pytest.mark.parametrize(
    ("saved", "said"),
    [
        ("os.system", "a storage, found 'os.system'"),
        (7, "a storage, found 7"),
        ((), "a storage, found ()"),
        (("module", FLOAT, "model.py", "import os", 10), "a storage, found ('module', torch.FloatStorage, 'model.py', 'import os', 10)"),
        (("storage", FLOAT, "3", "cpu"), "a storage, found ('storage', torch.FloatStorage, '3', 'cpu')"),
        (("storage", FLOAT, "3", "cpu", 10, None), "a storage, found ('storage', torch.FloatStorage, '3', 'cpu', 10, None)"),
        ((["storage"], FLOAT, "3", "cpu", 10), "a storage, found (a list, torch.FloatStorage, '3', 'cpu', 10)"),
        (("storage", "FloatStorage", "3", "cpu", 10), "a storage type and a key, found ('storage', 'FloatStorage', '3', 'cpu', 10)"),
        (("storage", names()["torch.Size"], "3", "cpu", 10), "a storage type and a key, found ('storage', torch.Size, '3', 'cpu', 10)"),
        (("storage", FLOAT, 3, "cpu", 10), "a storage type and a key, found ('storage', torch.FloatStorage, 3, 'cpu', 10)"),
    ],
)  # fmt: skip
def test_a_persistent_id_that_is_no_storage_is_refused(saved, said):
    assert refusal(saved) == f"f: byte 7: persistent id: expected {said}"


def test_a_negative_or_endless_storage_is_refused():
    for count in (-1, True, 2**63, 1.5):
        assert "elements of a storage: expected an integer" in refusal(("storage", FLOAT, "3", "cpu", count))


def test_a_storage_of_two_sizes_or_types_is_refused():
    """PyTorch would take the first of them, whatever a reader of the second expects."""
    storages = Storages(NO_VIEW)
    storages.persistent(("storage", FLOAT, "3", "cpu", 10), "f")
    for other, found in (((FLOAT, 11), "44 of F32"), ((BYTE, 40), "40 of U8")):
        with pytest.raises(FormatError) as caught:
            storages.persistent(("storage", other[0], "3", "cpu", other[1]), "f")
        assert caught.value.message == f"f: storage '3': expected 40 bytes of F32 as before, found {found}"
