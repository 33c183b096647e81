"""What small things must satisfy: known, resting on or in their parent, apart, in reach."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import shapely

from planner.world.catalogue import Catalogue
from planner.world.footprints import (
    furniture_corners,
    object_corners,
    overlapping_pairs,
    polygons,
)
from planner.world.house import Furniture, House, ObjectPlacement
from planner.world.reach import Reach
from planner.world.vocabulary import AFFORDANCE_OF_STATE, Affordance, Relation, State, floor_name

TOLERANCE_M = 0.001
_REST_M = 0.005


def object_findings(
    house: House, things: Sequence[ObjectPlacement], catalogue: Catalogue, reach: Reach
) -> Iterator[tuple[str, str]]:
    """All that is wrong with `things` in a house, as (field, reason)."""
    floors = {floor_name(room.name): room.name for room in house.rooms}
    for i, thing in enumerate(things):
        field = f"objects.{i}"
        if thing.class_name not in catalogue.objects:
            yield f"{field}.class_name", f"unknown class of object {thing.class_name!r}"
            continue
        allowed = catalogue.objects[thing.class_name].affordances
        for state in unfit_states(thing.states, allowed):
            yield f"{field}.states", f"{thing.name} cannot be {state}"
        if thing.parent in floors:
            wrong = _wrong_on_floor(house, thing, floors[thing.parent])
        elif thing.parent in house.furniture_by_name:
            wrong = _wrong_on_furniture(house.furniture_by_name[thing.parent], thing)
        else:
            wrong = ("parent", f"{thing.name} names an unknown parent {thing.parent!r}")
        if wrong is not None:
            yield f"{field}.{wrong[0]}", wrong[1]
        elif not reach.at_height(thing.pose[2]):
            yield f"{field}.pose", f"{thing.name} is out of reach at {thing.pose[2]:.2f} m height"
        elif not reach.to_point(*thing.pose[:3]):
            yield f"{field}.pose", f"no agent can get within reach of {thing.name}"
    yield from _meeting(house, things, set(floors))


def unfit_states(states: dict[State, bool], affordances: tuple[Affordance, ...]) -> list[State]:
    """The states that something with these affordances does not have."""
    return [state for state in states if AFFORDANCE_OF_STATE[state] not in affordances]


def _wrong_on_floor(house: House, thing: ObjectPlacement, room: str) -> tuple[str, str] | None:
    if thing.relation is not Relation.ON or thing.part != "floor":
        return "part", f"{thing.name} is on a floor, whose only part is 'floor'"
    if abs(thing.pose[2]) > _REST_M:
        return "pose", f"{thing.name} floats {thing.pose[2]:.3f} m above the floor of {room}"
    shape = shapely.Polygon(object_corners([thing], -TOLERANCE_M)[0])
    if not house.rooms_by_name[room].shape.covers(shape):
        return "pose", f"{thing.name} is not inside {room}"
    return None


def _wrong_on_furniture(piece: Furniture, thing: ObjectPlacement) -> tuple[str, str] | None:
    if thing.relation is Relation.ON:
        surface = next((s for s in piece.surfaces if s.name == thing.part), None)
        if surface is None:
            return "part", f"{piece.name} has no surface {thing.part!r}"
        rest_m, (depth, width) = surface.center[2], surface.size
        center, headroom = surface.center, surface.clearance
    else:
        hollow = next((h for h in piece.interiors if h.name == thing.part), None)
        if hollow is None:
            return "part", f"{piece.name} has no interior {thing.part!r}"
        depth, width, headroom = hollow.size
        rest_m, center = hollow.center[2] - headroom / 2, hollow.center
    above = thing.pose[2] - rest_m
    if abs(above) > _REST_M:
        what = "floats" if above > 0 else "is sunk"
        return "pose", f"{thing.name} {what} {abs(above):.3f} m at {piece.name}'s {thing.part}"
    if thing.size_m[2] + above > headroom + TOLERANCE_M:
        return "pose", f"{thing.name} is too high for {piece.name}'s {thing.part}"
    c, s = math.cos(piece.yaw_rad), math.sin(piece.yaw_rad)
    dx, dy = thing.pose[0] - piece.x_m, thing.pose[1] - piece.y_m
    x, y = dx * c + dy * s - center[0], dy * c - dx * s - center[1]
    turn = thing.pose[3] - piece.yaw_rad
    c, s = abs(math.cos(turn)), abs(math.sin(turn))
    hx = (thing.size_m[0] * c + thing.size_m[1] * s) / 2
    hy = (thing.size_m[0] * s + thing.size_m[1] * c) / 2
    if abs(x) + hx > depth / 2 + TOLERANCE_M or abs(y) + hy > width / 2 + TOLERANCE_M:
        return "pose", f"{thing.name} sticks out of {piece.name}'s {thing.part}"
    return None


def _meeting(
    house: House, things: Sequence[ObjectPlacement], floors: set[str]
) -> Iterator[tuple[str, str]]:
    """Things that overlap one another, or furniture when they lie on the floor."""
    for i, j in overlapping_pairs(object_corners(things, -TOLERANCE_M / 2)):
        a, b = things[i], things[j]
        low = max(a.pose[2], b.pose[2])
        high = min(a.pose[2] + a.size_m[2], b.pose[2] + b.size_m[2])
        if high - low > TOLERANCE_M:
            yield f"objects.{j}.pose", f"{b.name} overlaps {a.name}"
    lying = [i for i, thing in enumerate(things) if thing.parent in floors]
    if not lying or not house.furniture:
        return
    pieces = shapely.STRtree(polygons(furniture_corners(house.furniture)))
    shapes = polygons(object_corners([things[i] for i in lying], -TOLERANCE_M))
    for i, j in pieces.query(shapes, predicate="intersects").T:
        thing, piece = things[lying[i]], house.furniture[j]
        yield f"objects.{lying[i]}.pose", f"{thing.name} overlaps {piece.name}"
