"""An agent's body as URDF, which rviz and other viewers draw at the frames of `/tf`."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from xml.etree import ElementTree as ET

from planner.world.agents import Body, CameraMount
from planner.world.geometry import Vec3
from planner.world.shapes import Axis, Part, Shape
from sim_bridge.frames import ARM_CAMERA, HAND_MOUNT, PAN_JOINT, TILT_JOINT, optical_frame

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
