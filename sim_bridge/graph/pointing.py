"""Maps the points of primitives to nodes of a graph world, and to places on and in them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from planner.world.geometry import Vec3
from planner.world.house import Furniture
from planner.world.put_spots import off_the_edge, sides_along
from planner.world.vocabulary import EntityKind, Relation, floor_name
from sim_bridge.graph.scene import Node, Place
from sim_bridge.graph.world import Agent, GraphWorld

# Maximum distance of a node from a target point, if a primitive does not say.
TOLERANCE_M = 0.3
# Tolerance above or below a surface, and outside an interior, for placing.
_ABOVE_M, _OUTSIDE_M = 0.35, 0.15
# Below this height a point is on the floor.
_FLOOR_M = 0.3
_ROUNDING_M = 1e-6
# Distance between things in one place, so that each can be selected.
_APART_M = 0.06
_BESIDE_M = 0.15


@dataclass(frozen=True, slots=True)
class Spot:
    """A place for a thing: its relation and parent, and its position as `Start.at_m`."""

    place: Place
    at_m: Vec3


def node_at(
    world: GraphWorld, point_m: Vec3, names: Iterable[str], tolerance_m: float
) -> str | None:
    """The node that a point selects: that with the nearest box or handle, within the tolerance."""
    within_m = tolerance_m or TOLERANCE_M
    ranked = []
    for name in names:
        away_m = math.dist(world.middle_m(name), point_m)
        if away_m <= within_m + _extent_m(world, world.nodes[name]) + _ROUNDING_M:
            ranked.append((_distance_m(world, name, point_m), away_m, name))
    best = min(ranked, default=None)
    return best[2] if best is not None and best[0] <= within_m else None


def things(world: GraphWorld) -> Iterator[str]:
    """All things that are not held."""
    for name, node in world.nodes.items():
        if node.kind is EntityKind.OBJECT and world.relation_of(name) is not Relation.HELD:
            yield name


def handled(world: GraphWorld) -> Iterator[str]:
    """All things that are not held, and all furniture."""
    for name, node in world.nodes.items():
        if node.kind is EntityKind.FURNITURE:
            yield name
    yield from things(world)


def _extent_m(world: GraphWorld, node: Node) -> float:
    """At least the distance of any of a node's box and handles from its middle."""
    x, y, height = node.size_m
    # Turned, neither side of the box is longer than both together.
    box_m = math.hypot(x + y, x + y, height) / 2
    if node.piece is None or not node.piece.joints:
        return box_m
    middle_m = world.middle_m(node.name)
    return max(box_m, *(math.dist(h, middle_m) for h in node.piece.handles_m))


def _distance_m(world: GraphWorld, name: str, point_m: Vec3) -> float:
    gap_m = world.gap_to_m(point_m[:2], name)
    z = world.position_m(name)[2]
    node = world.nodes[name]
    outside_m = max(0.0, z - point_m[2], point_m[2] - z - node.size_m[2])
    to_box_m = math.hypot(gap_m, outside_m)
    handles = () if node.piece is None else node.piece.handles_m
    return min([to_box_m, *(math.dist(h, point_m) for h in handles)])


def spot_at(world: GraphWorld, point_m: Vec3, relation: Relation, thing: str) -> Spot | None:
    """Where a thing goes that is put at a point; None if there is nothing to put it on or in."""
    found = [
        (cost, name, at_m)
        for name in handled(world)
        if not world.carries(thing, name)
        for cost, at_m in _offers(world, world.nodes[name], point_m, relation, thing)
    ]
    best = min(found, default=None)
    if best is not None:
        _, name, at_m = best
        return Spot((relation, name), _apart(world, name, at_m))
    room = world.start.house.room_at(point_m[0], point_m[1])
    if relation is Relation.ON and room is not None and point_m[2] <= _FLOOR_M:
        floor = floor_name(room)
        return Spot((relation, floor), _apart(world, floor, (*point_m[:2], 0.0)))
    return None


def spot_at_thing(
    world: GraphWorld, point_m: Vec3, relation: Relation, thing: str, tolerance_m: float
) -> Spot | None:
    """Where a thing goes that is put onto or into the thing at a point; None if there is none.

    Args:
        world: the current state.
        point_m: selects the nearest thing within the tolerance.
        relation: on a thing with a top, or within one with a hollow.
        thing: the thing that is put down.
        tolerance_m: more than 0.
    """
    able = (
        name
        for name in things(world)
        if (world.nodes[name].flat if relation is Relation.ON else world.nodes[name].hollow)
        and not world.carries(thing, name)
    )
    name = node_at(world, point_m, able, tolerance_m)
    if name is None:
        return None
    height_m = world.nodes[name].size_m[2] * (1.0 if relation is Relation.ON else 0.25)
    return Spot((relation, name), _apart(world, name, (0.0, 0.0, height_m)))


