"""A tensor over its channels: all of it is in the picture, outliers have their numbers, and nothing makes it fail."""

import warnings

import numpy as np
import pytest

from ln_audit.numerics.channels import channels
from ln_audit.reports.pictures.channel_values import apart, channel_values, words
from ln_audit.result import TensorReport
from tests.reports.gpt2_sized import tensor
from tests.reports.pictures.drawn import shapes, texts, within


def values(size=768, **special):
    made = np.random.default_rng(3).normal(1, 0.1, size)
    for channel, value in special.items():
        made[int(channel[1:])] = value
    return made


def test_the_text_states_the_reports_numbers_and_names_the_outliers():
    made = tensor("ln_f.weight", "gain", values(_138=4.0, _378=-2.0))
    picture = channel_values(made)
    assert picture is not None
    assert picture.text == (
        f"gain ln_f.weight over 768 channels: mean {made.mean:.4g}, standard deviation {made.std:.4g}, minimum -2 (channel 378),"
        " maximum 4 (channel 138). Outliers: channel 378 (-2), 138 (4)."
    )
    assert picture.caption == "gain, ln_f.weight"
    assert picture.legend == "Outliers: channel 378 (-2), 138 (4)."
    assert [each for each in texts(picture.svg) if each in ("138", "378")] == ["378", "138"]
    assert len(shapes(picture.svg, "path", stroke="var(--vermilion)")) == 2


def test_the_counts_behind_the_distribution_are_all_there():
    picture = channel_values(tensor("g", "gain", values()))
    assert picture is not None
    assert picture.columns == ("from", "to", "channels")
    assert sum(int(row[2].replace(",", "")) for row in picture.rows) == 768


def test_the_envelope_reaches_the_extremes_however_many_channels_share_a_point():
    for size in (5, 256, 257, 5000):
        picture = channel_values(tensor("g", "gain", values(size, _2=9.0)))
        assert picture is not None
        (band,) = shapes(picture.svg, "path", fill="var(--blue)")
        assert band.attrib["d"].count("L") <= 2 * 257 + 3
        ring = next(each for each in shapes(picture.svg, "path", stroke="var(--vermilion)"))
        top = float(ring.attrib["transform"].split()[1].rstrip(")"))
        shift = float(band.attrib["transform"].split()[1].rstrip(")"))
        highest = min(float(point.split()[1]) for point in band.attrib["d"].strip("Mz").split("L")) + shift
        assert highest == pytest.approx(top, abs=0.11)


def test_labels_that_would_cover_each_other_are_left_to_the_caption():
    crowd = values(_201=5.0, _202=5.01, _203=5.02, _700=5.0)
    picture = channel_values(tensor("g", "gain", crowd))
    assert picture is not None
    assert [each for each in texts(picture.svg) if each in ("201", "202", "203", "700")] == ["203", "700"]
    assert "channel 203 (5.02), 202 (5.01), 201 (5), 700 (5)" in picture.legend


@pytest.mark.parametrize(
    "given",
    [
        np.ones(768), np.zeros(4), np.array([2.0]), np.array([1e-320, 2e-320]), np.array([1e99, -1e99]),
        np.array([1.0, 1.0 + 2**-52]), np.linspace(0, 1, 16384),
    ],
    ids=["constant", "zero", "one channel", "subnormal", "huge", "one bit apart", "wide"],
)  # fmt: skip
def test_odd_values_are_drawn_too(given):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        picture = channel_values(tensor("g", "gain", given))
    assert picture is not None
    assert within(picture.svg)


def test_beyond_what_axes_can_hold_there_are_words_and_no_picture():
    assert channel_values(tensor("g", "gain", np.array([1e300, 1.0]))) is None
    assert channel_values(TensorReport("g", "gain", (2,), "F32", channels=channels(np.full(2, np.nan)))) is None


def test_what_is_no_number_is_marked_where_it_is():
    broken = values(_5=np.nan, _9=np.inf)
    made = TensorReport("g", "gain", (768,), "F32", channels=channels(broken))
    picture = channel_values(made)
    assert picture is not None
    assert picture.text == "gain g over 768 channels. No outliers. Not finite: channel 5, 9."
    assert len(shapes(picture.svg, "path", stroke="var(--vermilion)")) == 2
    assert apart(channels(np.array([np.nan] * 20 + [1.0]))).endswith("channel 0, 1, 2, 3, 4, 5, 6, 7 and 12 more.")


def test_values_that_were_not_kept_have_no_picture():
    made = TensorReport("g", "gain", (768,), "F32")
    assert (channel_values(made), words(made)) == (None, "gain g: values not read")
