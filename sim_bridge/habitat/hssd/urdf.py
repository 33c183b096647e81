"""Reads the links and joints of a URDF as boxes and axes in the base's frame.

Joints are closed at their lower limits and open at their upper limits, as in habitat-lab.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Annotated, Literal
from xml.etree import ElementTree as ET

import numpy as np
from pydantic import Field, JsonValue
from scipy.spatial.transform import Rotation

from planner.world.errors import FileError
from planner.world.files import parse_model, read_bytes
from planner.world.geometry import FloatArray, Vec3
from sim_bridge.habitat.hssd.dataset import Lenient, Template, refuse_pointer
from sim_bridge.habitat.hssd.glb import (
    MAX_DISTANCE_M,
    TO_OURS,
    Factor,
    NoGlbError,
    Number3,
    Oriented,
    Wxyz,
    bounds_of,
    box_corners,
    matrix_of,
    mesh_corners,
)

_KINDS: Mapping[str, Literal["slide", "hinge"]] = {
    "prismatic": "slide",
    "revolute": "hinge",
    "continuous": "hinge",
}
_LARGEST_BYTES = 4 << 20
_OPEN_RAD = math.pi / 2
_MAX_LINKS = 200


@dataclass(frozen=True, slots=True)
class UrdfJoint:
    """A movable joint: axis and a point on it in the base's frame when closed; travel."""

    name: str
    link: str
    kind: Literal["slide", "hinge"]
    axis: FloatArray
    origin: FloatArray
    travel: float

    def placed(self, matrix: FloatArray, place: FloatArray) -> UrdfJoint:
        """The same joint, transformed by a (3, 3) matrix and a (3,) translation."""
        axis = matrix @ self.axis
        if self.kind == "hinge" and np.linalg.det(matrix) < 0.0:
            # A mirrored hinge turns the other way.
            axis = -axis
        size = float(np.linalg.norm(axis))
        travel = self.travel * size if self.kind == "slide" else self.travel
        return UrdfJoint(
            self.name, self.link, self.kind, axis / size, matrix @ self.origin + place, travel
        )


@dataclass(frozen=True, slots=True)
class UrdfLink:
    """A link when closed: pose in the base's frame, corners of its meshes, and its joint."""

    name: str
    frame: FloatArray
    corners: FloatArray
    joint: UrdfJoint | None


def read_urdf(path: Path) -> tuple[UrdfLink, ...]:
    """The links of a URDF, the base first.

    Raises:
        FileError: if it is not a URDF, or not a single tree.
    """
    robot = _root(path)
    links = {str(link.get("name")): link for link in robot.findall("link")}
    children: dict[str, list[ET.Element]] = {}
    for joint in robot.findall("joint"):
        children.setdefault(_named(joint, "parent", path), []).append(joint)
    moved = {_named(joint, "child", path) for joint in robot.findall("joint")}
    roots = [name for name in links if name not in moved]
    if len(roots) != 1 or len(links) > _MAX_LINKS:
        raise FileError(path, "link", f"{len(links)} links and {len(roots)} bases: not one body")
    found: list[UrdfLink] = []
    waiting: list[tuple[str, FloatArray, UrdfJoint | None]] = [(roots[0], np.eye(4), None)]
    while waiting:
        name, frame, mover = waiting.pop(0)
        if name not in links:
            raise FileError(path, "joint", f"there is no link {name!r}")
        found.append(UrdfLink(name, frame, _corners(links[name], frame, path), mover))
        if len(found) > len(links):
            raise FileError(path, "joint", "the links are no tree")
        for element in children.get(name, []):
            child = _named(element, "child", path)
            place, moving = _joint(element, child, frame, path)
            waiting.append((child, place, moving or mover))
    return tuple(found)


def _root(path: Path) -> ET.Element:
    content = read_bytes(path)
    refuse_pointer(path, content)
    # XML entities allow a small file to exhaust memory; a URDF has none.
    if len(content) > _LARGEST_BYTES or b"<!DOCTYPE" in content or b"<!ENTITY" in content:
        raise FileError(path, "", "is not a plain URDF")
    try:
        return ET.fromstring(content)  # noqa: S314 - no entities, see above
    except (ET.ParseError, RecursionError) as error:
        raise FileError(path, "", f"is not well formed: {error}") from None


def _named(joint: ET.Element, which: str, path: Path) -> str:
    element = joint.find(which)
    name = element.get("link") if element is not None else None
    if name is None:
        raise FileError(path, f"joint.{joint.get('name')}", f"has no {which}")
    return name


