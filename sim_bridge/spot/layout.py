"""The hand-annotated layout of a real house: rooms, furniture, poses to stand at, markers.

A person measures it with a tape (docs/spot.md). It becomes a `House`, so that memory, skills and
planners work as in simulation, and adds what only a robot needs: poses to stand at and the poses of
markers. Frame `map`, metres and radians, as in house files.
"""

from __future__ import annotations

import difflib
import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated as Constrained
from typing import Literal

import numpy as np
from pydantic import Field, ValidationError, model_validator
from shapely.geometry import Point

from planner.world.catalogue import Catalogue, default_catalogue
from planner.world.errors import FileError, from_validation
from planner.world.files import FileModel, read_model
from planner.world.furnishing import build_furniture
from planner.world.geometry import Pose, Vec3
from planner.world.house import Door, EntityName, Furniture, House, Room
from planner.world.house_checks import Finding, check_house
from planner.world.reach import Reach
from planner.world.shapes import Size3

# A pose farther from its furniture than this belongs to another piece.
_OTHER_M = 2.0
# At this distance, at an angle, a Spot still detects a marker of 15 cm.
SEEN_FROM_M = 4.0
_MARKER_HEIGHT_M = (0.1, 2.0)
# This far before a page there is a room, apart from errors of measuring along a wall.
_BEFORE_PAGE_M, _WALL_M = 0.4, 0.1


class Fiducial(FileModel):
    """A marker that hangs upright in the map.

    Attributes:
        tag: its number.
        position_m: its centre.
        yaw_rad: the direction that the printed page faces, from the wall into the room: 0 is +x.
    """

    tag: Constrained[int, Field(ge=0)]
    position_m: Vec3
    yaw_rad: float = 0.0

    @property
    def in_map(self) -> Pose:
        """The page's frame in the map as the SDK defines it: x up, y left, z out of the page."""
        cos, sin = math.cos(self.yaw_rad), math.sin(self.yaw_rad)
        columns = np.array([[0.0, sin, cos], [0.0, -cos, sin], [1.0, 0.0, 0.0]])
        return Pose.from_matrix(np.array(self.position_m), columns)


class LayoutRoom(FileModel):
    """A room as measured; `class_name` in any words that the catalogue knows."""

    name: EntityName
    class_name: str
    polygon_m: tuple[tuple[float, float], ...] = Field(min_length=3)
    height_m: float = 2.6


class LayoutPiece(FileModel):
    """A piece of furniture: the centre of its footprint, the yaw of its front, its size.

    `poses` are where the robot's base stands to work at it: [x, y, yaw], best first.
    """

    name: EntityName
    class_name: str
    room: str
    x_m: float
    y_m: float
    yaw_rad: float = 0.0
    size_m: Size3
    poses: tuple[tuple[float, float, float], ...] = ()


class LayoutFile(FileModel):
    """The file (version 1)."""

    version: Literal[1]
    name: Constrained[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]*$")]
    rooms: tuple[LayoutRoom, ...] = Field(min_length=1)
    doors: tuple[Door, ...] = ()
    furniture: tuple[LayoutPiece, ...] = Field(min_length=1)
    fiducials: tuple[Fiducial, ...] = ()

    @model_validator(mode="after")
    def _markers_are_different(self) -> LayoutFile:
        tags = [fiducial.tag for fiducial in self.fiducials]
        if len(set(tags)) < len(tags):
            raise ValueError(
                "fiducials: a tag is used twice; each marker needs a number of its own"
            )
        return self


@dataclass(frozen=True, slots=True)
class Annotated:
    """A parsed layout: the house, the poses of its furniture, its markers."""

    file: LayoutFile
    house: House
    poses: dict[str, tuple[Pose, ...]]

    @property
    def fiducials(self) -> tuple[Fiducial, ...]:
        """Its markers."""
        return self.file.fiducials


def read_annotated(path: Path) -> Annotated:
    """Reads a layout and checks it.

    Raises:
        FileError: naming the file, the field and the reason of the first finding.
    """
    annotated = parse_layout(path)
    for finding in check_layout(annotated):
        raise FileError(path, finding.field, finding.reason)
    return annotated


def parse_layout(path: Path) -> Annotated:
    """Reads a layout without the checks of `check_layout`.

    Raises:
        FileError: for a wrong schema, a room or furniture of an unknown class, a duplicate name.
    """
    file, catalogue = read_model(path, LayoutFile), default_catalogue()
    try:
        house = House(
            version=1,
            name=file.name,
            rooms=tuple(_room(path, n, room, catalogue) for n, room in enumerate(file.rooms)),
            doors=file.doors,
            furniture=tuple(
                _piece(path, n, piece, catalogue) for n, piece in enumerate(file.furniture)
            ),
        )
    except ValidationError as error:
        raise from_validation(path, error) from None
    poses = {
        piece.name: tuple(Pose.planar(x, y, yaw) for x, y, yaw in piece.poses)
        for piece in file.furniture
    }
    return Annotated(file, house, poses)


