"""What the policy of the commit before held to a lockfile: one commit may not change a model and let go of its lock."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from ln_audit.errors import UsageError
from ln_audit.hooks import changes
from ln_audit.hooks.locked import Held, beside, pairs
from ln_audit.policy import paths
from ln_audit.policy.found import OWN, PROJECT, find
from ln_audit.policy.reading import policy
from ln_audit.printable import one_line

if TYPE_CHECKING:
    from collections.abc import Sequence


def pairs_before(file: str | None) -> tuple[Held, ...]:
    """What the policy held as it was committed last: that of `file`, else of the working directory; none where there was none.

    One that could not be read held nothing: the commit that mends it must be possible. Raises `UsageError` where git fails.
    """
    with tempfile.TemporaryDirectory() as folder:
        for name in (OWN, PROJECT) if file is None else (file,):
            data = changes.before(name)
            if data is not None:
                Path(folder, os.path.basename(name)).write_bytes(data)  # noqa: PTH119
        try:
            found = find(folder, None if file is None else os.path.join(folder, os.path.basename(file)))  # noqa: PTH118, PTH119
            return () if found is None else pairs(policy(found._replace(folder=os.path.dirname(file or ""))))  # noqa: PTH120
        except UsageError:
            return ()


def refuse_letting_go(former: Sequence[Held], now: Sequence[Held]) -> None:
    """Raises `UsageError` for a model, or a lockfile, that is still there and that the policy holds to nothing any more."""
    for old in former:
        if any(_covers(each, old) for each in now) or beside(old.target) is not None:
            continue
        left = os.path.lexists(old.lock) and not any(paths.same_place(each.lock, old.lock) for each in now)
        if os.path.lexists(old.target) or left:
            raise UsageError(
                f"{one_line(old.lock)}: expected a policy that holds {one_line(old.target)} to it, as that of the commit "
                "before did, found none",
                hint="name it in the policy again; or, where that model shall be held to nothing, "
                "commit with SKIP=ln-audit-lock",
            )


def _covers(new: Held, old: Held) -> bool:
    return (
        paths.same(new.target, old.target)
        or paths.within(new.target, old.target)
        or paths.within(old.target, new.target)
    )
