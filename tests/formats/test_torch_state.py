from __future__ import annotations

import pytest

from ln_audit.errors import FormatError, UnsupportedError
from ln_audit.formats import torch_state
from ln_audit.formats.pickle_stack import Group, Pairs
from ln_audit.formats.torch_state import MAX_DEPTH, StateDict, every_tensor, find_state
from ln_audit.formats.torch_views import Storage, View


def tensor(number: int = 0) -> View:
    return View(Storage(str(number), "F32", 4, 4), "F32", 4, 0, (1,), (1,))


A, B, C, D = (tensor(number) for number in range(4))


def pairs(**items: object) -> Pairs:
    return Pairs((key.replace("_", "."), value) for key, value in items.items())


def inside(*path: str, value: object) -> object:
    for key in reversed(path):
        value = Pairs([("epoch", 3), (key, value)])
    return value


STATE = pairs(ln_weight=A, ln_bias=B)
NAMED = {"ln.weight": A, "ln.bias": B}


@pytest.mark.parametrize("path", [(), ("model",), ("state_dict",), ("module",), ("checkpoint", "model_state")])
def test_the_state_dict_is_found_wherever_it_is_wrapped(path):
    assert find_state(inside(*path, value=STATE), "f") == StateDict(path, NAMED)


def test_an_optimizer_beside_it_is_left_aside_however_large():
    moments = Pairs((number, pairs(exp_avg=C, exp_avg_sq=D, step=A)) for number in range(5))
    root = Pairs(
        [("optimizer", Pairs([("state", moments), ("param_groups", [Pairs([("lr", 0.1)])])])), ("model", STATE)]
    )
    assert find_state(root, "f") == StateDict(("model",), NAMED)


def test_a_lone_tensor_beside_it_is_not_it():
    assert find_state(Pairs([("step", C), ("rng_state", D), ("model", pairs(a_b=A, b_c=B, c_d=C))]), "f") == StateDict(
        ("model",), {"a.b": A, "b.c": B, "c.d": C}
    )


def test_of_two_as_large_the_first_is_taken():
    assert find_state(Pairs([("model", STATE), ("ema", pairs(ln_weight=C, ln_bias=D))]), "f") == StateDict(
        ("model",), NAMED
    )


def test_the_modules_of_a_nested_state_dict_are_joined():
    encoder = Pairs([("layer_0", Pairs([("weight", A), ("bias", B)])), ("layer_1", Pairs([("weight", C)]))])
    state = Pairs([("encoder", encoder), ("norm", Pairs([("weight", D)]))])
    names = {"encoder.layer_0.weight": A, "encoder.layer_0.bias": B, "encoder.layer_1.weight": C, "norm.weight": D}
    assert find_state(Pairs([("config", Pairs([("n", 1)])), ("state", state)]), "f") == StateDict(("state",), names)
    assert find_state(state, "f") == StateDict((), names)


def test_plain_names_of_one_module_stay_plain():
    one = Pairs([("weight", A), ("bias", B)])
    assert find_state(one, "f") == StateDict((), {"weight": A, "bias": B})
    assert find_state(Pairs([("model", one)]), "f") == StateDict(("model",), {"weight": A, "bias": B})


def test_other_values_of_a_state_dict_are_no_tensors():
    assert find_state(Pairs([("ln.weight", A), ("version", 2), (3, B), (None, C)]), "f").tensors == {"ln.weight": A}


def test_a_tensor_by_itself_or_in_a_list_has_a_name():
    assert find_state(A, "f") == StateDict((), {"tensor": A})
    assert find_state([A, (B, C)], "f") == StateDict((), {"0": A, "1.0": B, "1.1": C})


def test_every_tensor_is_found_by_what_leads_to_it():
    root = Pairs([("hidden", [A, B]), (7, C), ("deep", Pairs([("er", (D, None))])), ("members", Group([A])), (None, A)])
    assert every_tensor(root, "f") == {"hidden.0": A, "hidden.1": B, "7": C, "deep.er.0": D}
    assert every_tensor(A, "f") == {"tensor": A}


@pytest.mark.parametrize(
    ("root", "found"),
    [
        (Pairs(), "an empty mapping"),
        (pairs(lr=0.1, betas=(0.9, 0.99)), "a mapping of 'lr', 'betas'"),
        (Pairs((f"k{n}", n) for n in range(9)), "a mapping of 'k0', 'k1', 'k2', 'k3', 'k4', 'k5' and 3 more"),
        (Pairs([("state", Pairs([(0, Pairs([("exp_avg", A)]))]))]), "a mapping of 'state'"),
    ],
)
def test_a_file_without_a_state_dict_says_what_it_holds(root, found):
    with pytest.raises(FormatError) as caught:
        find_state(root, "f")
    assert caught.value.message == f"f: expected a mapping of names to tensors, found {found}"


def test_an_object_without_tensors_is_refused():
    for root, found in ((None, "None"), ([1, [2]], "a list"), (Pairs(), "an empty mapping")):
        with pytest.raises(FormatError) as caught:
            every_tensor(root, "f")
        assert caught.value.message == f"f: expected tensors, found {found}"


def test_one_name_with_two_tensors_is_refused():
    with pytest.raises(FormatError, match=r"^f: 'a': expected one tensor of that name, found two$"):
        find_state(Pairs([("a", A), ("a", B)]), "f")
    with pytest.raises(FormatError, match=r"^f: 'a\.b': expected one tensor of that name, found two$"):
        every_tensor(Pairs([("a", Pairs([("b", A)])), ("a.b", B)]), "f")
    assert find_state(Pairs([("a", A), ("a", A)]), "f").tensors == {"a": A}


def test_mappings_that_hold_each_other_end():
    one, two = Pairs(), Pairs([("a.b", A)])
    one += [("two", two), ("one", one)]
    two += [("one", one)]
    assert find_state(one, "f") == StateDict(("two",), {"a.b": A})
    assert every_tensor(one, "f") == {"two.a.b": A}


def test_a_bomb_of_shared_lists_is_walked_once():
    value: object = [A]
    for _ in range(MAX_DEPTH - 1):
        value = [value, value]
    assert every_tensor(value, "f") == {".".join("0" * MAX_DEPTH): A}


def test_depth_and_names_are_bounded(monkeypatch):
    deep: object = STATE
    for _ in range(100_000):
        deep = Pairs([("k", deep)])
    with pytest.raises(FormatError, match="expected a mapping of names to tensors, found a mapping of 'k'"):
        find_state(deep, "f")
    with pytest.raises(
        UnsupportedError, match="expected at most 131,072 tensors with names of 1,000 letters, found more"
    ):
        find_state(Pairs([("n" * 1_001, A)]), "f")
    long = Pairs([("n" * 900, Pairs((f"{number}", A) for number in range(30_000)))])
    with pytest.raises(UnsupportedError, match="expected at most 131,072 tensors"):
        every_tensor(long, "f")
    monkeypatch.setattr(torch_state, "MAX_TENSORS", 1)
    with pytest.raises(UnsupportedError, match="expected at most 1 tensors"):
        find_state(STATE, "f")
