"""Where a thing can be placed: supports near a point and free spots on them."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from shapely.geometry import Polygon, box

from planner.world.floor_grid import WALL_THICKNESS_M, door_corners, footprint
from planner.world.geometry import FloatArray, Vec3
from planner.world.vocabulary import Relation, floor_name
from sim_bridge.embedded.entities import Agent, Piece, Thing
from sim_bridge.embedded.world import KinematicWorld

GAP_M = 0.01
PITCH_M = 0.02
FLOOR_SEARCH_M = 0.8
# Well below the 0.5 m of PARTNR's is_next_to, so that the relation certainly holds.
NEXT_TO_M = 0.3
FLOOR_PART = "floor"


@dataclass(frozen=True, slots=True)
class Support:
    """A rectangle for placing things: `center` and `size` in its owner's frame.

    For a floor `owner` is None and the frame is the map's.
    """

    owner: Piece | Thing | None
    parent: str
    part: str
    relation: Relation
    center: Vec3
    size: tuple[float, float]
    clearance_m: float

    @property
    def piece(self) -> Piece | None:
        """Its furniture, or None."""
        return self.owner if isinstance(self.owner, Piece) else None


@dataclass(frozen=True, slots=True)
class Spot:
    """A pose [x, y, z, yaw] in the map on a support."""

    support: Support
    pose: tuple[float, float, float, float]


def supports_of(piece: Piece, relation: Relation) -> list[Support]:
    """All surfaces (on) or all hollows, open or not (within), of a piece of furniture."""
    if relation is Relation.ON:
        return [
            Support(piece, piece.name, s.name, relation, s.center, s.size, s.clearance)
            for s in piece.record.surfaces
        ]
    found = []
    for hollow in piece.record.interiors:
        x, y, z = piece.interior_center(hollow)
        bottom = (x, y, z - hollow.size[2] / 2)
        size = (hollow.size[0], hollow.size[1])
        found.append(
            Support(piece, piece.name, hollow.name, relation, bottom, size, hollow.size[2])
        )
    return found


def distance_to_support(support: Support, point_m: Vec3) -> float:
    """Distance of a point of the map from a support, metres."""
    owner = support.owner
    x, y, z = owner.to_local(point_m) if owner is not None else point_m
    cx, cy, cz = support.center
    dx = max(0.0, abs(x - cx) - support.size[0] / 2)
    dy = max(0.0, abs(y - cy) - support.size[1] / 2)
    # A hollow extends up to its ceiling.
    top = cz + (support.clearance_m if support.relation is Relation.WITHIN else 0.0)
    dz = max(0.0, cz - z, z - top)
    return math.sqrt(dx * dx + dy * dy + dz * dz)


def nearest_support(
    world: KinematicWorld, relation: Relation, point_m: Vec3, within_m: float
) -> Support | None:
    """The support that a point selects, or None if none is near enough."""
    best: tuple[float, Support] | None = None
    for piece in world.pieces.values():
        if piece.record.box.distance_m(point_m) > within_m + 1.0:
            continue
        for support in supports_of(piece, relation):
            distance = distance_to_support(support, point_m)
            if distance <= within_m and (best is None or distance < best[0]):
                best = (distance, support)
    return best[1] if best else None


def support_of_thing(world: KinematicWorld, holder: Thing, relation: Relation) -> Support | None:
    """The hollow (within) or the top (on) of a thing, or None if its class has none.

    A hollow is open: its contents may be as high as the space above the thing allows.
    """
    shape, name = holder.shape, holder.name
    above_m = _free_above_m(world, holder)
    if relation is Relation.WITHIN:
        if shape.hollow is None:
            return None
        (x, y, z), (depth, width, height) = shape.hollow.center, shape.hollow.size
        bottom = (x, y, z - height / 2)
        size, part = (depth, width), shape.hollow.name
    elif shape.top is not None:
        bottom, size, part = shape.top.center, shape.top.size, shape.top.name
    else:
        return None
    return Support(holder, name, part, relation, bottom, size, above_m - bottom[2])


def _free_above_m(world: KinematicWorld, thing: Thing) -> float:
    """Clearance above a thing's underside to whatever is above its support."""
    holder = world.things.get(thing.parent)
    if holder is not None:
        return _free_above_m(world, holder) - (thing.z_m - holder.z_m)
    piece = world.pieces.get(thing.parent)
    if piece is None:
        return math.inf
    parts = supports_of(piece, thing.relation)
    return next((s.clearance_m for s in parts if s.part == thing.part), math.inf)


def _height_m(world: KinematicWorld, thing: Thing) -> float:
    """Height from a thing's underside to the top of everything in or on it."""
    tops = [t.z_m + t.size_m[2] for t in (thing, *world.contents(thing))]
    return max(tops) - thing.z_m


def floor_support(world: KinematicWorld, point_m: Vec3) -> Support | None:
    """The floor of the room at a point near the ground."""
    room = world.house.room_at(point_m[0], point_m[1])
    if room is None:
        return None
    return Support(
        owner=None,
        parent=floor_name(room),
        part=FLOOR_PART,
        relation=Relation.ON,
        center=(point_m[0], point_m[1], 0.0),
        size=(2 * FLOOR_SEARCH_M, 2 * FLOOR_SEARCH_M),
        clearance_m=math.inf,
    )


def find_spot(
    world: KinematicWorld,
    agent: Agent,
    thing: Thing,
    support: Support,
    point_m: Vec3,
    reference: Thing | None,
) -> Spot | None:
    """The free spot for a thing nearest to a point (or to a reference), within reach.

    None if nothing fits.
    """
    if support.clearance_m < _height_m(world, thing) + GAP_M / 2:
        return None
    if support.owner is None:
        return _floor_spot(world, agent, thing, support, reference)
    for turned in (0.0, math.pi / 2):
        spot = _surface_spot(
            world, agent, thing, support.owner, support, point_m, reference, turned
        )
        if spot is not None:
            return spot
    return None


