"""The map of the error: each cell has the colour of its largest share, and the words say how much is beyond."""

import base64
import warnings
from dataclasses import replace
from io import BytesIO
from math import inf

import numpy as np
import pytest
from PIL import Image

from ln_audit.reports.pictures.error_map import error_map
from tests.reports.made import COMPARISON
from tests.reports.pictures.compared import comparison
from tests.reports.pictures.drawn import apart, shapes, texts, within

GREEN_OF_RED = 130  # beyond the tolerance green is less than this, at it (cividis' yellow) more


def pixels(picture):
    """The map's own pixels, [rows, columns, 4]."""
    href = shapes(picture.svg, "image")[0].attrib["href"]
    return np.array(Image.open(BytesIO(base64.b64decode(href.partition(",")[2]))))


def test_each_cell_is_one_pixel_in_the_place_of_its_elements():
    picture = error_map(comparison([[0.001, 0.25, 1.0], [2.0, None, 64.0]]))
    assert picture is not None
    seen = pixels(picture).astype(int)
    assert seen.shape == (2, 3, 4)
    dark, middle, yellow = seen[0, :, :3]
    assert dark.sum() < middle.sum() < yellow.sum()
    assert seen[0, 2, 1] > GREEN_OF_RED > seen[1, 0, 1]
    assert seen[1, 0, :3].sum() > seen[1, 2, :3].sum()  # the further beyond, the darker
    assert (seen[1, 1, 3], seen[0, 0, 3]) == (0, 255)  # nothing was judged there


def test_what_is_wrong_whatever_its_share_is_purple_and_told():
    picture = error_map(comparison([[0.5, None], [0.1, 9.0]], marked=[(0, 0), (0, 1), (1, 1)]))
    assert picture is not None
    seen = pixels(picture)
    assert [tuple(seen[0, 0]), tuple(seen[0, 1])] == [(204, 121, 167, 255)] * 2
    assert seen[1, 1, 1] < GREEN_OF_RED
    assert picture.text.endswith("3 cells hold a value outside its rounding cell or one that is no number.")
    assert picture.legend.endswith(
        "Yellow is close to the tolerance, red beyond it, purple outside its rounding cell or no number."
    )


def test_the_words_have_the_comparisons_numbers_and_the_table_the_worst_cells():
    picture = error_map(
        comparison([[0.001, 0.25], [2.5, None]], rows_per_cell=4, channels_per_cell=3, positions=7, width=6)
    )
    assert picture is not None
    assert picture.text == (
        "Error as a share of the tolerance over 7 positions and 6 channels: the largest is 2.5, at [0, 1], channel 3; 1 of 3"
        " elements are beyond the tolerance."
    )
    assert picture.rows == (("4 to 6", "0 to 2", "2.5"), ("0 to 3", "3 to 5", "0.25"), ("0 to 3", "0 to 2", "0.001"))
    assert picture.legend.startswith("The largest of each cell of 4 × 3 elements.")


@pytest.mark.parametrize("largest", [0.0, 1e-9, 0.3, 1.0, 1.001, 1.6, 12.0, 16_792.0, 3e12, 1e200, inf])
def test_the_scale_is_labelled_for_every_range(largest):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        picture = error_map(comparison([[largest, 0.0], [None, 0.0]]))
    assert picture is not None
    assert within(picture.svg)
    assert apart(picture.svg)
    assert "1" in texts(picture.svg)
    assert len(shapes(picture.svg, "image")) == 2


@pytest.mark.parametrize("size", [(1, 1), (1, 256), (128, 1), (120, 1), (128, 256)])
def test_every_shape_of_a_map_is_drawn(size):
    picture = error_map(comparison([[0.5] * size[1]] * size[0], marked=[(size[0] - 1, size[1] - 1)]))
    assert picture is not None
    assert pixels(picture).shape == (*size, 4)
    assert (pixels(picture)[..., :3] == (204, 121, 167)).all(axis=-1).sum() == 1


def test_a_comparison_that_was_not_made_for_pictures_has_none():
    assert error_map(replace(COMPARISON, shares=None)) is None
