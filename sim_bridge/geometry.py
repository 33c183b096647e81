"""A house's fixed structure, what simulators say of its geometry, and frames of robots."""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable
from xml.etree import ElementTree as ET

from shapely.geometry import LineString, MultiLineString, Polygon
from shapely.geometry.base import BaseGeometry
from shapely.ops import linemerge, unary_union

from planner.world.agents import Body, CameraMount
from planner.world.catalogue import Catalogue
from planner.world.errors import PlannerError
from planner.world.floor_grid import WALL_THICKNESS_M, door_corners
from planner.world.geometry import Pose, Vec3
from planner.world.house import House
from planner.world.observation import Observation
from planner.world.primitive import Primitive
from planner.world.shapes import Axis, Part, Shape


@dataclass(frozen=True, slots=True)
class Ray:
    """A ray in `map`; `direction` has the length 1."""

    origin_m: Vec3
    direction: Vec3


@runtime_checkable
class GeometrySource(Protocol):
    """A backend whose geometry can be asked."""

    @property
    def floor_step_m(self) -> float:
        """Resolution of the floor's height; 0 if it is exact."""

    def crossed(self, rays: Sequence[Ray], far_m: float) -> list[tuple[str, ...]]:
        """The furniture and things that each ray enters within a distance, nearest first.

        A body that contains a ray's origin is not entered. Structure and agents are not reported.

        Raises:
            PlannerError: if no episode is loaded, or the simulator does not answer.
        """

    def off_floor_m(self, x_m: float, y_m: float) -> float:
        """Horizontal distance of a point to the nearest floor on which a robot's middle may be."""


# The fixed structure of a house: floors, ceilings, walls, lintels.
#
# Every simulator builds its walls from this list, so that all of them show the same house.

_SLAB_HALF_M = 0.05
_WALL_RGB = (0.93, 0.91, 0.86)
_CEILING_RGB = (0.97, 0.97, 0.96)
# Of rooms of other data sets, whose classes are their own.
_UNKNOWN_RGB = (0.85, 0.83, 0.8)
_ENTRANCE_RGB = (0.45, 0.3, 0.2)


@dataclass(frozen=True, slots=True)
class Slab:
    """A box of the structure in `map`: centre, half size, rotation about z, colour.

    `is_ceiling` marks what a view from above leaves out.
    """

    center_m: Vec3
    half_m: Vec3
    yaw_rad: float
    rgb: tuple[float, float, float]
    is_ceiling: bool = False


def structure_slabs(house: House, catalogue: Catalogue) -> Iterator[Slab]:
    """All slabs of a house: floor and ceiling of each room, walls, and what closes each opening.

    Raises:
        PlannerError: for a scene graph, which has no walls.
    """
    if house.graph is not None:
        raise PlannerError(f"{house.name} is a scene graph, which only the backend graph runs")
    for room in house.rooms:
        known = catalogue.rooms.get(room.class_name)
        rgb = _UNKNOWN_RGB if known is None else known.floor_rgb
        for x0, y0, x1, y1 in _rectangles(room.shape):
            x, y = (x0 + x1) / 2, (y0 + y1) / 2
            half = ((x1 - x0) / 2, (y1 - y0) / 2, _SLAB_HALF_M)
            yield Slab((x, y, -_SLAB_HALF_M), half, 0.0, rgb)
            above = (x, y, room.height_m + _SLAB_HALF_M)
            yield Slab(above, half, 0.0, _CEILING_RGB, is_ceiling=True)
    height = max(room.height_m for room in house.rooms)
    for (x0, y0), (x1, y1) in wall_segments(house):
        half_length = math.hypot(x1 - x0, y1 - y0) / 2 + WALL_THICKNESS_M / 2
        middle = ((x0 + x1) / 2, (y0 + y1) / 2, height / 2)
        half = (half_length, WALL_THICKNESS_M / 2, height / 2)
        yield Slab(middle, half, math.atan2(y1 - y0, x1 - x0), _WALL_RGB)
    for door in house.doors:
        lintel = (height - door.height_m) / 2
        if lintel > 0:
            half = (door.width_m / 2, WALL_THICKNESS_M / 2, lintel)
            yield Slab((*door.center_m, height - lintel), half, door.yaw_rad, _WALL_RGB)
        if len(door.rooms) == 1:
            half = (door.width_m / 2, WALL_THICKNESS_M / 2, door.height_m / 2)
            yield Slab((*door.center_m, door.height_m / 2), half, door.yaw_rad, _ENTRANCE_RGB)