def _joint(
    element: ET.Element, child: str, above: FloatArray, path: Path
) -> tuple[FloatArray, UrdfJoint | None]:
    """The child's frame when closed, and the joint if it moves."""
    frame = above @ _origin(element.find("origin"), path)
    kind = _KINDS.get(element.get("type", ""))
    if kind is None:
        return frame, None
    axis = _vector(element.find("axis"), "xyz", (1.0, 0.0, 0.0), path)
    length = float(np.linalg.norm(axis))
    if length == 0.0:
        raise FileError(path, f"joint.{element.get('name')}.axis", "has no direction")
    axis = axis / length
    limit = element.find("limit")
    low, high = (
        float(_number(limit.get(name, "0"), path)) if limit is not None else 0.0
        for name in ("lower", "upper")
    )
    if high - low < 1e-6:
        low, high = 0.0, _OPEN_RAD if kind == "hinge" else 0.0
    closed = np.eye(4)
    if kind == "slide":
        closed[:3, 3] = axis * low
    else:
        closed[:3, :3] = Rotation.from_rotvec(axis * low).as_matrix()
    joint = UrdfJoint(
        name=str(element.get("name")),
        link=child,
        kind=kind,
        axis=frame[:3, :3] @ axis,
        origin=frame[:3, 3],
        travel=high - low,
    )
    return frame @ closed, joint if joint.travel > 0.0 else None


def _corners(link: ET.Element, frame: FloatArray, path: Path) -> FloatArray:
    found = [np.empty((0, 3))]
    for visual in link.findall("visual"):
        geometry = visual.find("geometry")
        if geometry is None:
            continue
        corners = _geometry(geometry, path)
        place = frame @ _origin(visual.find("origin"), path)
        found.append(corners @ place[:3, :3].T + place[:3, 3])
    return np.concatenate(found)


def _geometry(geometry: ET.Element, path: Path) -> FloatArray:
    mesh, box = geometry.find("mesh"), geometry.find("box")
    if mesh is not None:
        scale = _vector(mesh, "scale", (1.0, 1.0, 1.0), path)
        name = mesh.get("filename", "")
        if Path(name).is_absolute():
            raise FileError(path, "mesh.filename", f"{name!r} is not a file beside it")
        bounds = bounds_of(path.parent / name)
        return box_corners(bounds.low, bounds.high) * scale
    if box is not None:
        half = _vector(box, "size", (0.0, 0.0, 0.0), path) / 2
    elif (sphere := geometry.find("sphere")) is not None:
        half = np.full(3, _number(sphere.get("radius", "0"), path))
    elif (cylinder := geometry.find("cylinder")) is not None:
        radius = _number(cylinder.get("radius", "0"), path)
        half = np.array([radius, radius, _number(cylinder.get("length", "0"), path) / 2])
    else:
        return np.empty((0, 3))
    return box_corners(-half, half)


def _origin(element: ET.Element | None, path: Path) -> FloatArray:
    made = np.eye(4)
    rpy = _vector(element, "rpy", (0.0, 0.0, 0.0), path)
    made[:3, :3] = Rotation.from_euler("xyz", rpy).as_matrix()
    made[:3, 3] = _vector(element, "xyz", (0.0, 0.0, 0.0), path)
    return made


def _vector(
    element: ET.Element | None, name: str, default: tuple[float, float, float], path: Path
) -> FloatArray:
    words = element.get(name, "").split() if element is not None else []
    if not words:
        return np.array(default)
    if len(words) != 3:
        raise FileError(path, name, f"{' '.join(words)!r} is not three numbers")
    return np.array([_number(word, path) for word in words])


def _number(word: str, path: Path) -> float:
    try:
        value = float(word)
    except ValueError:
        raise FileError(path, "", f"{word[:40]!r} is not a number") from None
    if not abs(value) <= MAX_DISTANCE_M:
        raise FileError(path, "", f"{word[:40]!r} is not a length or angle")
    return value


# Object and articulated configurations, and the models that episodes add to a scene.

_PREFIX, _BOX, _MESH = "receptacle_", "receptacle_aabb_", "receptacle_mesh_"
_UserDefined = Annotated[dict[str, JsonValue], Field(max_length=1000)]


class ObjectTemplate(Oriented):
    """`*.object_config.json`."""

    render_asset: str = ""
    COM: Number3 | None = None
    user_defined: _UserDefined = Field(default_factory=dict)


class ArticulatedTemplate(Lenient):
    """`*.ao_config.json`."""

    urdf_filepath: Annotated[str, Field(min_length=1)]
    uniform_scale: Factor = 1.0
    user_defined: _UserDefined = Field(default_factory=dict)


class _ReceptacleNote(Lenient):
    name: str | None = None
    position: Number3
    scale: Number3
    rotation: Wxyz | None = None
    parent_link: str | None = None
    mesh_filepath: str | None = None


@dataclass(frozen=True, slots=True)
class Receptacle:
    """A place to put things: corners of its box in its mesh's or link's axes, and its name."""

    name: str
    corners: FloatArray
    link: str | None


