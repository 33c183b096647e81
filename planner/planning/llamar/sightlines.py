"""Which points of a house see one another past its walls, through doors."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import shapely

from planner.world.geometry import Vec3
from planner.world.house import House
from planner.world.reach import walls_of

# Whether nothing of the house's walls is between one point of the map and each of several others.
# All at once, since a house has hundreds of things, and a team looks in every joint step.
Sightline = Callable[[Vec3, Sequence[Vec3]], Sequence[bool]]


def no_sightline(_from_m: Vec3, to_m: Sequence[Vec3]) -> Sequence[bool]:
    """Nothing outside the own room is seen."""
    return [False] * len(to_m)


def sightline_of(layout: House) -> Sightline:
    """For a house; in a scene graph, whose walls are not known, no room sees into another."""
    if layout.graph is not None:
        return no_sightline
    walls = walls_of(layout)
    shapely.prepare(walls)

    def sees(from_m: Vec3, to_m: Sequence[Vec3]) -> Sequence[bool]:
        if not to_m:
            return []
        lines = shapely.linestrings([(from_m[:2], point[:2]) for point in to_m])
        return [not is_hit for is_hit in shapely.intersects(walls, lines).tolist()]

    return sees
