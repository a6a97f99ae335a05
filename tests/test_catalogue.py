"""`ln-audit families`: what is known, and what one family promises."""

import pytest

from ln_audit.catalogue import known, promises
from ln_audit.errors import UsageError
from ln_audit.families.table import parse
from tests.families.test_contract import MIXED

SHELL = """name = "shell"
main = ["decoder"]
[[part]]
config = "text_config"
prefixes = ["text."]
default = "llama"
"""


def test_every_family_is_listed_with_the_model_types_it_is_for():
    lines = known({}).splitlines()
    assert any(line.split() == ["gpt2"] or line.split()[:1] == ["gpt2"] for line in lines)
    assert lines[-1].endswith("ln-audit families NAME prints one")
    assert known({"acme": parse(MIXED, "mixed.toml")}).splitlines()[0].split() == ["acme"]


def test_a_family_is_printed_with_its_source_and_every_norm():
    told = promises("mixed", {"mixed": parse(MIXED, "mixed.toml")})
    assert told.splitlines()[:12] == [
        "mixed  mixed",
        "  source        given by the caller",
        "  recognised    model_type of none",
        "  prefixes      'm.', ''",
        "  epsilon       eps, 1e-05 where the key is absent",
        "  epsilon (fixed) 1e-06, in the code",
        "  size          d, 8 where the key is absent",
        "  size          depth, 4 where the key is absent",
        "  size          more, 0 where the key is absent",
        "  size          heads, 2 where the key is absent",
        "  size          head_dim, else d / heads",
        "",
    ]
    table = [" ".join(line.split()) for line in told.splitlines()[12:]]
    assert table == [
        "norm role kind width gain bias there",
        "b.{layer}.attn.q_norm qk layer_norm head_dim stored none for each of depth, beside b.{layer}.attn.*",
        "b.{layer}.enorm other rms_norm d stored none for each of more",
        "s.{stage}.b.{block}.norm block rms_norm axis 1 of s.{stage}.b.{block}.up.weight stored none beside s.{stage}.b.{block}.up.*",
        "plain block rms_norm none none",
        "head.norm other layer_norm 2 × d stored required beside head.*",
        "norm final rms_norm d stored none",
    ]


def test_a_family_is_found_by_a_model_type_too():
    assert promises("gpt2", {}) == promises("gpt2", {"other": parse(MIXED, "mixed.toml")})
    with pytest.raises(UsageError, match="family 'no-such': expected one of "):
        promises("no-such", {})


def test_a_model_inside_is_told_with_where_its_family_is_said():
    told = promises("shell", {"shell": parse(SHELL, "shell.toml")})
    assert "  part          text.*: the family of text_config.model_type, llama where it says none" in told.splitlines()
    assert "  main stack    decoder" in told.splitlines()