def _surface_spot(
    world: KinematicWorld,
    agent: Agent,
    thing: Thing,
    owner: Piece | Thing,
    support: Support,
    point_m: Vec3,
    reference: Thing | None,
    turned_rad: float,
) -> Spot | None:
    sx, sy = thing.size_m[:2] if turned_rad == 0.0 else thing.size_m[1::-1]
    half_x = support.size[0] / 2 - sx / 2
    half_y = support.size[1] / 2 - sy / 2
    if half_x < 0 or half_y < 0:
        return None
    want = owner.to_local(reference.center_m if reference else point_m)
    xs = _positions(support.center[0], half_x, want[0])
    ys = _positions(support.center[1], half_y, want[1])
    grid_x, grid_y = (axis.ravel() for axis in np.meshgrid(xs, ys))
    free = np.ones(grid_x.shape, bool)
    for other in world.resting_on(support.parent, support.part):
        ox, oy, _ = owner.to_local(other.center_m)
        wx, wy = _extent(other.size_m, other.yaw_rad - owner.yaw_rad)
        free &= (np.abs(grid_x - ox) >= (sx + wx) / 2 + GAP_M) | (
            np.abs(grid_y - oy) >= (sy + wy) / 2 + GAP_M
        )
    (x0, y0, _), (c, s) = owner.to_map((0.0, 0.0, 0.0)), (owner.cos, owner.sin)
    map_x = x0 + grid_x * c - grid_y * s
    map_y = y0 + grid_x * s + grid_y * c
    free &= np.hypot(map_x - agent.x_m, map_y - agent.y_m) <= agent.body.reach_m
    gap = np.hypot(grid_x - want[0], grid_y - want[1])
    if reference is not None:
        wx, wy = _extent(reference.size_m, reference.yaw_rad - owner.yaw_rad)
        dx = np.maximum(0.0, np.abs(grid_x - want[0]) - (sx + wx) / 2)
        dy = np.maximum(0.0, np.abs(grid_y - want[1]) - (sy + wy) / 2)
        free &= np.hypot(dx, dy) <= NEXT_TO_M
    if not free.any():
        return None
    best = int(np.argmin(np.where(free, gap, np.inf)))
    x, y = float(map_x[best]), float(map_y[best])
    z = owner.to_map(support.center)[2]
    return Spot(support, (x, y, z, owner.yaw_rad + turned_rad))


def _positions(center: float, half: float, preferred: float) -> FloatArray:
    """Candidates along one axis: the preferred position itself, then a regular grid."""
    count = max(1, int(2 * half / PITCH_M) + 1)
    line = np.linspace(center - half, center + half, count)
    return np.concatenate([[min(max(preferred, center - half), center + half)], line])


def _extent(size_m: Vec3, yaw_rad: float) -> tuple[float, float]:
    c, s = abs(math.cos(yaw_rad)), abs(math.sin(yaw_rad))
    return (size_m[0] * c + size_m[1] * s, size_m[0] * s + size_m[1] * c)


def _floor_spot(
    world: KinematicWorld, agent: Agent, thing: Thing, support: Support, reference: Thing | None
) -> Spot | None:
    around = reference.center_m if reference else support.center
    obstacles = _floor_obstacles(world, support.parent, around)
    room = world.house.rooms_by_name[support.parent.removeprefix("floor_")]
    inner = room.shape.buffer(-WALL_THICKNESS_M / 2 - GAP_M)
    sx, sy = thing.size_m[:2]
    for x, y in _spiral(around):
        if math.hypot(x - agent.x_m, y - agent.y_m) > agent.body.reach_m:
            continue
        shape = box(x - sx / 2, y - sy / 2, x + sx / 2, y + sy / 2)
        if not inner.contains(shape) or any(shape.intersects(o) for o in obstacles):
            continue
        if reference is not None and shape.distance(_outline(reference)) > NEXT_TO_M:
            continue
        return Spot(support, (x, y, 0.0, 0.0))
    return None


def _floor_obstacles(world: KinematicWorld, floor: str, around: Vec3) -> list[Polygon]:
    near = 2.5
    shapes = [
        Polygon(footprint(piece.record)).buffer(GAP_M)
        for piece in world.pieces.values()
        if piece.record.box.distance_m(around) < near
    ]
    shapes += [_outline(t).buffer(GAP_M) for t in world.resting_on(floor, FLOOR_PART)]
    # A thing in a doorway would block it.
    shapes += [Polygon(door_corners(door, 0.8)) for door in world.house.doors]
    for agent in world.agents.values():
        r = agent.body.radius_m
        shapes.append(box(agent.x_m - r, agent.y_m - r, agent.x_m + r, agent.y_m + r))
    return shapes


def _outline(thing: Thing) -> Polygon:
    wx, wy = _extent(thing.size_m, thing.yaw_rad)
    return box(thing.x_m - wx / 2, thing.y_m - wy / 2, thing.x_m + wx / 2, thing.y_m + wy / 2)


def _spiral(around: Vec3) -> list[tuple[float, float]]:
    pitch = 0.05
    reach = int(FLOOR_SEARCH_M / pitch)
    offsets = [(i, j) for i in range(-reach, reach + 1) for j in range(-reach, reach + 1)]
    offsets.sort(key=lambda o: (o[0] * o[0] + o[1] * o[1], o))
    return [(around[0] + i * pitch, around[1] + j * pitch) for i, j in offsets]
