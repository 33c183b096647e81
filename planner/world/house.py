"""The house file: rooms, doors, furniture and objects (version 1).

Frame `map`: z up, floor at z = 0, metres, radians. A furniture's own frame has its origin at the
middle of its footprint on the ground and x towards its front. `house_checks` checks geometry that
spans several entries.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field, model_validator

from planner.world.files import FileModel, replacing
from planner.world.geometry import Box, Pose, Vec3, in_polygon
from planner.world.graph_file import MAX_NODES, Graph, label, word_of
from planner.world.person import MAX_PEOPLE, PersonPlacement, repeated_name
from planner.world.shapes import Color, Material, Part, Size3, main_color, painted
from planner.world.states import GivenStates, KnownAffordance
from planner.world.vocabulary import Relation

if TYPE_CHECKING:
    from shapely.geometry import Polygon

HOUSE_VERSION = 1
# Far more than any data set has; `house_checks` allows fewer in a house that it checks.
MAX_ROOMS, MAX_THINGS = 500, MAX_NODES
MAX_CORNERS, MAX_PIECE_PARTS = 500, 200

EntityName = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_-]*_[0-9]+$")]
PartName = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_-]*$")]
Point2 = tuple[float, float]


class Room(FileModel):
    """A room: a simple polygon (counter-clockwise or not), its wall height in metres."""

    name: EntityName
    class_name: str
    polygon_m: tuple[Point2, ...] = Field(min_length=3, max_length=MAX_CORNERS)
    height_m: Annotated[float, Field(gt=1.8, le=6)] = 2.6

    @model_validator(mode="after")
    def _polygon_is_simple(self) -> Room:
        from shapely.geometry import Polygon  # Not needed, and slow to import, for listing.

        shape = Polygon(self.polygon_m)
        if not shape.is_valid or shape.area < 0.5:
            raise ValueError(f"{self.name}: polygon_m is not a simple polygon of 0.5 m2 or more")
        return self

    @cached_property
    def shape(self) -> Polygon:
        """The floor as a shapely polygon."""
        from shapely.geometry import Polygon

        return Polygon(self.polygon_m)


class Door(FileModel):
    """An opening between two rooms, or to the outside if `rooms` has one name.

    `center_m` is the middle of the opening on the wall's centre line; `yaw_rad` is the wall's
    direction; doors are always open in version 1.
    """

    name: EntityName
    rooms: tuple[str, ...] = Field(min_length=1, max_length=2)
    center_m: Point2
    yaw_rad: float
    width_m: Annotated[float, Field(ge=0.6, le=4)]
    height_m: Annotated[float, Field(ge=1.8, le=4)] = 2.1


class Surface(FileModel):
    """A horizontal place to put things on: middle of its top, extent, free height above."""

    name: PartName
    center: Vec3
    size: tuple[Annotated[float, Field(gt=0)], Annotated[float, Field(gt=0)]]
    clearance: Annotated[float, Field(gt=0)] = 1.5


class Interior(FileModel):
    """A hollow: a box in the furniture's frame; `joint` closes it, `moves` with a drawer."""

    name: PartName
    center: Vec3
    size: Size3
    joint: PartName | None = None
    moves: bool = False


class Joint(FileModel):
    """A drawer or a door or lid. `travel` is metres (slide) or radians (hinge) when open."""

    name: PartName
    kind: Literal["slide", "hinge"]
    axis: Vec3
    origin: Vec3 = (0.0, 0.0, 0.0)
    travel: float
    handle: Vec3

    def moved(self, point_m: Vec3, openness: float) -> Vec3:
        """Where a point of a closed door or drawer is at an openness from 0 to 1."""
        way = self.travel * openness
        (kx, ky, kz), (px, py, pz) = self.axis, point_m
        if self.kind == "slide":
            return (px + kx * way, py + ky * way, pz + kz * way)
        # Rodrigues' rotation.
        ox, oy, oz = self.origin
        norm = math.sqrt(kx * kx + ky * ky + kz * kz)
        kx, ky, kz = kx / norm, ky / norm, kz / norm
        px, py, pz = px - ox, py - oy, pz - oz
        c, s = math.cos(way), math.sin(way)
        dot = (kx * px + ky * py + kz * pz) * (1 - c)
        return (
            ox + px * c + (ky * pz - kz * py) * s + kx * dot,
            oy + py * c + (kz * px - kx * pz) * s + ky * dot,
            oz + pz * c + (kx * py - ky * px) * s + kz * dot,
        )


