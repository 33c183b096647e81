"""Where doors and drawers that are believed open stick out, which hinder no body in a simulator."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from planner.world.belief import Belief
from planner.world.geometry import FloatArray
from planner.world.house import Furniture, House
from planner.world.vocabulary import EntityKind


@dataclass(frozen=True)
class OpenDoors:
    """What is open of one piece of furniture, seen from above, in `map`.

    Attributes:
        leaves_m: (n, 2) corners of each door, lid or drawer where it is now, in no order.
        closed_m: (4, 2) corners of the furniture when all is closed, in order.
    """

    leaves_m: tuple[FloatArray, ...]
    closed_m: FloatArray


def open_doors(belief: Belief, house: House) -> Iterator[OpenDoors]:
    """What is believed open.

    A belief says how far the widest joint is open, so that all of them count as open that far.
    """
    pieces = house.furniture_by_name
    for node in belief.of_kind(EntityKind.FURNITURE):
        piece = pieces.get(node.name)
        if piece is not None and piece.joints and node.openness:
            yield OpenDoors(_leaves(piece, node.openness), _outline(piece))


def _leaves(piece: Furniture, openness: float) -> tuple[FloatArray, ...]:
    found = []
    for part in piece.parts:
        if part.joint is None:
            continue
        joint = piece.joint(part.joint)
        (cx, cy, cz), (sx, sy, sz) = part.center, part.size
        corners = [
            joint.moved((cx + x * sx, cy + y * sy, cz + z * sz), openness)
            for x, y, z in itertools.product((-0.5, 0.5), repeat=3)
        ]
        found.append(np.array([piece.pose.apply(corner)[:2] for corner in corners]))
    return tuple(found)


def _outline(piece: Furniture) -> FloatArray:
    x, y = piece.size_m[0] / 2, piece.size_m[1] / 2
    corners = ((-x, -y), (x, -y), (x, y), (-x, y))
    return np.array([piece.pose.apply((*corner, 0.0))[:2] for corner in corners])
