"""Norms are paired by role and layer through their families; by the very same name where one is unknown."""

from ln_audit.against.pairing import pairing
from tests.against.made import GAIN, norm, side


def test_norms_are_paired_by_what_their_family_calls_them():
    ours = side(
        {}, norm("blk.0.attn_norm", 0, promised="layers.0.ln"), norm("output_norm", promised="norm"), norm("extra")
    )
    theirs = side(
        {}, norm("model.layers.0.ln", 0, promised="layers.0.ln"), norm("model.norm", promised="norm"), norm("other")
    )
    found = pairing(ours, theirs)
    assert [(pair.artifact.name, pair.source.name) for pair in found.pairs] == [
        ("blk.0.attn_norm", "model.layers.0.ln"),
        ("output_norm", "model.norm"),
    ]
    assert ([n.name for n in found.only_artifact], [n.name for n in found.only_source]) == (["extra"], ["other"])
    assert not found.by_name


def test_the_same_name_in_another_stack_is_another_norm():
    found = pairing(side({}, norm(stack="encoder")), side({}, norm()))
    assert (found.pairs, len(found.only_artifact)) == ((), 1)


def test_two_norms_of_one_name_in_one_stack_are_both_paired():
    both = [norm(name, promised="norm") for name in ("thinker.norm", "talker.norm")]
    found = pairing(side({}, *both), side({}, *both))
    assert [(pair.artifact.name, pair.source.name) for pair in found.pairs] == [
        ("thinker.norm", "thinker.norm"),
        ("talker.norm", "talker.norm"),
    ]
    assert [n.name for n in pairing(side({}, both[0]), side({}, *both)).only_source] == ["talker.norm"]


def test_an_unknown_family_pairs_vectors_of_the_very_same_name():
    tensors = {
        "a.final_norm.weight": GAIN,
        "b.proj.bias": GAIN,
        "h.ln_1.gain": GAIN,
        "c.norm.weight": GAIN.reshape(2, 4),
    }
    ours, theirs = side(tensors, family=None), side(tensors | {"d.norm.weight": GAIN}, family=None)
    found = pairing(ours, theirs)
    assert [pair.artifact.gain for pair in found.pairs] == ["a.final_norm.weight", "h.ln_1.gain"]
    assert [n.name for n in found.only_source] == ["d.norm.weight"]
    assert found.by_name


def test_an_unknown_family_in_two_containers_pairs_nothing():
    ours = side({"norm.weight": GAIN}, family=None)
    assert pairing(ours, side({"norm.weight": GAIN}, format_="gguf")).pairs == ()


def test_what_no_family_promises_is_paired_with_the_tensor_of_its_name():
    there, lost = norm("v_head.norm"), norm("layers.2.norm")
    ours, theirs = side({"v_head.norm.weight": GAIN}, norm()), side({}, norm())
    found = pairing(ours, theirs, [there, lost])
    assert [pair.source for pair in found.pairs] == [norm(), there]
    assert (found.only_artifact, found.only_source) == ((), (lost,))


def test_and_is_paired_once_where_the_family_is_unknown():
    ours, theirs = side({"a.norm.weight": GAIN}, family=None), side({"a.norm.weight": GAIN}, family=None)
    (pair,) = pairing(ours, theirs).pairs
    found = pairing(ours, theirs, [pair.source, norm("b.norm")])
    assert (found.pairs, found.only_source) == ((pair,), (norm("b.norm"),))
