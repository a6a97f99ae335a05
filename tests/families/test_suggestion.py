"""A family that nobody knows is described in six lines, which can be read back."""

import tomllib

import pytest

from ln_audit.families.suggestion import suggested
from ln_audit.families.table import build
from tests.families.model import checkpoint, config, promised

ACME = {"core.embed.weight": (32, 16), "core.block.0.scale": (16,), "core.closing_scale": (16,)}
BLOCK = '{name = "core.block.{layer}.scale", leaf = "", beside = "core.block.{layer}.", role = "block", kind = "rms_norm", shape = ["hidden_size"]}'
CLOSING = '{name = "core.closing_scale", leaf = "", role = "final", kind = "rms_norm", shape = ["hidden_size"]}'
GIVEN = config(model_type="acme xformer", hidden_size=16, norm_eps=1e-5)


def test_the_six_lines_are_a_table_that_fits_the_checkpoint():
    told = suggested(checkpoint(ACME), GIVEN)
    assert told is not None
    assert told.splitlines() == [
        "[family.acme_xformer]",
        'model_types = ["acme xformer"]',
        'source = "where you know it from"',
        'sizes = {"hidden_size" = {}}',
        'epsilon = {keys = ["norm_eps"]}',
        f"norm = [{BLOCK}, {CLOSING}]",
    ]
    ((name, table),) = tomllib.loads(told)["family"].items()
    (block, norm) = promised(build({"name": name, **table}, "ln-audit.toml"), GIVEN, checkpoint(ACME))
    assert (block.gain, block.role) == ("core.block.0.scale", "block")
    assert (norm.gain, norm.width, norm.eps, norm.name) == ("core.closing_scale", 16, 1e-5, "core.closing_scale")


def test_a_bias_makes_it_a_layer_norm():
    told = suggested(checkpoint({"out.norm.weight": (16,), "out.norm.bias": (16,)}), GIVEN)
    assert told is not None
    assert told.splitlines()[-1] == (
        'norm = [{name = "out.norm", role = "final", kind = "layer_norm", bias = "required", shape = ["hidden_size"]}]'
    )
    layered = suggested(checkpoint({f"l.{i}.ln.{leaf}": (16,) for i in (0, 1) for leaf in ("weight", "bias")}), GIVEN)
    assert layered is not None
    assert layered.splitlines()[-1] == (
        'norm = [{name = "l.{layer}.ln", beside = "l.{layer}.", role = "block", kind = "layer_norm", bias = "required", '
        'shape = ["hidden_size"]}]'
    )


@pytest.mark.parametrize(
    ("shapes", "given"), [(ACME, None), (ACME, config()), ({}, GIVEN), ({"n" * 200: (16,)}, GIVEN)]
)
def test_where_nothing_can_be_begun_with_nothing_is_suggested(shapes, given):
    assert suggested(checkpoint(shapes), given) is None


def test_a_hostile_name_stays_inside_its_quotes():
    told = suggested(checkpoint({'n"]}\n[x]\x1b': (16,)}), config(model_type='a"\n[y]', hidden_size=16))
    assert told is not None
    assert list(tomllib.loads(told)) == ["family"]
    assert len(told.splitlines()) == 6
