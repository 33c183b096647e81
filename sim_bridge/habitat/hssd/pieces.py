"""Bodies of a scene's files as furniture: size, pose, surfaces, interiors, moving parts."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import numpy as np
from pydantic import Field
from shapely.geometry import MultiPoint

from planner.world.catalogue import FurnitureClass
from planner.world.errors import FileError
from planner.world.geometry import FloatArray, Vec3
from planner.world.house import Furniture, Interior, Joint, Room, Surface
from planner.world.shapes import Part, Shape, scale, scale_parts
from planner.world.vocabulary import Affordance, Relation
from sim_bridge.habitat.hssd.dataset import Lenient
from sim_bridge.habitat.hssd.glb import Placed
from sim_bridge.habitat.hssd.urdf import Receptacle, UrdfJoint, UrdfLink

# The files of a scene: its bodies, and which receptacles can be used.

_MAX_INSTANCES = 5_000


class User(Lenient):
    """What users of the data set add to a scene."""

    scene_filter_file: str | None = None


class SceneFile(Lenient):
    """`*.scene_instance.json`."""

    translation_origin: str | None = None
    stage_instance: Placed
    object_instances: Annotated[tuple[Placed, ...], Field(max_length=_MAX_INSTANCES)] = ()
    articulated_object_instances: Annotated[
        tuple[Placed, ...], Field(max_length=_MAX_INSTANCES)
    ] = ()
    user_defined: User = User()


class ReceptacleFilter(Lenient):
    """`*.rec_filter.json`: substrings of the names of receptacles."""

    manually_filtered: tuple[str, ...] = ()
    access_filtered: tuple[str, ...] = ()
    stability_filtered: tuple[str, ...] = ()
    height_filtered: tuple[str, ...] = ()
    within_set: tuple[str, ...] = ()

    @property
    def excluded(self) -> tuple[str, ...]:
        """Substrings of the names of receptacles that cannot be used."""
        return (
            *self.manually_filtered,
            *self.access_filtered,
            *self.stability_filtered,
            *self.height_filtered,
        )


_WOOD_RGB, _DOOR_RGB = (0.72, 0.66, 0.58), (0.82, 0.78, 0.72)
_PANEL_M = 0.02
_MIN_SIZE_M = 0.01
_OPEN_ABOVE_M = 1.5
_SMALLEST_DOOR_M = 0.12
_HOLLOW_M = (0.05, 0.6)


@dataclass(frozen=True, slots=True)
class Shell:
    """The corners of all meshes of one moving part in `map`; `joint` is None for the base."""

    corners: FloatArray
    joint: UrdfJoint | None


@dataclass(frozen=True, slots=True)
class Place:
    """A receptacle in `map`: name, corners of its box, the joint that moves it, relation.

    `joint` moves it as a drawer; None if it is fixed.
    """

    name: str
    corners: FloatArray
    relation: Relation
    joint: UrdfJoint | None


@dataclass(frozen=True, slots=True)
class Built:
    """A piece, the part of it for each receptacle, and our name for each of its joints."""

    piece: Furniture
    parts: Mapping[str, tuple[Relation, str]]
    joints: Mapping[str, str]


def build_piece(
    name: str,
    room: str,
    cls: FurnitureClass,
    shells: Sequence[Shell],
    places: Sequence[Place],
    front: FloatArray,
) -> Built:
    """Builds a piece of furniture.

    Args:
        name: of the piece.
        room: the room it stands in.
        cls: its class.
        shells: its moving parts and base.
        places: its receptacles.
        front: the direction in `map` that it faces, unless its doors indicate another.
    """
    frame = _Frame.of(shells, front)
    bodies = {shell.joint.name if shell.joint else None: frame.box(shell.corners)
              for shell in shells}  # fmt: skip
    joints = _joints(shells, bodies, frame)
    surfaces, interiors, parts = _places(places, bodies, joints, frame)
    has_hollow = bool(interiors)
    affordances = [a for a in cls.affordances if joints or a != Affordance.OPENABLE]
    if joints and Affordance.OPENABLE not in affordances:
        affordances.append(Affordance.OPENABLE)
    size = frame.size
    piece = Furniture(
        name=name,
        class_name=cls.name,
        room=room,
        x_m=round(frame.origin[0], 4),
        y_m=round(frame.origin[1], 4),
        yaw_rad=round(frame.yaw_rad, 6),
        size_m=size,
        affordances=tuple(affordances),
        faucet=scale(cls.faucet, size) if cls.faucet is not None else None,
        parts=_parts(cls, bodies, joints, has_hollow, frame),
        surfaces=tuple(surfaces),
        interiors=tuple(interiors),
        joints=tuple(joints.values()),
    )
    return Built(piece, parts, {theirs: joint.name for theirs, joint in joints.items()})


@dataclass(frozen=True, slots=True)
class _Box:
    low: FloatArray
    high: FloatArray

    @property
    def center(self) -> FloatArray:
        return (self.low + self.high) / 2

    @property
    def size(self) -> FloatArray:
        return self.high - self.low


@dataclass(frozen=True, slots=True)
class _Frame:
    """A piece's own frame: middle of the footprint on the floor, x towards its front."""

    origin: FloatArray
    yaw_rad: float
    size: Vec3

    @staticmethod
    def of(shells: Sequence[Shell], front: FloatArray) -> _Frame:
        yaw = math.atan2(front[1], front[0]) if np.linalg.norm(front[:2]) > 1e-9 else 0.0
        yaw = _towards_its_doors(shells, yaw)
        everything = np.concatenate([shell.corners for shell in shells])
        turned = everything @ _about_z(-yaw).T
        low, high = turned.min(axis=0), turned.max(axis=0)
        middle = np.array([(low[0] + high[0]) / 2, (low[1] + high[1]) / 2, 0.0])
        extents = [max(high[0] - low[0], _MIN_SIZE_M), max(high[1] - low[1], _MIN_SIZE_M)]
        size = (round(extents[0], 4), round(extents[1], 4), round(max(high[2], _MIN_SIZE_M), 4))
        return _Frame(middle @ _about_z(yaw).T, yaw, size)

    def local(self, points: FloatArray) -> FloatArray:
        moved: FloatArray = (points - self.origin) @ _about_z(-self.yaw_rad).T
        return moved

    def direction(self, vector: FloatArray) -> FloatArray:
        turned: FloatArray = _about_z(-self.yaw_rad) @ vector
        return turned

    def box(self, corners: FloatArray) -> _Box:
        local = self.local(corners)
        return _Box(local.min(axis=0), local.max(axis=0))


