"""Where a seen point belongs: on, within or on the floor, from the layout's geometry alone.

What a camera measures is a point of a thing's visible side, not its underside, so the
tolerances are wide.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from planner.world.geometry import Vec3
from planner.world.house import Furniture, House
from planner.world.vocabulary import Relation, floor_name

# A seen point lies at most this far beside a surface's edge, below its top or above it.
_BESIDE_M, _BELOW_M, _ABOVE_M = 0.05, 0.05, 0.5
_FLOOR_M = 0.3


@dataclass(frozen=True, slots=True)
class Support:
    """What a thing rests on and in which room; None where geometry does not tell."""

    parent: str | None
    relation: Relation | None
    room: str | None


def support_of(
    layout: House, point_m: Vec3, named: str | None, openness: Mapping[str, float]
) -> Support:
    """The furniture or floor that holds a point of `map`.

    Args:
        layout: rooms and furniture.
        point_m: the seen point.
        named: furniture that the description names; then only the relation is derived.
        openness: of furniture by name, 0 to 1; absent is closed.
    """
    piece = layout.furniture_by_name.get(named) if named is not None else None
    if piece is not None:
        inside = _enclosing(piece, openness.get(piece.name, 0.0), _local(piece, point_m))
        relation = Relation.WITHIN if inside is not None else Relation.ON
        return Support(piece.name, relation, piece.room)
    best: tuple[float, Furniture] | None = None
    for piece in layout.furniture:
        if not piece.box.contains(point_m, _ABOVE_M):
            continue
        local = _local(piece, point_m)
        if _enclosing(piece, openness.get(piece.name, 0.0), local) is not None:
            return Support(piece.name, Relation.WITHIN, piece.room)
        height = _height_above(piece, local)
        if height is not None and (best is None or height < best[0]):
            best = (height, piece)
    if best is not None:
        return Support(best[1].name, Relation.ON, best[1].room)
    room = layout.room_at(point_m[0], point_m[1])
    if room is not None and point_m[2] <= _FLOOR_M:
        return Support(floor_name(room), Relation.ON, room)
    return Support(None, None, room)


def _enclosing(piece: Furniture, openness: float, local: Vec3) -> str | None:
    """The interior that a point of the furniture's frame is in; `openness` is 0 to 1."""
    for hollow in piece.interiors:
        # A drawer is somewhere between closed and as far out as the widest one.
        shifts = [0.0]
        if hollow.joint is not None and hollow.moves:
            shifts.append(openness * piece.joint(hollow.joint).travel)
        for shift in shifts:
            axis = piece.joint(hollow.joint).axis if hollow.joint is not None else (0.0, 0.0, 0.0)
            center = (
                hollow.center[0] + shift * axis[0],
                hollow.center[1] + shift * axis[1],
                hollow.center[2] + shift * axis[2],
            )
            if all(abs(p - c) <= s / 2 for p, c, s in zip(local, center, hollow.size, strict=True)):
                return hollow.name
    return None


def _local(piece: Furniture, point_m: Vec3) -> Vec3:
    return piece.pose.inverse().apply(point_m)


def _height_above(piece: Furniture, local: Vec3) -> float | None:
    """The height of a point above the nearest surface below it, or None."""
    heights = [
        local[2] - surface.center[2]
        for surface in piece.surfaces
        if abs(local[0] - surface.center[0]) <= surface.size[0] / 2 + _BESIDE_M
        and abs(local[1] - surface.center[1]) <= surface.size[1] / 2 + _BESIDE_M
        and -_BELOW_M <= local[2] - surface.center[2] <= min(surface.clearance, _ABOVE_M)
    ]
    return min(heights, default=None)


def surface_point(piece: Furniture, relation: Relation) -> Vec3:
    """Where a thing put on or within furniture is thought to be when nobody measured it."""
    hollows = piece.interiors if relation is Relation.WITHIN else ()
    if hollows:
        return piece.pose.apply(hollows[0].center)
    if piece.surfaces:
        return piece.pose.apply(max(piece.surfaces, key=lambda s: s.center[2]).center)
    return (piece.x_m, piece.y_m, piece.size_m[2])
