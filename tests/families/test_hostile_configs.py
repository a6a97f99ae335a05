"""Whatever a config.json says, a family makes norms of it or tells what is wrong: nothing else comes out, and soon."""

import re
from dataclasses import replace
from math import prod
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ln_audit import checks
from ln_audit.checks.subject import Subject
from ln_audit.core import Stored
from ln_audit.demand import Demand
from ln_audit.errors import AuditError
from ln_audit.families.contract import contract
from ln_audit.families.parameters import count
from ln_audit.families.reading import readings
from ln_audit.families.recognise import index, load
from ln_audit.formats.config import Config
from tests.families.model import checkpoint

SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(-2, 40), st.integers(10**6, 10**7), st.floats(), st.text(max_size=6),
    st.sampled_from(["llama", "gpt2", "siglip_vision_model", "full_attention"]),
)  # fmt: skip
VALUES = st.one_of(SCALARS, st.lists(SCALARS, max_size=3), st.dictionaries(st.text(max_size=4), SCALARS, max_size=2))
INDEX = st.sampled_from(["0", "1", "3", "99", "4096", "12345678"])


def nested(flat: dict[str, Any]) -> dict[str, Any]:
    """Dotted keys as the objects that a JSON file has for them."""
    found: dict[str, Any] = {}
    for key, value in flat.items():
        *path, last = key.split(".")
        here = found
        for word in path:
            inner = here.setdefault(word, {})
            here = inner if isinstance(inner, dict) else {}
        here[last] = value
    return found


@st.composite
def models(draw: Any) -> tuple[Any, Any, Any]:
    """A family, a config that has some of its keys with any values, and tensors that are called like its norms."""
    family = load(draw(st.sampled_from(index()["families"])))
    sizes = [key for size in family.sizes.values() for key in (size.key, *size.aliases)]
    conditions = [condition.key for promise in family.norms for condition in promise.when]
    parts = [f"{part.config}.{key}" for part in family.parts for key in ("model_type", "hidden_size")]
    keys = sorted({*sizes, *conditions, *family.epsilon_keys, *parts, *(part.config for part in family.parts)})
    given = draw(st.dictionaries(st.sampled_from(keys or ["x"]), VALUES, max_size=8))
    patterns = [name for promise in family.norms for name in promise.tensors(promise.name) if name is not None]
    chosen = draw(st.lists(st.sampled_from(patterns or ["x"]), max_size=8))
    prefixes = [draw(st.sampled_from(family.prefixes)) for _ in chosen]
    names = {
        prefix + re.sub(r"\{[a-z]+\}", lambda _: draw(INDEX), name)
        for prefix, name in zip(prefixes, chosen, strict=True)
    }
    shapes = {name: tuple(draw(st.lists(st.sampled_from([0, 1, 8, 64]), max_size=2))) for name in sorted(names)}
    made = replace(checkpoint(shapes), read=lambda asked: {name: zeros(shapes[name]) for name in asked})
    return family, draw(st.sampled_from([None, Config(nested(given), "config.json")])), made


def zeros(shape: tuple[int, ...]) -> Stored:
    return Stored("F32", shape, bytes(4 * prod(shape)))


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(models())
def test_any_config_gives_norms_or_says_what_is_wrong(model):
    family, config, made = model
    try:
        parts = readings(family, config, made)
        norms = contract(parts, made, Demand())
    except AuditError:
        return
    assert count(made, parts) >= 0
    subject = Subject("x", None, made, config, family, None, norms, Demand(), readings=parts)
    findings = checks.run(subject)
    failed = [finding for finding in findings if finding.status == "fail"]
    lost = [norm for norm in norms if norm.role == "final" and norm.gain not in made.tensors and norm.gain is not None]
    assert not lost or failed or any(finding.required for finding in findings)
