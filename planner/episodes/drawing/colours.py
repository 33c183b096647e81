"""The colour of each proposition, and of the entities that occur in it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from planner.episodes.drawing.shapes import Colour
from planner.evaluation.task import Proposition

# Dark enough for lines and words on white; repeated from the start where there are more.
_PALETTE: Sequence[Colour] = (
    *("#1f6fb4", "#d1530f", "#1d8a4e", "#9b3fa8", "#c2233d"),
    *("#0d8a93", "#8a6a00", "#5b4bd6", "#b0447f", "#4f6272"),
)


def proposition_colour(index: int) -> Colour:
    """The colour of a proposition."""
    return _PALETTE[index % len(_PALETTE)]


def entity_colours(propositions: Sequence[Proposition]) -> Mapping[str, Colour]:
    """For each entity the colour of the first proposition it occurs in."""
    found: dict[str, Colour] = {}
    for i, item in enumerate(propositions):
        for name in (name for names in item.lists for name in names):
            found.setdefault(name, proposition_colour(i))
    return found
