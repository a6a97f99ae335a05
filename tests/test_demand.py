"""What a caller asks for is one frozen value; nothing is demanded by default."""

from dataclasses import FrozenInstanceError, fields

import pytest

from ln_audit.demand import Demand


def test_nothing_is_demanded_by_default():
    assert {field.name for field in fields(Demand) if getattr(Demand(), field.name) not in (None, False, ())} == set()


def test_it_cannot_be_changed():
    with pytest.raises(FrozenInstanceError):
        Demand().strict = True  # type: ignore[misc]
