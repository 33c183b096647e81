"""The colour of each proposition, and of the entities that occur in it."""

from __future__ import annotations

import colorsys
from collections.abc import Mapping, Sequence

from planner.episodes.drawing.shapes import Colour
from planner.evaluation.task import Proposition

# Dark enough for lines and words on white.
_PALETTE: Sequence[Colour] = (
    *("#1f6fb4", "#d1530f", "#1d8a4e", "#9b3fa8", "#c2233d"),
    *("#0d8a93", "#8a6a00", "#5b4bd6", "#b0447f", "#4f6272"),
)


# Hues of further ones: steps of the golden ratio never come back to one that was there.
_STEP, _SATURATION, _VALUE = 0.618034, 0.85, 0.62


def proposition_colour(index: int) -> Colour:
    """The colour of a proposition; no two are alike."""
    if index < len(_PALETTE):
        return _PALETTE[index]
    red, green, blue = colorsys.hsv_to_rgb(index * _STEP % 1, _SATURATION, _VALUE)
    return f"#{round(255 * red):02x}{round(255 * green):02x}{round(255 * blue):02x}"


def entity_colours(propositions: Sequence[Proposition]) -> Mapping[str, Colour]:
    """For each entity the colour of the first proposition it occurs in."""
    found: dict[str, Colour] = {}
    for i, item in enumerate(propositions):
        for name in (name for names in item.lists for name in names):
            found.setdefault(name, proposition_colour(i))
    return found
