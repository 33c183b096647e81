"""Articulated furniture as URDF, in Habitat's axes: a base, and a link per drawer, door or lid."""

from __future__ import annotations

import math
from collections.abc import Mapping
from xml.etree import ElementTree as ET

from planner.world.geometry import Vec3
from planner.world.house import Furniture, Joint
from sim_bridge.habitat.dataset.axes import to_habitat
from sim_bridge.habitat.dataset.meshes import MeshFiles
from sim_bridge.habitat.dataset.records import JointHandle, link_name

BASE = "base"
_TYPES = {"slide": "prismatic", "hinge": "revolute"}
_DECIMALS = 6


def joint_handles(piece: Furniture) -> tuple[JointHandle, ...]:
    """The joints of a piece in its order; all open towards the upper limit."""
    return tuple(JointHandle(joint.name, joint.kind, abs(joint.travel)) for joint in piece.joints)


def joint_origin(joint: Joint) -> Vec3:
    """The link's frame relative to the piece's when closed: on the hinge."""
    return joint.origin if joint.kind == "hinge" else (0.0, 0.0, 0.0)


def urdf_text(piece: Furniture, meshes: Mapping[str, MeshFiles]) -> str:
    """The URDF of a piece; `meshes` by link, with files beside it."""
    robot = ET.Element("robot", name=piece.name)
    _add_link(robot, BASE, meshes.get(BASE))
    for joint, handle in zip(piece.joints, joint_handles(piece), strict=True):
        _add_link(robot, handle.link, meshes.get(handle.link))
        element = ET.SubElement(robot, "joint", name=joint.name, type=_TYPES[joint.kind])
        ET.SubElement(element, "parent", link=BASE)
        ET.SubElement(element, "child", link=link_name(joint.name))
        ET.SubElement(element, "origin", xyz=_numbers(to_habitat(joint_origin(joint))))
        ET.SubElement(element, "axis", xyz=_numbers(to_habitat(_opening_axis(joint))))
        # habitat-lab takes the lower limit for closed and the upper for open.
        limit = {"lower": 0.0, "upper": handle.travel, "effort": 100.0, "velocity": 10.0}
        ET.SubElement(element, "limit", {name: _number(value) for name, value in limit.items()})
    ET.indent(robot, " ")
    return '<?xml version="1.0"?>\n' + ET.tostring(robot, encoding="unicode") + "\n"


def _add_link(robot: ET.Element, name: str, meshes: MeshFiles | None) -> None:
    link = ET.SubElement(robot, "link", name=name)
    inertial = ET.SubElement(link, "inertial")
    # Not simulated; without values Habitat would estimate them from the boxes and move the link's
    # frame to its centre of mass.
    ET.SubElement(inertial, "origin", xyz="0 0 0", rpy="0 0 0")
    ET.SubElement(inertial, "mass", value="1")
    ET.SubElement(inertial, "inertia", ixx="1", ixy="0", ixz="0", iyy="1", iyz="0", izz="1")
    if meshes is None:
        return
    for tag, path in (("visual", meshes.drawn), ("collision", meshes.touched)):
        geometry = ET.SubElement(ET.SubElement(link, tag), "geometry")
        ET.SubElement(geometry, "mesh", filename=path.name)


def _opening_axis(joint: Joint) -> Vec3:
    """The joint's axis as a unit vector, reversed if needed so that positive positions open it."""
    length = math.copysign(math.hypot(*joint.axis), joint.travel)
    x, y, z = (value / length for value in joint.axis)
    return (x, y, z)


def _numbers(values: Vec3) -> str:
    return " ".join(_number(value) for value in values)


def _number(value: float) -> str:
    # Adding zero turns -0 into 0.
    return repr(round(value, _DECIMALS) + 0.0)