def _towards_its_doors(shells: Sequence[Shell], yaw: float) -> float:
    """Which of four sides the drawers open to, or else the doors are on."""
    turn = _about_z(-yaw)
    sliding = [s.joint.axis for s in shells if s.joint is not None and s.joint.kind == "slide"]
    moving = [shell.corners for shell in shells if shell.joint is not None]
    base = [shell.corners for shell in shells if shell.joint is None]
    if sliding:
        offset = (turn @ np.mean(sliding, axis=0))[:2]
    elif moving and base:
        box, doors = np.concatenate(base) @ turn.T, np.concatenate(moving) @ turn.T
        half = np.maximum(np.ptp(box, axis=0)[:2] / 2, _MIN_SIZE_M)
        offset = (_middle(doors) - _middle(box))[:2] / half
    else:
        return yaw
    side = int(np.argmax(np.abs(offset)))
    if abs(offset[side]) < 0.2:
        return yaw
    quarter = 0.0 if side == 0 else math.pi / 2
    return yaw + quarter + (math.pi if offset[side] < 0 else 0.0)


def _middle(corners: FloatArray) -> FloatArray:
    middle: FloatArray = (corners.max(axis=0) + corners.min(axis=0)) / 2
    return middle


def _about_z(angle_rad: float) -> FloatArray:
    c, s = math.cos(angle_rad), math.sin(angle_rad)
    return np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])


