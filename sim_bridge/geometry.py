"""A house's fixed structure, and what simulators say of its geometry and of their meshes."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from shapely.geometry import LineString, MultiLineString, Polygon
from shapely.geometry.base import BaseGeometry
from shapely.ops import linemerge, unary_union

from planner.world.catalogue import Catalogue
from planner.world.errors import PlannerError
from planner.world.floor_grid import WALL_THICKNESS_M, door_corners
from planner.world.geometry import Vec3
from planner.world.house import House


@dataclass(frozen=True, slots=True)
class Ray:
    """A ray in `map`; `direction` has the length 1."""

    origin_m: Vec3
    direction: Vec3


@runtime_checkable
class GeometrySource(Protocol):
    """A backend whose geometry can be asked."""

    @property
    def floor_step_m(self) -> float:
        """Resolution of the floor's height; 0 if it is exact."""

    def crossed(self, rays: Sequence[Ray], far_m: float) -> list[tuple[str, ...]]:
        """The furniture and things that each ray enters within a distance, nearest first.

        A body that contains a ray's origin is not entered. Structure and agents are not reported.

        Raises:
            PlannerError: if no episode is loaded, or the simulator does not answer.
        """

    def off_floor_m(self, x_m: float, y_m: float) -> float:
        """Horizontal distance of a point to the nearest floor on which a robot's middle may be."""


# The fixed structure of a house: floors, ceilings, walls, lintels.
#
# Every simulator builds its walls from this list, so that all of them show the same house.

_SLAB_HALF_M = 0.05
_WALL_RGB = (0.93, 0.91, 0.86)
_CEILING_RGB = (0.97, 0.97, 0.96)
# Of rooms of other data sets, whose classes are their own.
_UNKNOWN_RGB = (0.85, 0.83, 0.8)
_ENTRANCE_RGB = (0.45, 0.3, 0.2)


@dataclass(frozen=True, slots=True)
class Slab:
    """A box of the structure in `map`: centre, half size, rotation about z, colour.

    `is_ceiling` marks what a view from above leaves out.
    """

    center_m: Vec3
    half_m: Vec3
    yaw_rad: float
    rgb: tuple[float, float, float]
    is_ceiling: bool = False


def structure_slabs(house: House, catalogue: Catalogue) -> Iterator[Slab]:
    """All slabs of a house: floor and ceiling of each room, walls, and what closes each opening.

    Raises:
        PlannerError: for a scene graph, which has no walls.
    """
    if house.graph is not None:
        raise PlannerError(f"{house.name} is a scene graph, which only the backend graph runs")
    for room in house.rooms:
        known = catalogue.rooms.get(room.class_name)
        rgb = _UNKNOWN_RGB if known is None else known.floor_rgb
        for x0, y0, x1, y1 in _rectangles(room.shape):
            x, y = (x0 + x1) / 2, (y0 + y1) / 2
            half = ((x1 - x0) / 2, (y1 - y0) / 2, _SLAB_HALF_M)
            yield Slab((x, y, -_SLAB_HALF_M), half, 0.0, rgb)
            above = (x, y, room.height_m + _SLAB_HALF_M)
            yield Slab(above, half, 0.0, _CEILING_RGB, is_ceiling=True)
    height = max(room.height_m for room in house.rooms)
    for (x0, y0), (x1, y1) in wall_segments(house):
        half_length = math.hypot(x1 - x0, y1 - y0) / 2 + WALL_THICKNESS_M / 2
        middle = ((x0 + x1) / 2, (y0 + y1) / 2, height / 2)
        half = (half_length, WALL_THICKNESS_M / 2, height / 2)
        yield Slab(middle, half, math.atan2(y1 - y0, x1 - x0), _WALL_RGB)
    for door in house.doors:
        lintel = (height - door.height_m) / 2
        if lintel > 0:
            half = (door.width_m / 2, WALL_THICKNESS_M / 2, lintel)
            yield Slab((*door.center_m, height - lintel), half, door.yaw_rad, _WALL_RGB)
        if len(door.rooms) == 1:
            half = (door.width_m / 2, WALL_THICKNESS_M / 2, door.height_m / 2)
            yield Slab((*door.center_m, door.height_m / 2), half, door.yaw_rad, _ENTRANCE_RGB)


def wall_segments(house: House) -> list[tuple[tuple[float, float], tuple[float, float]]]:
    """The centre lines of all walls without their openings, map frame, metres."""
    openings = unary_union([Polygon(door_corners(door)) for door in house.doors])
    edges = []
    for room in house.rooms:
        corners = list(room.polygon_m)
        edges += [LineString(pair) for pair in zip(corners, corners[1:] + corners[:1], strict=True)]
    walls = unary_union(edges).difference(openings)
    merged = linemerge(walls) if isinstance(walls, MultiLineString) else walls
    segments = []
    for line in _lines(merged):
        points = list(line.simplify(1e-6).coords)
        segments += [((a[0], a[1]), (b[0], b[1])) for a, b in itertools.pairwise(points)]
    return segments


def _rectangles(shape: Polygon) -> list[tuple[float, float, float, float]]:
    """Axis-aligned pieces of a floor: slabs between the corners' x.

    Exact for rectilinear rooms; slanted walls get a staircase.
    """
    xs = sorted({x for x, _ in shape.exterior.coords})
    found = []
    for x0, x1 in itertools.pairwise(xs):
        middle = (x0 + x1) / 2
        line = LineString([(middle, shape.bounds[1] - 1), (middle, shape.bounds[3] + 1)])
        for part in _lines(line.intersection(shape)):
            ys = [y for _, y in part.coords]
            found.append((x0, min(ys), x1, max(ys)))
    return found


def _lines(shape: BaseGeometry) -> list[LineString]:
    if isinstance(shape, LineString):
        return [] if shape.is_empty else [shape]
    return [part for part in getattr(shape, "geoms", ()) if isinstance(part, LineString)]


# Whose meshes a simulator draws, for results that depend on pictures.


@runtime_checkable
class DrawsModels(Protocol):
    """A backend that can draw meshes of other data sets."""

    def drawn_from(self) -> str:
        """Whose meshes house, things and bodies have in the loaded episode.

        Raises:
            PlannerError: if none is loaded.
        """
