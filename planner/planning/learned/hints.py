"""Where the instruction says that things are, as in "the pen from the desk": hints for a search.

The reader learns from goals, in which a thing's first place hardly matters, and says next to
nothing of it: of 1,192 nouns of training tasks it read 6 so, 3 of them rightly. What it does read
well is where things go and where furniture stands, so a place that is left over says where the
thing before it is: of the same nouns 104, 103 rightly.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from planner.planning.learned.matches import Array
from planner.planning.learned.network import Reading
from planner.planning.learned.progress import STATES
from planner.planning.learned.tokens import Token

# A noun that something goes to, or that a state is asked of, is no hint from this likelihood on.
_USED = 0.3
_ENDS = frozenset(".;")


def said_places(tokens: Sequence[Token], reading: Reading) -> tuple[Array, Array]:
    """(T, T): the noun is where the other says; (T,): how surely it says where it is at all."""
    at, sure = reading.at.copy(), (1 - reading.at_none).astype(np.float32)
    goes = np.maximum(reading.goes.max(0), reading.then.max(0)).max(0, initial=0)
    used = np.maximum(goes, reading.marks[:, : len(STATES)].max(1))
    pieces = [i for i, token in enumerate(tokens) if token.furniture and not token.objects]
    # "The table in the kitchen": the room says which table.
    used = np.maximum(used, reading.at[pieces].max(0, initial=0))
    for t, token in enumerate(tokens):
        place = _place_after(tokens, t) if token.objects and sure[t] < _USED else None
        if place is not None and used[place] < _USED:
            at[t], sure[t] = 0, 1
            at[t, place] = 1
    return at, sure


def _place_after(tokens: Sequence[Token], thing: int) -> int | None:
    """The first place that is named after a thing, before another thing and the sentence's end."""
    for i in range(thing + 1, len(tokens)):
        if tokens[i].objects or tokens[i].text in _ENDS:
            return None
        if tokens[i].furniture or tokens[i].rooms:
            return i
    return None