def wall_segments(house: House) -> list[tuple[tuple[float, float], tuple[float, float]]]:
    """The centre lines of all walls without their openings, map frame, metres."""
    openings = unary_union([Polygon(door_corners(door)) for door in house.doors])
    edges = []
    for room in house.rooms:
        corners = list(room.polygon_m)
        edges += [LineString(pair) for pair in zip(corners, corners[1:] + corners[:1], strict=True)]
    walls = unary_union(edges).difference(openings)
    merged = linemerge(walls) if isinstance(walls, MultiLineString) else walls
    segments = []
    for line in _lines(merged):
        points = list(line.simplify(1e-6).coords)
        segments += [((a[0], a[1]), (b[0], b[1])) for a, b in itertools.pairwise(points)]
    return segments


def _rectangles(shape: Polygon) -> list[tuple[float, float, float, float]]:
    """Axis-aligned pieces of a floor: slabs between the corners' x.

    Exact for rectilinear rooms; slanted walls get a staircase.
    """
    xs = sorted({x for x, _ in shape.exterior.coords})
    found = []
    for x0, x1 in itertools.pairwise(xs):
        middle = (x0 + x1) / 2
        line = LineString([(middle, shape.bounds[1] - 1), (middle, shape.bounds[3] + 1)])
        for part in _lines(line.intersection(shape)):
            ys = [y for _, y in part.coords]
            found.append((x0, min(ys), x1, max(ys)))
    return found


def _lines(shape: BaseGeometry) -> list[LineString]:
    if isinstance(shape, LineString):
        return [] if shape.is_empty else [shape]
    return [part for part in getattr(shape, "geoms", ()) if isinstance(part, LineString)]


# Whose meshes a simulator draws, for results that depend on pictures.


@runtime_checkable
class DrawsModels(Protocol):
    """A backend that can draw meshes of other data sets."""

    def drawn_from(self) -> str:
        """Whose meshes house, things and bodies have in the loaded episode.

        Raises:
            PlannerError: if none is loaded.
        """


# The tree of frames, map -> odom -> base_link -> hand, and the body at them as URDF.

MAP = "map"
ARM_CAMERA = "hand"
# Joints of simulated bodies: the arm pans about the base and its camera tilts. `HAND_MOUNT` is the
# frame at the base that pans.
PAN_JOINT, TILT_JOINT = "hand_pan", "hand_tilt"
HAND_MOUNT = "hand_mount"


@dataclass(frozen=True, slots=True)
class Link:
    """The pose of frame `child` in frame `parent` at `stamp_s`; None for one that never changes."""

    parent: str
    child: str
    pose: Pose
    stamp_s: float | None = None


def optical_frame(agent: str, camera: str) -> str:
    """The frame that a camera's images are in: z forward, x right, y down (REP-103)."""
    return f"{agent}/{camera}_optical_frame"


