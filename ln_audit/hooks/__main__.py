"""`python -m ln_audit.hooks verify|lock [--option=value]... FILE...`: the entries of .pre-commit-hooks.yaml.

Options come first and each is one word; all others are changed files, as pre-commit appends them.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from ln_audit import cli, output, policy
from ln_audit.errors import UsageError
from ln_audit.hooks import changes
from ln_audit.hooks.before import pairs_before, refuse_letting_go
from ln_audit.hooks.changed import targets
from ln_audit.hooks.locked import by_policy, held, pairs
from ln_audit.printable import one_line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ln_audit.demand import Policy
    from ln_audit.hooks.locked import Held

_OWN = ("--target", "--lock", "--policy")  # options of `lock` whose value it needs itself
_WORST = (0, 3, 1, 2, 4, 130)  # exit codes, from best to worst


def main(words: Sequence[str]) -> int:
    """Run one hook over the words of its call; returns the exit code of the worst of its targets."""
    try:
        calls = _calls(words)
    except UsageError as error:
        return output.rejected((), error, 2)
    if not calls:
        output.complain("ln-audit: the changed files belong to no checkpoint that is held to anything\n")
    return max((cli.main(call) for call in calls), key=_WORST.index, default=0)


def _calls(words: Sequence[str]) -> list[list[str]]:
    """The calls of ln-audit that these words stand for. Raises `UsageError`."""
    hook, *rest = words or ("",)
    if {"-h", "--help"} & set(rest):  # which verifies nothing, and exits 0
        raise UsageError("python -m ln_audit.hooks: expected options of verify, found one that only shows help")
    options = [word for word in rest if word.startswith("-")]
    files = [word for word in rest if not word.startswith("-")]
    for word in options:  # whoever may add a file could add an option by its name
        if os.path.lexists(word):
            raise UsageError(f"{one_line(word)}: expected an option, found a file of that name")
    if hook == "verify":
        found = targets(_some(files))
        return [["verify", *options, "--", *found]] if found else []
    if hook == "lock":
        return _held(options, files)
    raise UsageError(f"python -m ln_audit.hooks: expected verify or lock, found {hook!r}")


def _held(options: list[str], files: list[str]) -> list[list[str]]:
    """The calls of `lock`. What is gone is asked of git, and what changed too where no file is given."""
    own = {key: value for key, _, value in (word.partition("=") for word in options) if key in _OWN}
    others = [word for word in options if word.partition("=")[0] not in ("--target", "--lock")]
    target = own.get("--target")
    gone: tuple[str, ...] = ()
    if target is None and changes.in_repository():
        files, gone = files or list(changes.changed()), changes.removed()
    elif target is None:
        files = _some(files)
    beside = held(files, target, own.get("--lock"), removed=gone)
    found = policy.read(".", own.get("--policy"))
    asked = () if found is None else by_policy(found, files, gone)
    if target is None and changes.in_repository():
        asked = (*asked, *_new(found, own.get("--policy")))
    both = [*asked, *(each for each in beside if not any(each.same(other) for other in asked))]
    return [["verify", *others, f"--lock={lock}", "--", model] for model, lock in dict.fromkeys(both)]


def _new(found: Policy | None, file: str | None) -> list[Held]:
    """What the policy holds and did not in the commit before. Raises `UsageError` where it is the other way round."""
    former, now = pairs_before(file), () if found is None else pairs(found)
    refuse_letting_go(former, now)
    return [each for each in now if each not in former]


def _some(files: list[str]) -> list[str]:
    """The files; none at all is no pass."""
    if not files:
        raise UsageError("python -m ln_audit.hooks: expected changed files, found none", hint="pass_filenames: true")
    return files


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
