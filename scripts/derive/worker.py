"""One type derived in a process of its own: its table, or the reason why there is none."""

from __future__ import annotations

import logging
import os
import signal
import time
import traceback
import warnings
from typing import Any

_LONGEST = 400  # seconds for one type; the slowest needs 140 where nothing else runs


def derive(model_type: str) -> tuple[str, dict[str, Any]]:
    """(the type, its table); a table with only `unreached` says why there is none."""
    logging.disable(logging.WARNING)
    warnings.simplefilter("ignore")
    import torch

    from . import tables

    torch.set_num_threads(1)
    signal.signal(signal.SIGALRM, _late)
    begun = time.monotonic()
    signal.alarm(_LONGEST)
    try:
        table = tables.derive(model_type)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # noqa: BLE001 - one type that cannot be built does not stop the others
        if os.environ.get("DERIVE_DEBUG"):
            traceback.print_exc()
        reason = " ".join(str(error).split()).strip('"')
        table = {"unreached": f"{type(error).__name__}: {reason[:200]}"}
    finally:
        signal.alarm(0)
    table["seconds"] = round(time.monotonic() - begun, 1)
    return model_type, table


class TooLong(BaseException):
    """Behind every `except Exception`: the type as a whole is given up."""


def _late(_signal: int, _frame: object) -> None:
    raise TooLong(f"took longer than {_LONGEST} seconds")