def _room(path: Path, index: int, room: LayoutRoom, catalogue: Catalogue) -> Room:
    known = catalogue.room_name(room.class_name)
    if known is None:
        text = _unknown("room", room.class_name, list(catalogue.rooms))
        raise FileError(path, f"rooms.{index}.class_name", text)
    try:
        return Room(
            name=room.name, class_name=known, polygon_m=room.polygon_m, height_m=room.height_m
        )
    except ValidationError as error:
        found = from_validation(path, error)
        raise FileError(path, f"rooms.{index}.{found.field}".rstrip("."), found.reason) from None


def _piece(path: Path, index: int, piece: LayoutPiece, catalogue: Catalogue) -> Furniture:
    known = catalogue.furniture_name(piece.class_name)
    if known is None:
        text = _unknown("furniture", piece.class_name, list(catalogue.furniture))
        raise FileError(path, f"furniture.{index}.class_name", text)
    recipe = catalogue.furniture[known]
    return build_furniture(
        recipe, piece.name, piece.room, piece.x_m, piece.y_m, piece.yaw_rad, piece.size_m
    )


def _unknown(kind: str, word: str, names: list[str]) -> str:
    close = difflib.get_close_matches(word.lower().replace(" ", "_"), names, 3)
    hint = f"; did you mean {' or '.join(close)}?" if close else ""
    return f"the catalogue knows no {kind} {word!r}{hint} (docs/catalogue.md lists its words)"


def check_layout(annotated: Annotated) -> list[Finding]:
    """All defects of a layout, by the fields of its file; empty for a valid one."""
    found = check_house(annotated.house, default_catalogue())
    if found:
        return found
    reach = Reach(annotated.house)
    return [*_pose_findings(annotated, reach), *_marker_findings(annotated, reach)]


def _pose_findings(annotated: Annotated, reach: Reach) -> Iterator[Finding]:
    for index, piece in enumerate(annotated.file.furniture):
        box = annotated.house.furniture_by_name[piece.name].box
        for number, (x, y, _) in enumerate(piece.poses):
            field = f"furniture.{index}.poses.{number}"
            cell = reach.grid.cell(x, y)
            if annotated.house.room_at(x, y) is None or cell is None:
                yield Finding(field, f"({x}, {y}) lies outside of the rooms")
            elif not reach.grid.is_free(x, y):
                yield Finding(
                    field, f"the robot does not fit at ({x}, {y}); something stands there"
                )
            elif not reach.walkable.flat[cell]:
                yield Finding(field, f"no way leads to ({x}, {y}) from the rest of the floor")
            elif box.distance_m((x, y, box.center_m[2])) > _OTHER_M:
                yield Finding(
                    field, f"({x}, {y}) is more than {_OTHER_M:g} m away from {piece.name}"
                )


def _marker_findings(annotated: Annotated, reach: Reach) -> Iterator[Finding]:
    if not annotated.fiducials:
        yield Finding("fiducials", "there is none; the robot finds itself by at least one marker")
    low, high = _MARKER_HEIGHT_M
    for index, marker in enumerate(annotated.fiducials):
        x, y, z = marker.position_m
        field = f"fiducials.{index}.position_m"
        if not low <= z <= high:
            yield Finding(field, f"{z} m is not a height that the cameras see, {low} to {high} m")
        elif reach.gap_m(x, y) > SEEN_FROM_M - 0.5:
            yield Finding(field, f"no floor to stand on is within {SEEN_FROM_M:g} m of it")
        elif not _faces_a_room(annotated.house, marker):
            text = "the page faces out of the rooms; it is where the printed side looks, 0 along +x"
            yield Finding(f"fiducials.{index}.yaw_rad", text)


def _faces_a_room(house: House, marker: Fiducial) -> bool:
    x, y, _ = marker.in_map.apply((0.0, 0.0, _BEFORE_PAGE_M))
    return any(room.shape.distance(Point(x, y)) <= _WALL_M for room in house.rooms)


def blind_poses(annotated: Annotated) -> list[str]:
    """Furniture without a marker near any of its poses, where only odometry is available."""
    marks = [marker.position_m for marker in annotated.fiducials]
    return [
        name
        for name, poses in annotated.poses.items()
        if poses
        and not any(
            math.dist(pose.position_m[:2], mark[:2]) <= SEEN_FROM_M
            for pose in poses
            for mark in marks
        )
    ]