def _joints(
    shells: Sequence[Shell], bodies: Mapping[str | None, _Box], frame: _Frame
) -> dict[str, Joint]:
    """The joints by the data set's name: doors and drawers, not knobs and handles."""
    found: dict[str, Joint] = {}
    for shell in shells:
        if shell.joint is None or float(max(bodies[shell.joint.name].size)) < _SMALLEST_DOOR_M:
            continue
        axis = frame.direction(shell.joint.axis)
        origin = frame.local(shell.joint.origin[None])[0]
        box = bodies[shell.joint.name]
        found[shell.joint.name] = Joint(
            name=f"joint_{len(found)}",
            kind=shell.joint.kind,
            axis=_vec(axis),
            origin=_vec(origin) if shell.joint.kind == "hinge" else (0.0, 0.0, 0.0),
            travel=round(shell.joint.travel, 4),
            handle=_vec(_handle(shell.joint.kind, box, axis, origin)),
        )
    return found


def _handle(kind: str, box: _Box, axis: FloatArray, origin: FloatArray) -> FloatArray:
    """The grasp point: a drawer's front, or the side of a door opposite its hinge."""
    if kind == "slide":
        return np.clip(box.center + axis * np.abs(axis) @ box.size / 2, box.low, box.high)
    arm = box.center - origin
    arm = arm - axis * (arm @ axis)
    across: FloatArray = np.clip(box.center + 0.9 * arm, box.low, box.high)
    across[0] = box.high[0]
    return across


def _places(
    places: Sequence[Place],
    bodies: Mapping[str | None, _Box],
    joints: Mapping[str, Joint],
    frame: _Frame,
) -> tuple[list[Surface], list[Interior], dict[str, tuple[Relation, str]]]:
    boxes = [(place, frame.box(place.corners)) for place in places]
    boxes.sort(key=lambda item: (item[1].low[2], item[0].name))
    surfaces: list[Surface] = []
    interiors: list[Interior] = []
    parts: dict[str, tuple[Relation, str]] = {}
    for place, box in boxes:
        if min(box.size[:2]) < _MIN_SIZE_M:
            continue
        above = _free_above(box, [other for _, other in boxes], frame.size[2])
        joint = joints.get(place.joint.name) if place.joint is not None else None
        if place.relation is Relation.WITHIN and (joint is not None or joints):
            low, high = _HOLLOW_M
            height = min(max(above, low), high)
            moves = joint is not None and joint.kind == "slide"
            part = Interior(
                name=f"inside_{len(interiors)}",
                center=_vec((box.center[0], box.center[1], box.low[2] + height / 2)),
                size=_vec((box.size[0], box.size[1], height)),
                joint=(joint or _closing(box, bodies, joints)).name,
                moves=moves,
            )
            interiors.append(part)
            parts[place.name] = (Relation.WITHIN, part.name)
            continue
        surface = Surface(
            name=f"surface_{len(surfaces)}",
            center=_vec((box.center[0], box.center[1], box.low[2])),
            size=(round(box.size[0], 4), round(box.size[1], 4)),
            clearance=round(above, 4),
        )
        surfaces.append(surface)
        parts[place.name] = (Relation.ON, surface.name)
    return surfaces, interiors, parts


def _free_above(box: _Box, others: Sequence[_Box], top_m: float) -> float:
    """The distance to the next receptacle above, or to the top of the piece."""
    heights = [
        other.low[2] - box.low[2]
        for other in others
        if other.low[2] > box.low[2] + 0.03
        and np.all(other.low[:2] < box.high[:2])
        and np.all(box.low[:2] < other.high[:2])
    ]
    if heights:
        return float(min(heights))
    under = top_m - float(box.low[2])
    return under if under > 0.1 else _OPEN_ABOVE_M


def _closing(box: _Box, bodies: Mapping[str | None, _Box], joints: Mapping[str, Joint]) -> Joint:
    """The door of a fixed interior: the one that covers most of its side."""

    def covered(name: str) -> float:
        door = bodies[name]
        overlap = np.minimum(door.high, box.high) - np.maximum(door.low, box.low)
        return float(max(overlap[1], 0.0) * max(overlap[2] + 0.1, 0.0))

    return joints[max(joints, key=covered)]


