"""The tree of frames, map -> odom -> base_link -> hand, and the body at them as URDF."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from xml.etree import ElementTree as ET

from planner.world.agents import Body, CameraMount
from planner.world.geometry import Pose, Vec3
from planner.world.observation import Observation
from planner.world.primitive import Primitive
from planner.world.shapes import Axis, Part, Shape

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
    robot: ET.Element,
    agent: str,
    name: str,
    mount: CameraMount,
    hand_m: Vec3,
    *,
    turns: bool,
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