def moving_links(observation: Observation) -> list[Link]:
    """The links that change, at the observation's stamp.

    map -> odom carries what localisation corrects, odom -> base_link is smooth (REP-105).
    The hand camera is mounted on the hand, every other one on the base.
    """
    agent, stamp_s = observation.agent, observation.stamp_s
    base, hand = f"{agent}/base_link", f"{agent}/hand"
    correction = observation.base.compose(observation.odometry.inverse())
    links = [
        Link(MAP, f"{agent}/odom", correction, stamp_s),
        Link(f"{agent}/odom", base, observation.odometry, stamp_s),
        Link(base, hand, observation.hand, stamp_s),
    ]
    if PAN_JOINT in observation.joints:
        pan = Pose.planar(0.0, 0.0, observation.joints[PAN_JOINT])
        links.append(Link(base, f"{agent}/{HAND_MOUNT}", pan, stamp_s))
    for camera, in_base in observation.optical.items():
        frame = optical_frame(agent, camera)
        if camera == ARM_CAMERA:
            in_hand = observation.hand.inverse().compose(in_base)
            links.append(Link(hand, frame, in_hand, stamp_s))
        else:
            links.append(Link(base, frame, in_base, stamp_s))
    return links


def fixed_links(agent: str) -> list[Link]:
    """The links that never change: Spot and spot_ros2 call the base `body`."""
    return [Link(f"{agent}/base_link", f"{agent}/body", Pose((0.0, 0.0, 0.0)))]


def in_map(primitive: Primitive, frame: Pose | None) -> tuple[Vec3, Vec3 | None, float]:
    """Target, reference and heading of a primitive in the map.

    Args:
        primitive: with points in its frame.
        frame: the frame's pose in the map; None for the map itself.
    """
    target_m, reference_m = primitive.target_m, primitive.reference_m
    if frame is None:
        return target_m, reference_m, primitive.heading_rad
    return (
        frame.apply(target_m),
        None if reference_m is None else frame.apply(reference_m),
        primitive.heading_rad + frame.yaw_rad,
    )


# An agent's body as URDF, which rviz and other viewers draw at the frames of `/tf`.

_ORIGIN: Vec3 = (0.0, 0.0, 0.0)
# URDF's cylinders are along z.
_ALONG: dict[Axis, Vec3] = {
    Axis.X: (0.0, math.pi / 2, 0.0),
    Axis.Y: (math.pi / 2, 0.0, 0.0),
    Axis.Z: _ORIGIN,
}
_HAND_SIZE_M = (0.06, 0.06, 0.06)
_HAND_RGB = (0.1137, 0.1216, 0.1294)


def robot_description(
    agent: str, body: Body, cameras: Collection[str], joints: Collection[str]
) -> str:
    """The URDF of an agent.

    Links have the names of the frames of `/tf`, including the agent's namespace, so that a viewer
    needs no prefix. If the body has the joints of our simulators, the joints and `joint_states`
    give the frames of `/tf`; a robot's arm has others, so its hand and cameras are floating links,
    placed by `/tf` alone.

    Args:
        agent: namespace, such as agent_0.
        body: dimensions and parts.
        cameras: names of the agent's cameras.
        joints: names in its `joint_states`.
    """
    robot = ET.Element("robot", name=agent)
    base = _link(robot, f"{agent}/base_link", body.parts)
    collision = ET.SubElement(base, "collision")
    _origin(collision, (0.0, 0.0, body.height_m / 2))
    _geometry(collision, "cylinder", radius=_number(body.radius_m), length=_number(body.height_m))
    _link(robot, f"{agent}/body")
    _joint(robot, "body", "fixed", f"{agent}/base_link", f"{agent}/body")
    hand = f"{agent}/hand"
    _link(robot, hand, (Part(center=_ORIGIN, size=_HAND_SIZE_M, rgb=_HAND_RGB),))
    turns = {PAN_JOINT, TILT_JOINT} <= set(joints)
    if turns:
        mount = f"{agent}/{HAND_MOUNT}"
        _link(robot, mount)
        pan = _joint(robot, PAN_JOINT, "continuous", f"{agent}/base_link", mount)
        ET.SubElement(pan, "axis", xyz="0 0 1")
        _joint(robot, "hand", "fixed", mount, hand, body.hand_m)
    else:
        _joint(robot, "hand", "floating", f"{agent}/base_link", hand, body.hand_m)
    for name, camera in body.cameras.items():
        if name in cameras:
            _camera(robot, agent, name, camera, body.hand_m, turns=turns)
    ET.indent(robot)
    return str(ET.tostring(robot, encoding="unicode", xml_declaration=False))