def _parts(
    cls: FurnitureClass,
    bodies: Mapping[str | None, _Box],
    joints: Mapping[str, Joint],
    has_hollow: bool,
    frame: _Frame,
) -> tuple[Part, ...]:
    base = bodies.get(None)
    if set(bodies) == {None} and base is not None:
        height = max(float(base.size[2]), _MIN_SIZE_M)
        recipe = scale_parts(cls.parts, (frame.size[0], frame.size[1], round(height, 4)))
        lift = float(base.low[2])
        return tuple(
            part.model_copy(
                update={
                    "center": _vec((part.center[0], part.center[1], part.center[2] + lift)),
                    "joint": None,
                }
            )
            for part in recipe
        )
    found: list[Part] = []
    if base is not None:
        found += _carcass(base) if has_hollow else [_solid(base, _WOOD_RGB, None)]
    for name, box in bodies.items():
        if name is not None:
            joint = joints.get(name)
            found.append(_solid(box, _DOOR_RGB, joint.name if joint is not None else None))
    return tuple(found)


def _carcass(box: _Box) -> list[Part]:
    """A box open to the front."""
    (x0, y0, z0), (x1, y1, z1) = box.low, box.high
    t = _PANEL_M
    panels = [
        ((x0, y0, z0), (x0 + t, y1, z1)),
        ((x0, y0, z0), (x1, y0 + t, z1)),
        ((x0, y1 - t, z0), (x1, y1, z1)),
        ((x0, y0, z0), (x1, y1, z0 + t)),
        ((x0, y0, z1 - t), (x1, y1, z1)),
    ]
    return [_solid(_Box(np.array(low), np.array(high)), _WOOD_RGB, None) for low, high in panels]


def _solid(box: _Box, rgb: Vec3, joint: str | None) -> Part:
    size = np.maximum(box.size, _MIN_SIZE_M)
    return Part(shape=Shape.BOX, center=_vec(box.center), size=_vec(size), rgb=rgb, joint=joint)


def _vec(values: FloatArray | Sequence[float]) -> Vec3:
    x, y, z = (round(float(value), 4) for value in values)
    return (x, y, z)


# Parts of bodies in the scene: what moves together, usable receptacles, the room it stands in.


def usable_receptacles(
    handle: str, found: Sequence[Receptacle], usable: ReceptacleFilter
) -> list[Receptacle]:
    """The receptacles that a scene's filter leaves."""
    excluded = usable.excluded
    return [item for item in found if not any(word in f"{handle}|{item.name}" for word in excluded)]


def shells_of(links: Sequence[UrdfLink], matrix: FloatArray, place: FloatArray) -> Iterator[Shell]:
    """The links that move together, the base first."""
    groups: dict[str | None, list[UrdfLink]] = {}
    for link in links:
        if len(link.corners):
            groups.setdefault(link.joint.name if link.joint else None, []).append(link)
    for group in groups.values():
        joint = group[0].joint
        corners = np.concatenate([link.corners for link in group]) @ matrix.T + place
        yield Shell(corners, joint.placed(matrix, place) if joint is not None else None)


def link_place(
    item: Receptacle,
    links: Sequence[UrdfLink],
    matrix: FloatArray,
    place: FloatArray,
    handle: str,
    usable: ReceptacleFilter,
    config: Path,
) -> Place:
    """A receptacle of an articulated body.

    Raises:
        FileError: if it names a link that the body has not.
    """
    link = next((link for link in links if link.name == item.link), None)
    if link is None:
        raise FileError(
            config, f"user_defined.{item.name}.parent_link", f"{item.link!r} is not a link"
        )
    corners = item.corners @ link.frame[:3, :3].T + link.frame[:3, 3]
    within = f"{handle}|{item.name}" in usable.within_set
    mover = link.joint.placed(matrix, place) if link.joint is not None else None
    return Place(
        item.name, corners @ matrix.T + place, Relation.WITHIN if within else Relation.ON, mover
    )


def room_of(corners: FloatArray, rooms: Sequence[Room]) -> str | None:
    """The room that contains most of the footprint."""
    footprint = MultiPoint(corners[:, :2]).convex_hull.buffer(0.01)
    shares = [(room.shape.buffer(0).intersection(footprint).area, room.name) for room in rooms]
    area, name = max(shares)
    return name if area > 0.0 else None
