"""ET-Plan-Bench's relations in one state (ETPLAN-3.1), on boxes and rooms."""

from __future__ import annotations

import math

from planner.evaluation.grid import EPSILON_M
from planner.evaluation.predicates import is_in_room, is_inside, is_on_floor, is_on_top
from planner.evaluation.scene import Scene, world_box
from planner.world.geometry import Box, Vec3
from planner.world.receptacle import known_shape
from planner.world.state import EntityState, WorldState
from planner.world.vocabulary import EntityKind, Relation, floor_name

# From one entity's centre to the other one's box, and from centre to centre; metres.
CLOSE_M = 1.5
FACING_M = 5.0
# Maximum angle, to either side of its front, between the front and what an entity faces.
_FRONT_RAD = math.pi / 2


def holds(scene: Scene, state: WorldState, relation: str, one: str, other: str) -> bool:
    """Whether a relation holds; false for names that the world lacks.

    CLOSE: less than 1.50 m horizontally from an agent's centre to the other's box, or between two
        things from either's centre, so that heights do not count; to a room: in it.
    INSIDE: as PARTNR's `is_inside`; in a thing also if the centre is in its box; for what has a top
        but no hollow it means on it; for a room, anywhere in it.
    ON: as PARTNR's `is_on_top`, which what is in a thing's hollow is too; for furniture with only
        a hollow it means in it; for a room it means on its floor, as do on or inside a floor by its
        name.
    What is in a hand is on or in nothing, wherever the hand is.
    In a world of edges, ON, INSIDE and rooms are what the edges say.
    FACING: in the same room, centres less than 5.00 m apart, and the front of furniture or agents
        is not turned away; a graph does not have the fronts of furniture.
    """
    # A floor lamp is an entity itself.
    floor = other not in state.entities and other.startswith(floor_name(""))
    other = other.removeprefix(floor_name("")) if floor else other
    a, b = state.entities.get(one), state.entities.get(other)
    if a is None or b is None or one == other:
        return False
    if b.kind is EntityKind.ROOM:
        if relation == "ON" or (floor and relation == "INSIDE"):
            return _is_on_floor(scene, a) and _is_in(scene, a, other)
        return relation in ("CLOSE", "INSIDE") and _is_in(scene, a, other)
    if relation == "CLOSE":
        if a.kind is EntityKind.AGENT:
            return _gap_m(scene, a, b) < CLOSE_M
        if b.kind is EntityKind.AGENT:
            return _gap_m(scene, b, a) < CLOSE_M
        return _gap_m(scene, a, b) < CLOSE_M or _gap_m(scene, b, a) < CLOSE_M
    if relation in ("ON", "INSIDE") and a.relation is Relation.HELD:
        return False
    if relation == "FACING":
        return _faces(a, b, has_front=not scene.has_edges)
    if scene.has_edges and a.kind is EntityKind.FURNITURE:
        return (relation, other) in scene.house.fixed_edges.get(one, ())
    if scene.has_edges and b.kind is not EntityKind.FURNITURE:
        return (is_inside if relation == "INSIDE" else is_on_top)(scene, one, other)
    if b.kind is EntityKind.AGENT:
        return False
    hollow, top = _shape(scene, b)
    if relation == "ON":
        within = b.kind is EntityKind.FURNITURE and hollow and not top
        return (is_inside if within else is_on_top)(scene, one, other)
    if b.kind is EntityKind.OBJECT and _holds_middle(_box(scene, b), _box(scene, a).center_m):
        return True
    return (is_on_top if top and not hollow else is_inside)(scene, one, other)


def _box(scene: Scene, entity: EntityState) -> Box:
    # The scene does not track walking agents.
    box = None if entity.kind is EntityKind.AGENT else scene.box(entity.name)
    return world_box(entity) if box is None else box


def _is_in(scene: Scene, entity: EntityState, room: str) -> bool:
    if entity.kind is EntityKind.OBJECT:
        return is_in_room(scene, entity.name, room)
    if entity.kind is EntityKind.FURNITURE or scene.has_edges:
        return entity.room == room
    return scene.in_room(world_box(entity).center_m, room)


def _is_on_floor(scene: Scene, entity: EntityState) -> bool:
    if scene.has_edges and entity.kind is EntityKind.FURNITURE:
        # What stands on a rug also stands on the floor.
        edges = scene.house.fixed_edges.get(entity.name, ())
        return not any(other in scene.house.furniture_by_name for _, other in edges)
    return is_on_floor(scene, entity.name)


def _shape(scene: Scene, entity: EntityState) -> tuple[bool, bool]:
    """Whether an entity has hollows and tops; perceived furniture may have both."""
    if entity.kind is EntityKind.OBJECT:
        shape = known_shape(entity.class_name, entity.size_m)
        return shape.hollow is not None, shape.top is not None
    piece = scene.house.furniture_by_name.get(entity.name)
    if piece is None:
        return scene.bare_furniture(entity.name) is not None, True
    return bool(piece.interiors), bool(piece.surfaces)


def _gap_m(scene: Scene, one: EntityState, other: EntityState) -> float:
    """Horizontal distance from the centre of one entity to another one's box."""
    upright = one.kind is EntityKind.AGENT
    x, y, _ = one.pose.position_m if upright else _box(scene, one).center_m
    box = _box(scene, other)
    (x0, y0, _), (x1, y1, _) = box.minimum_m, box.maximum_m
    return math.hypot(max(0.0, x0 - x, x - x1), max(0.0, y0 - y, y - y1))


def _holds_middle(box: Box, point_m: Vec3) -> bool:
    return all(
        low - EPSILON_M <= at <= high + EPSILON_M
        for low, at, high in zip(box.minimum_m, point_m, box.maximum_m, strict=True)
    )


def _faces(a: EntityState, b: EntityState, *, has_front: bool) -> bool:
    (ax, ay, az), (bx, by, bz) = world_box(a).center_m, world_box(b).center_m
    if a.room is None or a.room != b.room or math.dist((ax, ay, az), (bx, by, bz)) >= FACING_M:
        return False
    if a.kind is EntityKind.OBJECT or (a.kind is EntityKind.FURNITURE and not has_front):
        return True
    turn = math.atan2(by - ay, bx - ax) - a.pose.yaw_rad
    return abs(math.remainder(turn, math.tau)) < _FRONT_RAD
