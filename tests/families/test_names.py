"""Names are looked up by pattern: layers, heads and experts without a search."""

import pytest

from ln_audit.families.names import NORM, Names, fill

NAMES = Names(["m.h.0.ln.weight", "m.h.1.ln.weight", "m.h.1.attn.q.3.weight", "m.norms.0.weight", "wte"])


def test_beginnings_are_dotted():
    assert NAMES.holds("m.h.1.")
    assert NAMES.holds("m.h.1.attn")
    assert NAMES.holds("wte")
    assert not NAMES.holds("m.h.2.")
    assert not NAMES.holds("wte.")
    assert not NAMES.holds("m.h.1.at")


def test_indexes_are_what_the_names_have():
    assert list(NAMES.indexes("m.h.{layer}.ln.weight")) == [{"layer": 0}, {"layer": 1}]
    assert list(NAMES.indexes("m.h.{layer}.attn.")) == [{"layer": 1}]
    assert list(NAMES.indexes("m.h.{layer}.attn.q.{head}.weight")) == [{"layer": 1, "head": 3}]
    assert list(NAMES.indexes("h.{layer}.ln.weight")) == []


def test_a_number_of_the_pattern_stays_that_number():
    assert list(NAMES.indexes("m.norms.0.weight")) == [{}]
    assert list(NAMES.indexes("m.norms.0.")) == [{}]
    assert list(NAMES.indexes("m.norms.1.weight")) == []


def test_a_number_too_long_for_an_index_is_a_word():
    assert list(Names(["h.99999999.n", "h.٣.n"]).indexes("h.{layer}.n")) == []


def test_a_pattern_is_filled():
    assert fill("h.{layer}.e.{expert}.n", {"layer": 3}) == "h.3.e.{expert}.n"


@pytest.mark.parametrize(
    ("name", "is_one"),
    [
        ("h.0.ln_1.weight", True),
        ("ln_f", True),
        ("transformer.lnf.weight", True),
        ("blocks.0.ln1", True),
        ("encoder.layer.0.output.LayerNorm.weight", True),
        ("vision.LN.weight", True),
        ("model.layers.0.mlp.gate_proj.weight", False),
        ("kiln.weight", False),
        ("lngate.weight", False),
    ],
)
def test_what_is_called_like_a_norm(name, is_one):
    assert bool(NORM.search(name)) is is_one