def _offers(
    world: GraphWorld, node: Node, point_m: Vec3, relation: Relation, thing: str
) -> Iterator[tuple[float, Vec3]]:
    """The places on or in a node that a point may select, with the point's distance from each.

    On a surface the thing does not stick out beyond the edge, if it fits.
    """
    if node.piece is not None:
        local = node.piece.pose_inverse.apply(point_m)
        if relation is Relation.ON:
            sides_m = sides_along(node.piece, world.nodes[thing].size_m)
            for surface in node.piece.surfaces:
                off_m = abs(local[2] - surface.center[2])
                half = (surface.size[0] / 2, surface.size[1] / 2)
                if off_m <= _ABOVE_M and _over(local, surface.center, half):
                    x, y = off_the_edge(local, surface, sides_m)
                    yield off_m, node.piece.pose.apply((x, y, surface.center[2]))
            return
        for hollow in node.piece.interiors:
            out = _travel(node.piece, hollow.joint) if hollow.moves else (0.0, 0.0, 0.0)
            inside = _into(local, hollow.center, hollow.size, out)
            if inside is not None:
                x, y, _ = inside
                rest_m = hollow.center[2] - hollow.size[2] / 2
                yield math.dist(local, hollow.center), node.piece.pose.apply((x, y, rest_m))
        return
    if not (node.flat if relation is Relation.ON else node.hollow):
        return
    x, y, z = world.position_m(node.name)
    top_m = z + node.size_m[2]
    off_m = abs(point_m[2] - top_m) if relation is Relation.ON else abs(point_m[2] - z)
    if off_m <= _ABOVE_M and world.gap_to_m(point_m[:2], node.name) == 0.0:
        height_m = node.size_m[2] if relation is Relation.ON else node.size_m[2] / 4
        yield off_m, (point_m[0] - x, point_m[1] - y, height_m)


def _over(point: Vec3, center: Vec3, half: tuple[float, float]) -> bool:
    return all(abs(point[i] - center[i]) <= half[i] + 1e-6 for i in range(2))


def _travel(piece: Furniture, joint: str | None) -> Vec3:
    if joint is None:
        return (0.0, 0.0, 0.0)
    record = piece.joint(joint)
    x, y, z = record.axis
    return (x * record.travel, y * record.travel, z * record.travel)


def _into(point: Vec3, center: Vec3, size: Vec3, out: Vec3) -> Vec3 | None:
    """The point moved into a closed hollow; None if it is not at the hollow."""
    moved = []
    for at, middle, side, travel in zip(point, center, size, out, strict=True):
        low, high = middle - side / 2, middle + side / 2
        if not low + min(travel, 0) - _OUTSIDE_M <= at <= high + max(travel, 0) + _OUTSIDE_M:
            return None
        moved.append(min(max(at, low + side / 10), high - side / 10))
    return (moved[0], moved[1], moved[2])


def beside(world: GraphWorld, who: Agent, reference_m: Vec3, tolerance_m: float) -> Vec3 | None:
    """A point next to the thing at a reference point; None if there is no thing."""
    name = node_at(world, reference_m, things(world), tolerance_m)
    if name is None:
        return None
    (x, y, z), size = world.position_m(name), world.nodes[name].size_m
    _, parent = world.place_of(name) or (Relation.ON, "")
    piece = world.nodes[parent].piece if parent in world.nodes else None
    # Towards the centre of its support, so as not to fall off; on the floor towards the agent.
    tx, ty = (piece.x_m, piece.y_m) if piece is not None else (who.x_m, who.y_m)
    away = math.atan2(ty - y, tx - x) if math.hypot(tx - x, ty - y) > _APART_M else 0.0
    off_m = max(size[0], size[1]) / 2 + _BESIDE_M
    return (x + off_m * math.cos(away), y + off_m * math.sin(away), z)


def _apart(world: GraphWorld, parent: str, at_m: Vec3) -> Vec3:
    """The position or, if there is a thing already, one beside it."""
    taken = [world.offset_m(name) for name in world.contents_of(parent)]
    x, y, z = at_m
    for turn in range(24):
        away_m = _APART_M * (turn + 7) / 8 if turn else 0.0
        angle = turn * 2.399963
        spot = (x + away_m * math.cos(angle), y + away_m * math.sin(angle), z)
        if all(math.dist(spot, other) >= _APART_M / 2 for other in taken):
            return spot
    return at_m
