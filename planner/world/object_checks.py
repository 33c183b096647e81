"""Checks of objects: known, resting on or in their parent, apart, within reach."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterator, Sequence

import shapely

from planner.world.catalogue import Catalogue
from planner.world.footprints import (
    furniture_corners,
    object_corners,
    overlapping_pairs,
    polygons,
)
from planner.world.geometry import Vec3
from planner.world.house import Furniture, House, ObjectPlacement
from planner.world.reach import Reach
from planner.world.receptacle import containment_cycle, part_of, shape_of
from planner.world.states import default_states
from planner.world.vocabulary import Relation, floor_name

TOLERANCE_M = 0.001
_REST_M = 0.005
_AGENT = re.compile(r"agent_[0-9]+")


def object_findings(
    house: House, things: Sequence[ObjectPlacement], catalogue: Catalogue, reach: Reach
) -> Iterator[tuple[str, str]]:
    """All problems of `things` in a house, as (field, reason)."""
    floors = {floor_name(room.name): room.name for room in house.rooms}
    by_name = {thing.name: thing for thing in things}
    cycle = containment_cycle(things)
    if cycle is not None:
        index = next(i for i, thing in enumerate(things) if thing.name == cycle[0])
        yield f"objects.{index}.parent", cycle[1]
        return
    taken = _taken_names(house, floors)
    for i, thing in enumerate(things):
        field = f"objects.{i}"
        if thing.name in taken or _AGENT.fullmatch(thing.name):
            yield f"{field}.name", f"{thing.name} is the name of something else"
            continue
        if thing.class_name not in catalogue.objects:
            yield f"{field}.class_name", f"unknown class of object {thing.class_name!r}"
            continue
        allowed = catalogue.objects[thing.class_name].affordances
        for state in default_states().unfit(thing.states, allowed):
            yield f"{field}.states", f"{thing.name} cannot be {state}"
        if thing.parent in floors:
            wrong = _wrong_on_floor(house, thing, floors[thing.parent])
        elif thing.parent in house.furniture_by_name:
            wrong = _wrong_on_furniture(house.furniture_by_name[thing.parent], thing)
        elif thing.parent in by_name:
            wrong = _wrong_on_thing(by_name[thing.parent], thing, catalogue)
        else:
            wrong = ("parent", f"{thing.name} names an unknown parent {thing.parent!r}")
        if wrong is not None:
            yield f"{field}.{wrong[0]}", wrong[1]
        elif not reach.at_height(thing.pose[2]):
            yield f"{field}.pose", f"{thing.name} is out of reach at {thing.pose[2]:.2f} m height"
        elif not reach.to_point(*thing.pose[:3]):
            yield f"{field}.pose", f"no agent can get within reach of {thing.name}"
    yield from _meeting(house, things, set(floors))


def _taken_names(house: House, floors: Collection[str]) -> frozenset[str]:
    """What worlds, scenes and memories know under a name already."""
    parts = (house.rooms, house.doors, house.furniture)
    return frozenset((*floors, *(part.name for kind in parts for part in kind)))


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
    if abs(above) <= _REST_M and thing.size_m[2] + above > headroom + TOLERANCE_M:
        return "pose", f"{thing.name} is too high for {piece.name}'s {thing.part}"
    frame = (piece.x_m, piece.y_m, 0.0, piece.yaw_rad)
    return _wrong_on_area(piece.name, frame, thing, (center[0], center[1], rest_m), (depth, width))


def _wrong_on_thing(
    holder: ObjectPlacement, thing: ObjectPlacement, catalogue: Catalogue
) -> tuple[str, str] | None:
    cls = catalogue.objects.get(holder.class_name)
    part = part_of(cls, thing.relation) if cls is not None else None
    if cls is None or part is None or thing.part != part:
        return "part", f"{holder.name} has no part {thing.part!r} to be {thing.relation}"
    shape = shape_of(cls, holder.size_m)
    if thing.relation is Relation.WITHIN and shape.hollow is not None:
        (x, y, z), (depth, width, height) = shape.hollow.center, shape.hollow.size
        return _wrong_on_area(
            holder.name, holder.pose, thing, (x, y, z - height / 2), (depth, width)
        )
    if shape.top is not None:
        return _wrong_on_area(holder.name, holder.pose, thing, shape.top.center, shape.top.size)
    return None


def _wrong_on_area(
    name: str,
    frame: tuple[float, float, float, float],
    thing: ObjectPlacement,
    center: Vec3,
    size: tuple[float, float],
) -> tuple[str, str] | None:
    """What is wrong with a thing on a rectangle of a frame [x, y, z, yaw] of the map."""
    above = thing.pose[2] - frame[2] - center[2]
    if abs(above) > _REST_M:
        what = "floats" if above > 0 else "is sunk"
        return "pose", f"{thing.name} {what} {abs(above):.3f} m at {name}'s {thing.part}"
    c, s = math.cos(frame[3]), math.sin(frame[3])
    dx, dy = thing.pose[0] - frame[0], thing.pose[1] - frame[1]
    x, y = dx * c + dy * s - center[0], dy * c - dx * s - center[1]
    turn = thing.pose[3] - frame[3]
    c, s = abs(math.cos(turn)), abs(math.sin(turn))
    hx = (thing.size_m[0] * c + thing.size_m[1] * s) / 2
    hy = (thing.size_m[0] * s + thing.size_m[1] * c) / 2
    if abs(x) + hx > size[0] / 2 + TOLERANCE_M or abs(y) + hy > size[1] / 2 + TOLERANCE_M:
        return "pose", f"{thing.name} sticks out of {name}'s {thing.part}"
    return None


def _meeting(
    house: House, things: Sequence[ObjectPlacement], floors: set[str]
) -> Iterator[tuple[str, str]]:
    """Things that overlap one another, or furniture if they lie on the floor."""
    holders = {thing.name: thing.parent for thing in things}

    def _is_around(one: str, other: str) -> bool:
        while (other := holders.get(other, "")) in holders:
            if other == one:
                return True
        return False

    for i, j in overlapping_pairs(object_corners(things, -TOLERANCE_M / 2)):
        a, b = things[i], things[j]
        if _is_around(a.name, b.name) or _is_around(b.name, a.name):
            continue
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
