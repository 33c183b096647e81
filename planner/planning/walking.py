"""How far agents walk to furniture and things, from the layout alone."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache, partial

from planner.world.floor_grid import DistanceField, FloorGrid, preload_path_search
from planner.world.house import Furniture, House

# Coarser than the bodies' own grid: an estimate is enough, and takes a quarter of the time.
CELL_M = 0.2
RADIUS_M = 0.28
# Distance from the front edge of furniture at which an agent stands.
FRONT_M = 0.4
# Distance if no way is known: longer than any walk, but finite, so that it can be compared.
FAR_M = 500.0
MAX_HOUSES = 16


class WalkMap:
    """Walking distances in one house; a field for each destination is computed once."""

    def __init__(self, layout: House) -> None:
        preload_path_search()
        self._layout = layout
        self._grid = FloorGrid.of(layout, RADIUS_M, CELL_M)
        self._stands: dict[str, int | None] = {}
        self._cells: dict[tuple[float, float], int | None] = {}
        # By destination cell: some 15 kB each, at most about a hundred in a house.
        self._fields: dict[int, DistanceField] = {}

    def distance_m(self, from_m: tuple[float, float], to: str) -> float:
        """From a point of the map to furniture, a floor or a room by name; `FAR_M` if no way."""
        return self._distance_m(self._cell(from_m), to)

    def distances_m(self, from_m: tuple[float, float]) -> Callable[[str], float]:
        """The same from one point to several destinations."""
        return partial(self._distance_m, self._cell(from_m))

    def _distance_m(self, start: int | None, to: str) -> float:
        goal = self._publish_status(to)
        if goal is None or start is None:
            return FAR_M
        field = self._fields.get(goal)
        if field is None:
            field = self._fields[goal] = self._grid.field(goal)
        distance = field.at(start)
        return distance if math.isfinite(distance) else FAR_M

    def _publish_status(self, name: str) -> int | None:
        if name not in self._stands:
            piece = self._layout.furniture_by_name.get(name)
            room = self._layout.rooms_by_name.get(name.removeprefix("floor_"))
            if piece is not None:
                self._stands[name] = self._cell(_front(piece))
            elif room is not None:
                middle = room.shape.representative_point()
                self._stands[name] = self._cell((middle.x, middle.y))
            else:
                self._stands[name] = None
        return self._stands[name]

    def _cell(self, point_m: tuple[float, float]) -> int | None:
        # Agents stop at the same few places, so rounding makes keys repeat.
        key = (round(point_m[0], 1), round(point_m[1], 1))
        if key not in self._cells:
            self._cells[key] = self._grid.nearest_free(*key)
        return self._cells[key]


def _front(piece: Furniture) -> tuple[float, float]:
    ahead = piece.size_m[0] / 2 + FRONT_M
    return (
        piece.x_m + ahead * math.cos(piece.yaw_rad),
        piece.y_m + ahead * math.sin(piece.yaw_rad),
    )


def walk_map(layout: House) -> WalkMap:
    """The map of a house, shared by all tasks in it."""
    shape = tuple((p.name, p.x_m, p.y_m, p.yaw_rad, p.size_m) for p in layout.furniture)
    return _walk_map(_Key(layout, (layout.name, len(layout.rooms), shape)))


class _Key:
    """A house compared by the positions of its furniture; hashing whole records is too slow."""

    def __init__(self, layout: House, shape: tuple[object, ...]) -> None:
        self.layout, self._shape = layout, shape

    def __hash__(self) -> int:
        return hash(self._shape)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Key) and self._shape == other._shape


@lru_cache(maxsize=MAX_HOUSES)
def _walk_map(key: _Key) -> WalkMap:
    return WalkMap(key.layout)


def forget_walk_maps() -> None:
    """Frees all cached maps."""
    _walk_map.cache_clear()
