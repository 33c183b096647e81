"""How far agents walk to furniture and things, from the layout alone."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache, partial

import shapely

from planner.world.agents import hand_angle_rad
from planner.world.belief import Belief, BeliefNode, Source
from planner.world.floor_grid import DistanceField, FloorGrid, preload_path_search
from planner.world.geometry import Vec3
from planner.world.house import Furniture, House
from planner.world.object_checks import walls_of
from planner.world.vocabulary import EntityKind, Relation, is_open

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
        goal = self._stand(to)
        if goal is None or start is None:
            return FAR_M
        field = self._fields.get(goal)
        if field is None:
            field = self._fields[goal] = self._grid.field(goal)
        distance = field.at(start)
        return distance if math.isfinite(distance) else FAR_M

    def _stand(self, name: str) -> int | None:
        """The cell in which an agent stands at furniture, or in the middle of a room."""
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


# What an agent sees now, as far as the memory knows.

_FLOOR = "floor"
_KINDS = frozenset({EntityKind.FURNITURE, EntityKind.OBJECT})


def is_nameable(node: BeliefNode) -> bool:
    """Whether actions can be about it: furniture and things, but no floor or agent."""
    return node.kind in _KINDS and node.class_name != _FLOOR


# Which points of a house see one another past its walls, through doors.

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


# LLaMAR's camera, for bodies that are not ours.
_ANGLE_RAD = math.pi / 2
# Things this close are seen in any direction, since the agent stands at them.
_AT_HAND_M = 0.3


def in_the_open(belief: Belief) -> list[BeliefNode]:
    """The furniture and things that are not inside anything closed, in the memory's order."""
    return [n for n in belief.nodes.values() if is_nameable(n) and not _is_enclosed(n, belief)]


def visible(
    belief: Belief,
    agent: str,
    sightline: Sightline = no_sightline,
    among: Sequence[BeliefNode] | None = None,
) -> list[BeliefNode]:
    """The furniture and things that an agent sees, in the memory's order; not what it holds.

    Nothing for an agent that the memory does not know. One whose heading is unknown sees its room.
    `among` is what is in the open; None = it is looked for, which is the same for all agents.
    """
    viewer = belief.nodes.get(agent)
    if viewer is None:
        return []
    held, half_rad = set(viewer.hands), hand_angle_rad(viewer.class_name, _ANGLE_RAD) / 2
    faced = [
        node
        for node in (in_the_open(belief) if among is None else among)
        # Only what was seen is known to stand in view behind a door.
        if (node.room == viewer.room or node.source is Source.SEEN)
        and node.name not in held
        and _faces(viewer, node, half_rad)
    ]
    others = [node for node in faced if node.room != viewer.room]
    in_view = sightline(viewer.position_m, [node.position_m for node in others])
    hidden = {node.name for node, is_seen in zip(others, in_view, strict=True) if not is_seen}
    return [node for node in faced if node.name not in hidden]


def _faces(viewer: BeliefNode, node: BeliefNode, half_rad: float) -> bool:
    if viewer.heading_rad is None:
        return True
    dx = node.position_m[0] - viewer.position_m[0]
    dy = node.position_m[1] - viewer.position_m[1]
    if math.hypot(dx, dy) <= _AT_HAND_M:
        return True
    turn_rad = math.remainder(math.atan2(dy, dx) - viewer.heading_rad, math.tau)
    return abs(turn_rad) <= half_rad


def _is_enclosed(node: BeliefNode, belief: Belief) -> bool:
    """Whether it is, directly or indirectly, inside something closed."""
    passed: set[str] = set()
    while node.name not in passed:
        passed.add(node.name)
        parent = belief.nodes.get(node.parent or "")
        if parent is None or not is_nameable(node):
            return False
        if node.relation is Relation.WITHIN and is_open(parent.openness) is False:
            return True
        node = parent
    return False