def _camera(
    robot: ET.Element, agent: str, name: str, mount: CameraMount, hand_m: Vec3, *, turns: bool
) -> None:
    frame = optical_frame(agent, name)
    _link(robot, frame)
    if name != ARM_CAMERA:
        kind = "fixed" if turns else "floating"
        tilt_rad = mount.tilt_rad
        parent = f"{agent}/base_link"
        _joint(robot, f"{name}_camera", kind, parent, frame, mount.position_m, _looking(tilt_rad))
        return
    x, y, z = (at - hand for at, hand in zip(mount.position_m, hand_m, strict=True))
    kind, joint = ("continuous", TILT_JOINT) if turns else ("floating", f"{name}_camera")
    tilt_rad = 0.0 if turns else mount.tilt_rad
    made = _joint(robot, joint, kind, f"{agent}/hand", frame, (x, y, z), _looking(tilt_rad))
    if turns:
        # Down is positive: about the hand's y, which is the optical frame's -x.
        ET.SubElement(made, "axis", xyz="-1 0 0")


def _looking(tilt_rad: float) -> Vec3:
    """Roll, pitch and yaw of an optical frame (z forward, x right, y down), tilted down."""
    return (-math.pi / 2 - tilt_rad, 0.0, -math.pi / 2)


def _link(robot: ET.Element, name: str, parts: Sequence[Part] = ()) -> ET.Element:
    link = ET.SubElement(robot, "link", name=name)
    for number, part in enumerate(parts):
        visual = ET.SubElement(link, "visual")
        _origin(visual, part.center, _ALONG[part.axis])
        _shape(visual, part)
        material = ET.SubElement(visual, "material", name=f"{name}_{number}")
        rgba = " ".join(_number(level) for level in (*part.rgb, 1.0))
        ET.SubElement(material, "color", rgba=rgba)
    return link


def _shape(visual: ET.Element, part: Part) -> None:
    """Boxes, cylinders and spheres; a capsule as a cylinder, an ellipsoid as a sphere.

    Open shapes are drawn as if they were full.
    """
    if part.shape in (Shape.BOX, Shape.OPEN_BOX):
        _geometry(visual, "box", size=_numbers(part.size))
    elif part.shape in (Shape.CYLINDER, Shape.CAPSULE, Shape.OPEN_CYLINDER):
        along = "xyz".index(part.axis)
        across = min(extent for i, extent in enumerate(part.size) if i != along)
        length, radius = _number(part.size[along]), _number(across / 2)
        _geometry(visual, "cylinder", radius=radius, length=length)
    else:
        _geometry(visual, "sphere", radius=_number(sum(part.size) / 6))


def _joint(
    robot: ET.Element,
    name: str,
    kind: str,
    parent: str,
    child: str,
    position_m: Vec3 = _ORIGIN,
    rpy_rad: Vec3 = _ORIGIN,
) -> ET.Element:
    joint = ET.SubElement(robot, "joint", name=name, type=kind)
    ET.SubElement(joint, "parent", link=parent)
    ET.SubElement(joint, "child", link=child)
    _origin(joint, position_m, rpy_rad)
    return joint


def _origin(element: ET.Element, position_m: Vec3, rpy_rad: Vec3 = _ORIGIN) -> None:
    ET.SubElement(element, "origin", xyz=_numbers(position_m), rpy=_numbers(rpy_rad))


def _geometry(element: ET.Element, shape: str, **sizes: str) -> None:
    ET.SubElement(ET.SubElement(element, "geometry"), shape, sizes)


def _numbers(values: Sequence[float]) -> str:
    return " ".join(_number(value) for value in values)


def _number(value: float) -> str:
    return f"{value:.9g}"
