"""The colour of a seen thing."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from planner.memory.camera import color_by_votes, color_votes, exposure_gain
from planner.world.shapes import Color


def test_pixels_vote_for_their_colours() -> None:
    pixels = np.array([[200, 40, 35]] * 3 + [[60, 60, 200]] * 2, np.uint8)
    assert color_votes(pixels, 1.0) == Counter({Color.RED: 3, Color.BLUE: 2})


def test_white_in_dim_light_is_white() -> None:
    dim = np.full((8, 8, 3), 190, np.uint8)
    assert color_votes(dim.reshape(-1, 3), 1.0) == Counter({Color.GRAY: 64})
    assert color_votes(dim.reshape(-1, 3), exposure_gain(dim)) == Counter({Color.WHITE: 64})


@pytest.mark.parametrize(
    ("votes", "color"),
    [
        ({Color.RED: 9.0, Color.WHITE: 1.0}, Color.RED),
        ({Color.RED: 4.0, Color.BLACK: 5.0}, Color.RED),
        ({Color.RED: 1.0, Color.BLACK: 9.0}, Color.BLACK),
        ({Color.RED: 5.0, Color.WHITE: 5.0}, None),
        ({}, None),
    ],
)
def test_a_thing_has_a_colour_where_most_of_it_has_one(
    votes: dict[Color, float], color: Color | None
) -> None:
    assert color_by_votes(votes) is color
