from typing import Any

import pytest

from ln_audit.core import NormSite, Range
from ln_audit.formats.bounded_json import Members
from ln_audit.formats.hdf5 import Contents, Dataset
from ln_audit.formats.keras_layers import norm_sites, sites_without_configuration


def contents(*paths: str, **names: str) -> Contents:
    """Arrays of one number at these paths, and the names that groups have."""
    array = Dataset("F32", big_endian=False, shape=(1,), range=Range(0, 4))
    attributes = {path.replace("__", "/"): {"name": name} for path, name in names.items()}
    return Contents(dict.fromkeys(paths, array), attributes)


def members(value: Any) -> Any:
    if isinstance(value, dict):
        return Members((key, members(inner)) for key, inner in value.items())
    return [members(inner) for inner in value] if isinstance(value, list) else value


def layer(class_name: str, name: str = "ln", module: str | None = "keras.layers", **config: Any) -> dict[str, Any]:
    return {"module": module, "class_name": class_name, "config": {"name": name} | config}


def sites(layers: list[Any], held: Contents) -> tuple[NormSite, ...]:
    return norm_sites(members(layer("Functional", "model", layers=layers)), held, "m.keras", "config.json")


VARS = "layers/layer_normalization/vars"
BOTH = contents(f"{VARS}/0", f"{VARS}/1")


def test_gain_and_bias_are_the_first_and_second_variable():
    assert sites([layer("LayerNormalization", epsilon=1e-6)], BOTH) == (
        NormSite(
            "ln",
            "layer_norm",
            f"{VARS}/0",
            f"{VARS}/1",
            1e-6,
            "m.keras: config.json: epsilon of LayerNormalization 'ln'",
        ),
    )


@pytest.mark.parametrize(
    ("config", "kind", "gain", "bias"),
    [
        ({"center": False}, "layer_norm", "0", None),
        ({"scale": False}, "layer_norm", None, "0"),
        ({"scale": False, "center": False}, "layer_norm", None, None),
        ({"rms_scaling": True, "scale": False}, "rms_norm", "0", None),
    ],
)
def test_a_layer_may_have_one_of_them_or_none(config, kind, gain, bias):
    (site,) = sites([layer("LayerNormalization", epsilon=1e-3, **config)], contents(f"{VARS}/0"))
    expected = [None if number is None else f"{VARS}/{number}" for number in (gain, bias)]
    assert (site.kind, [site.gain, site.bias]) == (kind, expected)


def test_an_rms_norm_has_a_gain_only():
    (site,) = sites([layer("RMSNormalization", epsilon=1e-5)], contents("layers/rms_normalization/vars/0"))
    assert (site.kind, site.gain, site.bias, site.eps) == ("rms_norm", "layers/rms_normalization/vars/0", None, 1e-5)


@pytest.mark.parametrize(("class_name", "eps"), [("LayerNormalization", 1e-3), ("RMSNormalization", 1e-6)])
def test_an_epsilon_that_is_not_written_is_that_of_keras(class_name, eps):
    (site,) = sites([layer(class_name)], BOTH)
    where = f"m.keras: config.json: {class_name} 'ln' without an epsilon, which means Keras's default"
    assert (site.eps, site.eps_where) == (eps, where)


@pytest.mark.parametrize("eps", [True, "1e-6", 10**400, [1e-6]])
def test_an_epsilon_that_is_no_number_is_unknown(eps):
    (site,) = sites([layer("LayerNormalization", epsilon=eps)], BOTH)
    assert site.eps is None
    assert site.eps_where.startswith("m.keras: config.json: expected an epsilon of LayerNormalization 'ln', found ")


def test_layers_of_other_classes_and_other_peoples_are_none_of_these():
    others = [
        layer(name) for name in ("Normalization", "BatchNormalization", "GroupNormalization", "UnitNormalization")
    ]
    mine = layer("LayerNormalization", module="my_package.layers")
    assert sites([*others, mine], BOTH) == ()


@pytest.mark.parametrize("module", [None, "keras.layers", "keras.src.layers.normalization", "tensorflow.keras.layers"])
def test_kerass_own_modules_have_several_names(module):
    assert len(sites([layer("LayerNormalization", module=module)], BOTH)) == 1


def test_a_group_that_has_the_layers_name_is_its_group():
    held = contents(
        f"{VARS}/0",
        "layers/layer_normalization_1/vars/0",
        layers__layer_normalization__vars="second",
        layers__layer_normalization_1__vars="first",
    )
    found = sites([layer("LayerNormalization", "first"), layer("LayerNormalization", "second")], held)
    assert [(site.name, site.gain) for site in found] == [
        ("first", "layers/layer_normalization_1/vars/0"),
        ("second", f"{VARS}/0"),
    ]


@pytest.mark.parametrize("container", ["layers", "_layer_checkpoint_dependencies"])
def test_without_names_layers_are_counted_by_class_in_their_order(container):
    held = contents(f"{container}/layer_normalization/vars/0", f"{container}/layer_normalization_1/vars/0")
    layers = [layer("InputLayer"), layer("LayerNormalization", "a"), layer("Dense"), layer("LayerNormalization", "b")]
    assert [site.gain for site in sites(layers, held)] == [
        f"{container}/layer_normalization/vars/0",
        f"{container}/layer_normalization_1/vars/0",
    ]


def test_models_and_wrappers_inside_a_model_are_looked_into():
    inner = layer("Sequential", "inner", layers=[layer("LayerNormalization", "deep", center=False)])
    wrapped = layer("TimeDistributed", "each", layer=layer("LayerNormalization", "wrapped", center=False))
    held = contents("layers/sequential/layers/layer_normalization/vars/0", "layers/time_distributed/layer/vars/0")
    assert [(site.name, site.gain) for site in sites([inner, wrapped], held)] == [
        ("deep", "layers/sequential/layers/layer_normalization/vars/0"),
        ("wrapped", "layers/time_distributed/layer/vars/0"),
    ]


def test_a_legacy_file_has_variables_by_name():
    held = contents("model_weights/ln/model/ln/gamma:0", "model_weights/ln/model/ln/beta:0", "model_weights/b/b/beta:0")
    (site,) = sites([layer("LayerNormalization", module=None)], held)
    assert (site.gain, site.bias) == ("model_weights/ln/model/ln/gamma:0", "model_weights/ln/model/ln/beta:0")


def test_a_variable_that_should_be_there_is_named_even_if_it_is_not():
    (site,) = sites([layer("LayerNormalization")], contents("layers/dense/vars/0"))
    assert (site.gain, site.bias) == (f"{VARS}/0", f"{VARS}/1")


def test_models_inside_models_have_an_end():
    deep: dict[str, Any] = layer("LayerNormalization")
    for _ in range(100):
        deep = layer("Sequential", layers=[deep])
    assert sites([deep], BOTH) == ()


def test_without_a_configuration_the_groups_names_say_what_they_can():
    held = contents(
        f"{VARS}/0",
        f"{VARS}/1",
        "layers/layer_normalization_1/vars/0",
        "layers/rms_normalization/vars/0",
        "layers/batch_normalization/vars/0",
        layers__rms_normalization__vars="rms",
    )
    where = "m.weights.h5: no configuration in the file"
    assert sites_without_configuration(held, "m.weights.h5") == (
        NormSite("layers/layer_normalization", "layer_norm", f"{VARS}/0", f"{VARS}/1", None, where),
        NormSite("rms", "rms_norm", "layers/rms_normalization/vars/0", None, None, where),
    )
