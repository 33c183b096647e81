"""What the instruction says of known entities: a reading, carried over by the matches.

All values are likelihoods; the same formulas are in `planner.training.learned.reader`, where they
are differentiated.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from planner.planning.learned.matches import Array, Matches
from planner.planning.learned.network import Reading


@dataclass(frozen=True, slots=True)
class Grounded:
    """F pieces of furniture, O things and T tokens.

    Attributes:
        furniture: (F, T): the token means the piece, with what is said of where it is.
        things: (O, T): the token means the thing, with what is said of where it was.
        goes: (3, O, F): it is to go on, into, or into the room of the piece.
        then: (3, O, F): the same, after it was brought where `goes` says.
        next_things: (O, O): it is to be put next to the other.
        next_furniture: (O, F).
    """

    furniture: Array
    things: Array
    goes: Array
    then: Array
    next_things: Array
    next_furniture: Array


def ground(reading: Reading, found: Matches) -> Grounded:
    """Grounds a reading."""
    none, at = reading.at_none[None, :], reading.at.T
    furniture = found.furniture * (none + found.in_room @ at)
    # A thing is where its furniture is, and in that room.
    where = found.thing_in_room
    if len(found.supports) and len(furniture):
        on = np.where(found.supports[:, None] >= 0, furniture[found.supports], np.float32(0))
        where = np.maximum(where, on)
    things = found.things * (none + where @ at)
    targets = (furniture, furniture, found.in_room)
    goes = np.stack([things @ reading.goes[k] @ target.T for k, target in enumerate(targets)])
    then = np.stack([things @ reading.then[k] @ target.T for k, target in enumerate(targets)])
    # Of two things of one noun either may be the one that is put next to the other, each by half;
    # and nothing is put next to itself.
    next_to = reading.next + np.diag(np.diagonal(reading.next))
    beside = things @ next_to @ things.T
    np.fill_diagonal(beside, 0)
    return Grounded(
        furniture,
        things,
        np.minimum(goes, 1),
        np.minimum(then, 1),
        np.minimum(beside, 1),
        np.minimum(things @ reading.next @ furniture.T, 1),
    )