class Furniture(FileModel):
    """A piece of furniture; all of its geometry is in its own frame, metres.

    `color` and `material`: if they differ from those of `parts` and of the class.
    """

    name: EntityName
    class_name: str
    room: str
    x_m: float
    y_m: float
    yaw_rad: float
    size_m: Size3
    affordances: tuple[KnownAffordance, ...] = ()
    faucet: Vec3 | None = None
    states: GivenStates = Field(default_factory=dict)
    color: Color | None = None
    material: Material | None = None
    parts: tuple[Part, ...] = Field(max_length=MAX_PIECE_PARTS)
    surfaces: tuple[Surface, ...] = Field(default=(), max_length=MAX_PIECE_PARTS)
    interiors: tuple[Interior, ...] = Field(default=(), max_length=MAX_PIECE_PARTS)
    joints: tuple[Joint, ...] = Field(default=(), max_length=MAX_PIECE_PARTS)

    @model_validator(mode="after")
    def _joints_exist(self) -> Furniture:
        known = {joint.name for joint in self.joints}
        used = [part.joint for part in self.parts] + [hollow.joint for hollow in self.interiors]
        for joint in used:
            if joint is not None and joint not in known:
                raise ValueError(f"{self.name} names an unknown joint {joint!r}")
        return self

    @cached_property
    def drawn_parts(self) -> tuple[Part, ...]:
        """Its parts in its colour."""
        return painted(self.parts, self.color)

    @cached_property
    def drawn_color(self) -> Color | None:
        """The word for the colour that it is drawn in; None if it is not drawn."""
        return self.color or (main_color(self.parts) if self.parts else None)

    @cached_property
    def pose(self) -> Pose:
        """The furniture's frame in the map."""
        return Pose.planar(self.x_m, self.y_m, self.yaw_rad)

    @cached_property
    def pose_inverse(self) -> Pose:
        """The map in the furniture's frame."""
        return self.pose.inverse()

    @cached_property
    def handles_m(self) -> tuple[Vec3, ...]:
        """Of each joint where its handle is in the map, closed and pulled out along its axis."""
        found: list[Vec3] = []
        for joint in self.joints:
            (x, y, z), (ax, ay, az) = joint.handle, joint.axis
            pulled = (0.0, joint.travel if joint.kind == "slide" else 0.0)
            points = [(x + ax * out_m, y + ay * out_m, z + az * out_m) for out_m in pulled]
            found += map(self.pose.apply, points)
        return tuple(found)

    @cached_property
    def box(self) -> Box:
        """The axis-aligned box around it when everything is closed."""
        center = (self.x_m, self.y_m, self.size_m[2] / 2)
        return Box.around(center, self.size_m, self.yaw_rad)

    def joint(self, name: str) -> Joint:
        """One of its joints by name."""
        return next(joint for joint in self.joints if joint.name == name)


class ObjectPlacement(FileModel):
    """An object: `pose` is [x, y, z, yaw] of the middle of its underside.

    `part` names the surface or interior of the parent; a floor's only part is `floor`. `color` and
    `material`: if they differ from those of its class.
    """

    name: EntityName
    class_name: str
    size_m: Size3
    pose: tuple[float, float, float, float]
    parent: str
    relation: Literal[Relation.ON, Relation.WITHIN]
    part: PartName = "floor"
    states: GivenStates = Field(default_factory=dict)
    color: Color | None = None
    material: Material | None = None

    @cached_property
    def box(self) -> Box:
        """The axis-aligned box around it in the map."""
        x, y, z, yaw = self.pose
        return Box.around((x, y, z + self.size_m[2] / 2), self.size_m, yaw)


