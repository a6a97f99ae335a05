"""What a caller asks for is one frozen value; nothing is demanded by default."""

from dataclasses import FrozenInstanceError, fields

import pytest

from ln_audit.demand import Demand


def test_nothing_is_demanded_by_default():
    given = {field.name: getattr(Demand(), field.name) for field in fields(Demand)}
    assert {name: value for name, value in given.items() if value not in (None, False, ())} == {"expect": "same"}


def test_it_cannot_be_changed():
    with pytest.raises(FrozenInstanceError):
        Demand().strict = True  # type: ignore[misc]
