"""Layer by layer: what is drawn and told is what the report says of each layer."""

from dataclasses import replace

import numpy as np
import pytest

from ln_audit.reports.pictures.depth_profile import depth_profiles
from tests.reports import gpt2_sized
from tests.reports.gpt2_sized import norm, tensor
from tests.reports.pictures.drawn import apart, shapes, within


def stack(layers: int, name: str = "h.{}.ln_1"):
    return [norm(name.format(layer), layer)[1] for layer in range(layers)]


def test_each_kind_has_a_picture_of_its_gains_and_one_of_its_biases():
    entries = [*stack(3), *stack(3, "h.{}.ln_2"), norm("ln_f", None)[1]]
    assert [each.caption for each in depth_profiles(entries)] == [
        "gain, h.{layer}.ln_1", "bias, h.{layer}.ln_1", "gain, h.{layer}.ln_2", "bias, h.{layer}.ln_2",
    ]  # fmt: skip


def test_the_table_is_the_report_and_the_text_has_its_ends_and_extremes():
    entries = stack(12)
    picture = depth_profiles(list(reversed(entries)))[0]
    gains = [entry.tensors[0] for entry in entries]
    assert picture.rows == tuple(
        (f"{layer}", f"{t.mean:.4g}", f"{t.std:.4g}", f"{t.min:.4g}", f"{t.max:.4g}") for layer, t in enumerate(gains)
    )
    low, high = min(t.min for t in gains if t.min), max(t.max for t in gains if t.max)
    assert picture.text == (
        f"gain of h.{{layer}}.ln_1 in 12 layers: mean {gains[0].mean:.4g} in layer 0, {gains[-1].mean:.4g} in layer 11; least"
        f" value {low:.4g} in layer {[t.min for t in gains].index(low)}, largest {high:.4g} in layer"
        f" {[t.max for t in gains].index(high)}."
    )
    assert within(picture.svg)
    assert apart(picture.svg)
    assert len(shapes(picture.svg, "path", stroke_dasharray="4,2")) == 2


def test_one_layer_is_no_depth_and_values_not_read_are_left_out():
    assert depth_profiles(stack(1)) == ()
    unread = [replace(e, tensors=tuple(replace(t, mean=None) for t in e.tensors)) for e in stack(3)]
    assert depth_profiles(unread) == ()
    assert len(depth_profiles([*stack(3)[:2], unread[2]])[0].rows) == 2


def test_several_norms_of_one_kind_in_a_layer_are_taken_together():
    parts = [np.random.default_rng(seed).normal(seed, 1 + seed, 64) for seed in range(4)]
    entries = [
        replace(
            stack(1)[0],
            norm=replace(stack(1)[0].norm, layer=at // 2, pattern="e"),
            tensors=(tensor("g", "gain", part),),
        )
        for at, part in enumerate(parts)
    ]
    (picture,) = depth_profiles(entries)
    both = np.concatenate(parts[:2])
    assert picture.rows[0] == ("0", *(f"{x:.4g}" for x in (both.mean(), both.std(), both.min(), both.max())))


def test_there_are_never_more_than_a_page_can_hold():
    kinds = [entry for kind in range(20) for entry in stack(2, f"k{kind}.{{}}.x")]
    assert len(depth_profiles(kinds)) == 16


def test_what_axes_cannot_hold_is_not_drawn():
    entries = [replace(e, tensors=(replace(e.tensors[0], max=1e300),)) for e in stack(3)]
    assert depth_profiles(entries) == ()
    assert gpt2_sized.LAYERS == 12


@pytest.mark.parametrize("layers", [2, 96, 700])
def test_deep_models_keep_their_labels_apart(layers):
    picture = depth_profiles(
        [replace(e, norm=replace(e.norm, layer=at)) for at, e in enumerate(stack(2) * (layers // 2))]
    )[0]
    assert apart(picture.svg)
    assert len(picture.rows) == min(layers, 512)
