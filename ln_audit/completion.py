"""What a shell may complete after an option or a command: the words that it takes. Each list is made when it is asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable


def rules(incomplete: str) -> list[str]:
    """Rules by name, and by id for who begins with one."""
    from ln_audit import checks

    named = [check.RULE.id if incomplete.startswith("LN") else check.RULE.name for check in checks.CHECKS]
    return beginning(named, incomplete)


def required(incomplete: str) -> list[str]:
    """What --require takes: the same, and `all`."""
    return [*beginning(("all",), incomplete), *rules(incomplete)]


def families(incomplete: str) -> list[str]:
    """Families, and values of `model_type` that have another name."""
    from ln_audit.families.recognise import index

    known = index()
    return beginning(sorted({*known["families"], *known["model_types"]}), incomplete)


def formats(incomplete: str) -> list[str]:
    """What --format takes."""
    from ln_audit.reports import names

    return beginning(names(), incomplete)


def of(words: tuple[str, ...]) -> Callable[[str], list[str]]:
    """The completion of an option that takes one of a few words."""
    return lambda incomplete: beginning(words, incomplete)


def beginning(words: Iterable[str], incomplete: str) -> list[str]:
    """Those that begin with what was typed so far."""
    return [word for word in words if word.startswith(incomplete)]


_DTYPES = of(("float32", "bfloat16", "float16", "float64"))
# By option; those that are not here take files, numbers or names that nobody can list.
WORDS: dict[str, Callable[[str], list[str]]] = {
    "--require": required,
    "--family": families,
    "--format": formats,
    "--values": of(("final", "all")),
    "--expect": of(("same", "derived")),
    "--kind": of(("layer_norm", "rms_norm")),
    "--output-dtype": _DTYPES,
    "--before-rounded": _DTYPES,
}
