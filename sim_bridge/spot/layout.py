"""The hand-annotated layout of a real house, and aligning a frame with it by markers."""

from __future__ import annotations

import difflib
import math
from collections.abc import Iterator, Sequence
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
from planner.world.geometry import Pose, Vec3, wrap_angle_rad
from planner.world.house import Door, EntityName, Furniture, House, Room
from planner.world.house_checks import Finding, check_house
from planner.world.object_checks import Reach
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


# Aligns a frame with the map by markers that are known in both, and finds contradictions.
#
# Both frames are upright, so what is sought is a position and a heading. Each marker gives its
# position and the direction that its page faces; how it is tilted or rotated on the wall is
# ignored.

# Layouts whose markers are farther off than this, after the best alignment, contradict themselves.
MOST_OFF_M, MOST_TURNED_RAD = 0.3, math.radians(10.0)
# A heading that is less certain than this is unknown.
_UNKNOWN_RAD = 0.2
# A page whose normal is closer to the vertical than 30 degrees faces no direction.
_LEAST_FLAT = 0.5


@dataclass(frozen=True, slots=True)
class Pair:
    """One marker in two frames.

    Attributes:
        tag: its number.
        seen: the page's frame (x up, y left, z out of the page) in the frame to be aligned.
        known: the same in the map.
        sigma_m: how uncertain its position is.
        sigma_rad: how uncertain its direction is; infinite if it is not to be used.
    """

    tag: int
    seen: Pose
    known: Pose
    sigma_m: float
    sigma_rad: float

    @property
    def turn_rad(self) -> float | None:
        """The heading of the frame in the map by this marker's direction alone."""
        seen, known = facing_rad(self.seen), facing_rad(self.known)
        if seen is None or known is None or math.isinf(self.sigma_rad):
            return None
        return wrap_angle_rad(known - seen)


def facing_rad(page: Pose) -> float | None:
    """The direction that a page's printed side faces; None for a page that lies flat."""
    x, y, _ = page.position_m
    out = page.apply((0.0, 0.0, 1.0))
    across, along = out[0] - x, out[1] - y
    return math.atan2(along, across) if math.hypot(across, along) >= _LEAST_FLAT else None


def align(pairs: Sequence[Pair]) -> Pose | None:
    """The frame in the map, upright, by weighted least squares; None if its heading is unknown.

    Minimises the squares of the markers' distances and, as 2 - 2 cos, of their directions'
    differences, each divided by its variance, which has a closed form.
    """
    if not pairs:
        return None
    weights = [1.0 / pair.sigma_m**2 for pair in pairs]
    seen_m = _mean(weights, [pair.seen.position_m for pair in pairs])
    known_m = _mean(weights, [pair.known.position_m for pair in pairs])
    along = across = 0.0
    for pair, weight in zip(pairs, weights, strict=True):
        ax, ay = (pair.seen.position_m[i] - seen_m[i] for i in range(2))
        bx, by = (pair.known.position_m[i] - known_m[i] for i in range(2))
        along += weight * (ax * bx + ay * by)
        across += weight * (ax * by - ay * bx)
        turn = pair.turn_rad
        if turn is not None:
            along += math.cos(turn) / pair.sigma_rad**2
            across += math.sin(turn) / pair.sigma_rad**2
    if math.hypot(along, across) * _UNKNOWN_RAD**2 < 1.0:
        return None
    turned = Pose.planar(0.0, 0.0, math.atan2(across, along))
    moved_m = turned.apply(seen_m)
    x, y, z = (known - moved for known, moved in zip(known_m, moved_m, strict=True))
    return Pose((x, y, z), turned.orientation)


def _mean(weights: Sequence[float], points_m: Sequence[Vec3]) -> Vec3:
    whole = sum(weights)
    x, y, z = (
        sum(weight * point[i] for weight, point in zip(weights, points_m, strict=True)) / whole
        for i in range(3)
    )
    return (x, y, z)


def contradiction(pairs: Sequence[Pair]) -> str:
    """How the markers contradict each other, naming them and by how much; empty if they do not.

    With three or more, the one without which the others agree is named, if there is only one.
    """
    if _agree(pairs):
        return ""
    culprits = []
    if len(pairs) > 2:
        for pair in pairs:
            others = [each for each in pairs if each is not pair]
            if align(others) is not None and _agree(others):
                culprits.append((pair, others))
    allowed = (
        f"at most {MOST_OFF_M:g} m and {math.degrees(MOST_TURNED_RAD):.0f} degrees are allowed; "
        "measure position_m and yaw_rad again (fiducials)"
    )
    if len(culprits) == 1:
        pair, others = culprits[0]
        return (
            f"the layout's marker {pair.tag} is {_off(pair, align(others))} away from where "
            f"{name_markers(others)} put it; {allowed}"
        )
    off = _worst(pairs)
    return f"the layout's {name_markers(pairs)} contradict each other by {off}; {allowed}"


def name_markers(pairs: Sequence[Pair]) -> str:
    """`marker 7`, or `markers 7 and 9`."""
    names = [str(tag) for tag in sorted(pair.tag for pair in pairs)]
    if len(names) == 1:
        return f"marker {names[0]}"
    return f"markers {', '.join(names[:-1])} and {names[-1]}"


def _agree(pairs: Sequence[Pair]) -> bool:
    fitted = align(pairs)
    if fitted is None:
        return True
    return all(
        _off_m(pair, fitted) <= MOST_OFF_M and _turned_rad(pair, fitted) <= MOST_TURNED_RAD
        for pair in pairs
    )


def _off_m(pair: Pair, fitted: Pose) -> float:
    return math.dist(fitted.apply(pair.seen.position_m), pair.known.position_m)


def _turned_rad(pair: Pair, fitted: Pose) -> float:
    turn = pair.turn_rad
    return 0.0 if turn is None else abs(wrap_angle_rad(turn - fitted.yaw_rad))


def _off(pair: Pair, fitted: Pose | None) -> str:
    if fitted is None:
        return "an unknown distance"
    turned = math.degrees(_turned_rad(pair, fitted))
    return f"{_off_m(pair, fitted):.2f} m and {turned:.0f} degrees"


def _worst(pairs: Sequence[Pair]) -> str:
    """How far at most one marker alone puts another from where the layout has it."""
    found = [
        (_off_m(other, alone), _off(other, alone))
        for pair in pairs
        if (alone := align([pair])) is not None
        for other in pairs
    ]
    if found:
        return max(found)[1]
    fitted = align(pairs)
    return max((_off(pair, fitted) for pair in pairs), default="")