def receptacles_of(config: Path, user_defined: _UserDefined) -> tuple[list[Receptacle], list[str]]:
    """The receptacles of a template, named as habitat-lab names them, and what cannot be read.

    Raises:
        FileError: if one is not as documented, or its mesh is missing.
    """
    found: list[Receptacle] = []
    unread: list[str] = []
    for key, value in user_defined.items():
        if not key.startswith(_PREFIX):
            continue
        note = parse_model(value, _ReceptacleNote, f"{config}: user_defined.{key}")
        name = note.name or key
        if _BOX in key:
            half = np.abs(note.scale)
            corners = box_corners(-half, half)
            if note.rotation is not None:
                corners = corners @ matrix_of(note.rotation).T
            found.append(Receptacle(name, corners + note.position, note.parent_link))
        elif _MESH in key:
            mesh = config.parent / _beside(note.mesh_filepath, config, key)
            try:
                parts = list(mesh_corners(mesh))
            except NoGlbError as error:
                unread.append(f"{name}: {error}")
                continue
            found += [
                Receptacle(f"{name}.{index:04d}", corners, note.parent_link)
                for index, corners in enumerate(parts)
            ]
        else:
            raise FileError(config, f"user_defined.{key}", "is neither a box nor a mesh")
    return found, unread


def read_object(template: Template) -> ObjectTemplate:
    """A rigid template, or a stage.

    Raises:
        FileError: if it is not as documented.
    """
    found = parse_model(template.document(), ObjectTemplate, template.path)
    if not np.linalg.norm(np.cross(found.up, found.front)) > 0.0:
        raise FileError(template.path, "front", "lies along up")
    return found


def mesh_file(template: Template, read: ObjectTemplate) -> Path:
    """The mesh of a rigid template."""
    return template.folder / _beside(read.render_asset, template.path, "render_asset")


def read_articulated(template: Template) -> ArticulatedTemplate:
    """An articulated template.

    Raises:
        FileError: if it is not as documented.
    """
    return parse_model(template.document(), ArticulatedTemplate, template.path)


def _beside(name: str | None, config: Path, field: str) -> str:
    if not name or Path(name).is_absolute():
        raise FileError(config, field, f"{name!r} is not a file of the dataset")
    return name


# The movable models that PARTNR's episodes add to a scene: their sizes and meshes.

_ENDING = ".object_config.json"
_MIN_SIZE_M = 0.001


@dataclass(frozen=True, slots=True)
class MovableMesh:
    """The mesh of a model.

    Attributes:
        file: a GLB file.
        turn: (3, 3), from the file's axes to ours, in metres.
        low_m: (3,), lowest corner of the box around it, in our axes.
        high_m: (3,), highest corner.
    """

    file: Path
    turn: FloatArray
    low_m: FloatArray
    high_m: FloatArray


class Movables:
    """Folders of `*.object_config.json`, indexed once."""

    def __init__(self, folders: Sequence[Path]) -> None:
        """Opens the folders.

        Raises:
            FileError: if one is missing.
        """
        for folder in folders:
            if not folder.is_dir():
                raise FileError(
                    folder, "", "is not a folder; get the data set ai-habitat/OVMM_objects"
                )
        self._folders = tuple(folders)

    @cached_property
    def _configs(self) -> dict[str, Path]:
        found: dict[str, Path] = {}
        for folder in self._folders:
            for path in sorted(folder.rglob(f"*{_ENDING}")):
                found.setdefault(path.name.removesuffix(_ENDING), path)
        return found

    @property
    def names(self) -> tuple[str, ...]:
        """All models, sorted by folder and file."""
        return tuple(self._configs)

    def mesh_of(self, model: str) -> MovableMesh | None:
        """The mesh of a model; None for an unknown one.

        Raises:
            FileError: if its files are invalid.
        """
        config = self._configs.get(model)
        if config is None:
            return None
        named = Template(model, config)
        template = read_object(named)
        file = mesh_file(named, template)
        bounds = bounds_of(file)
        turn = TO_OURS @ template.sizes(np.ones(3)) @ template.turn_of_mesh()
        corners = box_corners(bounds.low, bounds.high) @ turn.T
        return MovableMesh(file, turn, corners.min(axis=0), corners.max(axis=0))

    def size_of(self, model: str) -> Vec3 | None:
        """The extent of a model along its own axes, upright; None for an unknown model.

        Raises:
            FileError: if its files are invalid.
        """
        mesh = self.mesh_of(model)
        if mesh is None:
            return None
        extent = mesh.high_m - mesh.low_m
        x, y, z = (round(max(float(value), _MIN_SIZE_M), 4) for value in extent)
        return (x, y, z)
