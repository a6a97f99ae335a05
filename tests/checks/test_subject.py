"""What checks ask of their subject."""

from dataclasses import replace

import numpy as np

from ln_audit.errors import FormatError
from tests.checks.subject_builder import WHOLE, norm, subject


def test_present_lists_the_promised_tensors_that_are_there():
    made = subject({"ln_f.weight": WHOLE["ln_f.weight"], "other": WHOLE["ln_f.bias"]}, norm())
    assert [(n.name, name) for n, name in made.present()] == [("ln_f", "ln_f.weight")]


def test_unread_lists_norms_that_are_there_and_were_not_read():
    assert [n.name for n in subject(WHOLE, norm(), read=False).unread()] == ["ln_f"]
    assert subject(WHOLE, norm()).unread() == ()
    assert subject({}, norm()).unread() == ()


def test_without_a_final_norm_the_blocks_are_what_it_is_held_to():
    block = norm("h.0.ln_1", role="block", layer=0)
    assert subject(WHOLE, block, norm()).final() == (norm(),)
    assert subject(WHOLE, block).final() == (block,)


def test_what_is_known_to_be_all_zero():
    made = subject({"zero": np.zeros(4, np.float32), "one": np.ones(4, np.float32)}, norm())
    assert made.all_zero("zero")
    assert not made.all_zero("one")
    assert not made.all_zero("none")


def test_what_is_too_large_to_look_at_or_cannot_be_read_is_not_known_to_be_all_zero():
    made = subject({"large": np.zeros(4_000_001, np.float32), "zero": np.zeros(4, np.float32)}, norm())

    def broken(names):
        raise FormatError("torn")

    assert not made.all_zero("large")
    assert made.all_zero("zero")
    assert not replace(made, checkpoint=replace(made.checkpoint, read=broken)).all_zero("zero")


def test_a_parameter_is_called_by_its_tensor_or_by_its_norm():
    own = norm("transformer.h.0.ln_1", promised="h.0.ln_1", role="block", layer=0)
    made = subject(WHOLE, own, norm())
    names = ("h.0.ln_1.gain", "transformer.h.0.ln_1.gain", "transformer.h.0.ln_1.weight", "ln_f.bias")
    assert [[(n.name, tensor) for n, tensor in made.called(name)] for name in names] == [
        *[[("transformer.h.0.ln_1", "transformer.h.0.ln_1.weight")]] * 3,
        [("ln_f", "ln_f.bias")],
    ]
    assert [made.called(name) for name in ("h.0.ln_1.weight", "ln_f", "gain", ".gain", "")] == [()] * 5
    assert subject({}, norm(bias=None)).called("ln_f.bias") == ()
