"""The colour of a seen thing, in words, from the pixels that show it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from planner.world.look import Color, color_of

# Levels of a channel that are told apart.
_LEVELS = 32
# What lamps light best is white or nearly so; nothing is brightened by more.
_WHITE, _MAX_GAIN = 0.95, 1.5
# What is of several colours has none of its own. Openings and undersides are dark in all colours.
_MIN_SHARE = 0.6


def exposure_gain(rgb: NDArray[np.uint8]) -> float:
    """The factor that makes the brightest of an 8-bit picture white."""
    brightest = float(np.percentile(rgb[::4, ::4].max(axis=2), 99)) / 255
    return min(_WHITE / max(brightest, 1e-3), _MAX_GAIN)


def color_votes(pixels: NDArray[np.uint8], gain: float) -> Counter[Color]:
    """How many of (n, 3) pixels have each colour, in light of that gain."""
    levels = np.clip(pixels.astype(np.float32) * (gain * _LEVELS / 256), 0, _LEVELS - 1)
    found, counts = np.unique(levels.astype(np.uint8), axis=0, return_counts=True)
    votes: Counter[Color] = Counter()
    for (red, green, blue), count in zip(found.tolist(), counts.tolist(), strict=True):
        top = _LEVELS - 1
        votes[color_of((red / top, green / top, blue / top))] += count
    return votes


def color_by_votes(votes: Mapping[Color, float]) -> Color | None:
    """The colour that a thing is believed to have; None if no colour is clearly its own."""
    if votes.get(Color.BLACK, 0.0) >= _MIN_SHARE * sum(votes.values()):
        return Color.BLACK if votes else None
    light = {color: count for color, count in votes.items() if color is not Color.BLACK}
    best = max(light, key=light.__getitem__)
    return best if light[best] >= _MIN_SHARE * sum(light.values()) else None
