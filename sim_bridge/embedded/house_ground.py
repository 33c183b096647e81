"""What all episodes of one house have in common: where bodies can stand and walk, and its rooms."""

from __future__ import annotations

import math
from typing import NamedTuple

from planner.world.errors import PlannerError
from planner.world.floor_grid import FloorGrid
from planner.world.geometry import Pose
from planner.world.house import Furniture, House
from planner.world.state import EntityState
from planner.world.vocabulary import EntityKind
from sim_bridge.embedded.paths import PathSearch
from sim_bridge.embedded.screens import Rectangle, swept

# Furniture is looked up by squares of this size.
_CELL_M = 1.0


class Way(NamedTuple):
    """A path over a floor.

    Attributes:
        corners: where it turns, without its start, with its end; empty if there is no path.
        length_m: inf if there is no path.
    """

    corners: list[tuple[float, float]]
    length_m: float


class HouseGround:
    """What all episodes of one house have in common: the grids and the room entities."""

    def __init__(self, house: House) -> None:
        self.house = house
        self._grids: dict[float, FloorGrid] = {}
        self._ways: dict[float, PathSearch] = {}
        self._swept: dict[str, Rectangle] = {}
        self._standing: dict[tuple[int, int], list[Furniture]] = {}
        for piece in house.furniture:
            (x0, y0, _), (x1, y1, _) = piece.box.minimum_m, piece.box.maximum_m
            for column in range(math.floor(x0 / _CELL_M), math.floor(x1 / _CELL_M) + 1):
                for row in range(math.floor(y0 / _CELL_M), math.floor(y1 / _CELL_M) + 1):
                    self._standing.setdefault((column, row), []).append(piece)
        self.rooms = {room.name: _room_state(house, room.name) for room in house.rooms}

    def grid(self, radius_m: float) -> FloorGrid:
        """The free floor for agents of this radius, cached."""
        grid = self._grids.get(radius_m)
        if grid is None:
            grid = self._grids[radius_m] = FloorGrid.of(self.house, radius_m)
        return grid

    def starts(self, radius_m: float) -> FloorGrid:
        """Start positions of agents of this radius, the same in all simulators of a house."""
        return self.grid(radius_m)

    def ways(self, radius_m: float) -> PathSearch:
        """The path search on that floor, cached."""
        ways = self._ways.get(radius_m)
        if ways is None:
            ways = self._ways[radius_m] = PathSearch(self.grid(radius_m))
        return ways

    def way(self, radius_m: float, start_m: tuple[float, float], goal: int) -> Way:
        """The shortest path from a point to a cell of the grid."""
        grid = self.grid(radius_m)
        cells, length_m = self.ways(radius_m).corners(standing_cell(grid, *start_m), goal)
        return Way([grid.point(cell) for cell in cells[1:] or cells], length_m)

    def stepped(
        self,
        radius_m: float,  # noqa: ARG002 - other floors ask
        start_m: tuple[float, float],  # noqa: ARG002
        end_m: tuple[float, float],
    ) -> tuple[float, float]:
        """Where a straight step ends, which the floor's edge may cut short."""
        return end_m

    def off_m(self, radius_m: float, point_m: tuple[float, float]) -> float:
        """Horizontal distance of a point to the nearest floor for agents of this radius."""
        grid = self.grid(radius_m)
        x, y = point_m
        cell = grid.nearest_free(x, y)
        if cell is None:
            return math.inf
        at_x, at_y = grid.point(cell)
        # To the cell's edge: every point of it is free.
        half = grid.cell_m / 2
        return math.hypot(max(0.0, abs(x - at_x) - half), max(0.0, abs(y - at_y) - half))

    def is_in_furniture(self, x_m: float, y_m: float, lowest_m: float) -> bool:
        """Whether something at this height over a point of the map is in a furniture's box."""
        cell = (math.floor(x_m / _CELL_M), math.floor(y_m / _CELL_M))
        for piece in self._standing.get(cell, ()):
            if lowest_m < piece.size_m[2]:
                dx, dy = x_m - piece.x_m, y_m - piece.y_m
                c, s = math.cos(piece.yaw_rad), math.sin(piece.yaw_rad)
                along, across = abs(dx * c + dy * s), abs(dy * c - dx * s)
                if along < piece.size_m[0] / 2 and across < piece.size_m[1] / 2:
                    return True
        return False

    def swept(self, name: str) -> Rectangle:
        """The rectangle around a piece of furniture and all positions of its doors and drawers."""
        rectangle = self._swept.get(name)
        if rectangle is None:
            rectangle = self._swept[name] = swept(self.house.furniture_by_name[name])
        return rectangle


def standing_cell(grid: FloorGrid, x_m: float, y_m: float) -> int:
    """The free cell that a body at a point stands on, or is nearest to.

    Raises:
        PlannerError: if no cell is free.
    """
    cell = grid.cell(x_m, y_m)
    if cell is None or not grid.free.flat[cell]:
        cell = grid.nearest_free(x_m, y_m)
    if cell is None:
        raise PlannerError("the house has no free floor to stand on")
    return cell


def _room_state(house: House, name: str) -> EntityState:
    room = house.rooms_by_name[name]
    x0, y0, x1, y1 = room.shape.bounds
    return EntityState(
        name=name,
        kind=EntityKind.ROOM,
        class_name=room.class_name,
        instance_id=0,
        pose=Pose.planar((x0 + x1) / 2, (y0 + y1) / 2),
        size_m=(x1 - x0, y1 - y0, room.height_m),
        parent=None,
        relation=None,
        room=name,
    )
