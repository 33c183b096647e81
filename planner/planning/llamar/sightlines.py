"""Which points of a house see one another past its walls, through doors."""

from __future__ import annotations

from collections.abc import Callable

import shapely

from planner.world.geometry import Vec3
from planner.world.house import House
from planner.world.reach import walls_of

# Whether nothing of the house's walls is between two points of the map.
Sightline = Callable[[Vec3, Vec3], bool]


def no_sightline(_from_m: Vec3, _to_m: Vec3) -> bool:
    """Nothing outside the own room is seen."""
    return False


def sightline_of(layout: House) -> Sightline:
    """For a house; in a scene graph, whose walls are not known, no room sees into another."""
    if layout.graph is not None:
        return no_sightline
    walls = walls_of(layout)
    shapely.prepare(walls)

    def sees(from_m: Vec3, to_m: Vec3) -> bool:
        return not shapely.intersects(walls, shapely.LineString([from_m[:2], to_m[:2]]))

    return sees
