"""A derived table is TOML that the package reads: the same bytes for the same facts."""

import tomllib

from ln_audit.families.table import parse
from scripts.derive.table_text import named_epsilons, write

ROW = {
    "role": "block",
    "stack": "decoder",
    "kind": "rms_norm",
    "gain": "required",
    "bias": "none",
    "leaf": "weight",
    "weight_offset": 0.0,
    "chain": "once",
    "shape": ["d"],
    "when": [],
}


def table(rows):
    usual, others = named_epsilons(rows)
    return {
        "name": "acme",
        "title": "Acme",
        "source": "a test",
        "model_types": ["acme"],
        "prefixes": ["model.", ""],
        "sizes": {"d": {"default": 8}, "text_config.n": {}},
        "epsilon": usual,
        "epsilons": others,
        "norm": rows,
    }


def rows():
    return [
        {**ROW, "name": "layers.{layer}.norm", "layers": "text_config.n", "epsilon": {"keys": [], "default": 1e-6}},
        {
            **ROW,
            "name": "norm",
            "role": "final",
            "weight_offset": 1.0,
            "when": [{"key": "last", "op": "truthy", "default": True}],
            "epsilon": {"keys": ["eps"], "default": 1e-5},
        },
    ]


def test_the_package_reads_what_is_written():
    text = write(table(rows()), ["Acme: a line.", ""])
    family = parse(text, "acme.toml")
    assert [norm.name for norm in family.norms] == ["layers.{layer}.norm", "norm"]
    assert (family.epsilon.keys, family.epsilon.default) == (("eps",), 1e-5)
    assert (family.epsilons["fixed"].keys, family.epsilons["fixed"].default) == ((), 1e-6)
    assert [norm.epsilon for norm in family.norms] == ["fixed", None]
    assert family.norms[1].weight_offset == 1.0


def test_what_is_usual_is_not_written():
    text = write(table(rows()), [])
    assert "weight_offset = 0" not in text
    assert 'gain = "required"' not in text
    assert '[sizes."text_config.n"]' in text
    assert text.count("1e-5") == 1


def test_the_same_facts_are_the_same_bytes():
    assert write(table(rows()), ["a"]) == write(table(rows()), ["a"])


def test_long_lists_are_broken_between_items():
    made = {**table(rows()), "architectures": [f"AcmeForNumber{i}" for i in range(30)]}
    text = write(made, [])
    assert tomllib.loads(text)["architectures"] == made["architectures"]
    assert max(map(len, text.splitlines())) <= 120