class House(FileModel):
    """A whole house with its objects and people, which an episode replaces.

    `foreign`: from another data set; its furniture may touch, be out of reach or in a doorway, and
    it is loaded all the same. `graph`: the scene graph that it was made from; relations are then
    what the world's edges say, not what boxes show.
    """

    version: Literal[1]
    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]*$")]
    split: Literal["train", "heldout", "none"] = "none"
    seed: int | None = None
    foreign: bool = False
    rooms: tuple[Room, ...] = Field(min_length=1, max_length=MAX_ROOMS)
    doors: tuple[Door, ...] = Field(default=(), max_length=MAX_THINGS)
    furniture: tuple[Furniture, ...] = Field(default=(), max_length=MAX_THINGS)
    objects: tuple[ObjectPlacement, ...] = Field(default=(), max_length=MAX_THINGS)
    people: tuple[PersonPlacement, ...] = Field(default=(), max_length=MAX_PEOPLE)
    graph: Graph | None = None

    @model_validator(mode="after")
    def _names(self) -> House:
        _unique(room.name for room in self.rooms)
        _unique(door.name for door in self.doors)
        _unique([*(piece.name for piece in self.furniture), *(item.name for item in self.objects)])
        if (name := repeated_name(self.people)) is not None:
            raise ValueError(f"people: two persons have the name {name!r}")
        rooms = {room.name for room in self.rooms}
        for door in self.doors:
            for room in door.rooms:
                if room not in rooms:
                    raise ValueError(f"{door.name} names an unknown room {room!r}")
        for piece in self.furniture:
            if piece.room not in rooms:
                raise ValueError(f"{piece.name} names an unknown room {piece.room!r}")
        return self

    @cached_property
    def rooms_by_name(self) -> dict[str, Room]:
        """Its rooms by name."""
        return {room.name: room for room in self.rooms}

    @cached_property
    def furniture_by_name(self) -> dict[str, Furniture]:
        """Its furniture by name."""
        return {piece.name: piece for piece in self.furniture}

    @cached_property
    def names_by_class(self) -> dict[str, tuple[str, ...]]:
        """The names of rooms, furniture and objects by class; `room` has those of all rooms."""
        found: dict[str, list[str]] = {"room": [room.name for room in self.rooms]}
        entities: tuple[Room | Furniture | ObjectPlacement, ...]
        entities = (*self.rooms, *self.furniture, *self.objects)
        for entity in entities:
            found.setdefault(word_of(entity.class_name), []).append(entity.name)
        return {word: tuple(names) for word, names in found.items()}

    @cached_property
    def fixed_edges(self) -> dict[str, frozenset[tuple[str, str]]]:
        """What the graph says furniture is ON or INSIDE of: furniture and things, such as rugs."""
        if self.graph is None:
            return {}
        names = {node.id: label(node) for node in self.graph.nodes}
        things = {item.name for item in self.objects}
        found: dict[str, set[tuple[str, str]]] = {}
        for edge in self.graph.edges:
            one, other = names[edge.from_id], names[edge.to_id]
            handled = other in self.furniture_by_name or other in things
            if edge.relation_type in ("ON", "INSIDE") and one in self.furniture_by_name and handled:
                found.setdefault(one, set()).add((edge.relation_type, other))
        return {name: frozenset(edges) for name, edges in found.items()}

    @cached_property
    def layout(self) -> House:
        """The same house without its objects and people, cached."""
        return self.model_copy(update={"objects": (), "people": ()})

    def room_at(self, x_m: float, y_m: float, guess: str | None = None) -> str | None:
        """The room whose polygon contains the point (edges included), or None outside.

        `guess` is tried first, since an agent is usually in the same room as before.
        """
        guessed = None if guess is None else self.rooms_by_name.get(guess)
        if guessed is not None and in_polygon(guessed.polygon_m, x_m, y_m):
            return guess
        for room in self.rooms:
            if in_polygon(room.polygon_m, x_m, y_m):
                return room.name
        return None

    def rooms_at(self, x_m: float, y_m: float) -> tuple[str, ...]:
        """All rooms whose polygons contain the point: several where those of a graph overlap."""
        return tuple(room.name for room in self.rooms if in_polygon(room.polygon_m, x_m, y_m))

    @cached_property
    def bounds_m(self) -> tuple[float, float, float, float]:
        """(x_min, y_min, x_max, y_max) around all rooms."""
        xs = [x for room in self.rooms for x, _ in room.polygon_m]
        ys = [y for room in self.rooms for _, y in room.polygon_m]
        return (min(xs), min(ys), max(xs), max(ys))


def _unique(names: Iterable[str]) -> None:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise ValueError(f"the name {name!r} is used twice")
        seen.add(name)


def house_json(house: House) -> str:
    """The file's text: one line per entry, so that diffs are readable."""
    document = house.model_dump(mode="json", exclude_defaults=True)
    document["version"] = HOUSE_VERSION
    lines = []
    for key, value in document.items():
        if isinstance(value, list):
            rows = ",\n    ".join(json.dumps(item, separators=(",", ":")) for item in value)
            lines.append(f'  "{key}": [\n    {rows}\n  ]')
        else:
            lines.append(f'  "{key}": {json.dumps(value)}')
    return "{\n" + ",\n".join(lines) + "\n}\n"


def write_house(house: House, path: Path) -> None:
    """Writes the house file atomically."""
    with replacing(path) as aside:
        aside.write_text(house_json(house), encoding="utf-8")
