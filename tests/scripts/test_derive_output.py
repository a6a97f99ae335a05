"""From derived tables to files: who shares one, what a part's prefixes are, what stands above a table."""

import pytest

pytest.importorskip("transformers")
from scripts.derive import output

pytestmark = pytest.mark.peers


def table(name, **changed):
    made = {
        "name": name,
        "title": name.title(),
        "source": f"{name}.py",
        "model_types": [name],
        "architectures": [f"{name}Model"],
        "prefixes": ["model.", ""],
        "norm": [{"name": "layers.{layer}.norm", "gain": "required"}],
        "part": [],
        "notes": [],
        "seconds": 1.0,
    }
    return made | changed


def test_types_that_promise_the_same_share_a_table_named_for_the_shortest():
    groups = output.grouped({"longer": table("longer", prefixes=["model.", "transformer."]), "acme": table("acme")})
    (shared,) = [output.shared(group) for group in groups]
    assert (shared["name"], shared["title"], shared["model_types"]) == ("acme", "Acme, Longer", ["acme", "longer"])
    assert shared["prefixes"] == ["model.", "", "transformer."]


@pytest.mark.parametrize(
    "changed", [{"norm": []}, {"prefixes": ["backbone."]}, {"tied_default": True}, {"by_hand": "a fact."}]
)
def test_types_that_differ_in_anything_else_do_not(changed):
    assert len(output.grouped({"acme": table("acme"), "other": table("other", **changed)})) == 2


@pytest.mark.parametrize(
    ("whole", "own", "before"),
    [
        (["language_model.model.", "model.language_model."], ["model.", ""], ["language_model.", "model.language_model."]),
        (["vision_tower.", "vision_tower.vision_model."], ["", "vision_model."], ["vision_tower.", "vision_tower.vision_model."]),
        (["model.language_model."], ["model."], ["model.language_model."]),
    ],
)  # fmt: skip
def test_a_part_has_only_what_stands_before_its_own_prefix(whole, own, before):
    assert output.outer(whole, own) == before


def test_norms_of_a_part_that_the_whole_does_not_build_are_named():
    own = table("acme", norm=[*table("acme")["norm"], {"name": "last", "gain": "required"}])
    assert output.unbuilt(own, ["layers.0.norm", "layers.1.norm"]) == ["last"]


def test_what_only_one_class_has_is_not_missed_in_a_part():
    when = [{"key": "architectures", "op": "ne", "value": ["Small"]}]
    rows = [{"name": "usual", "gain": "required", "when": when}]
    rows.append({"name": "small", "gain": "required", "when": [when[0] | {"op": "eq"}]})
    assert output.unbuilt(table("acme", norm=rows), []) == ["usual"]


def test_a_part_of_any_family_stays_as_it_was_written():
    part = {"config": "decoder", "prefixes": ["decoder."], "stack": "decoder"}
    found = {"acme": table("acme", part=[dict(part)])}
    assert output.resolve_parts(found) == {}
    assert found["acme"]["part"] == [part]


def test_above_a_table_stands_who_wrote_it_and_what_could_not_be_told():
    lines = output.comments(table("acme", notes=["norm: its width"], by_hand="a fact. Source: a page."))
    assert lines == [
        "Acme: derived by scripts/derive from acme.py.",
        "By hand (scripts/derive/data/by_hand.toml): a fact. Source: a page.",
        "Not told: norm: its width.",
    ]
