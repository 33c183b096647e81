"""A scene dataset read back the way habitat-sim reads it, by other code than the writer's."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import numpy as np
import trimesh
from numpy.typing import NDArray

Matrix = NDArray[np.float64]
UP = np.array([[1.0, 0, 0, 0], [0, 0, -1.0, 0], [0, 1.0, 0, 0], [0, 0, 0, 1.0]])
"""Habitat's axes to ours."""


@dataclass(frozen=True)
class Body:
    """A mesh in `map`, and the semantic id that it is drawn with."""

    semantic_id: int
    corners: Matrix
    faces: NDArray[np.int64]


def read_scene(directory: Path, scene: str, *, opened: bool = False) -> list[Body]:
    """Everything that a scene shows, with what opens closed or wide open."""
    document = read(directory / scene)
    stage = directory / document["stage_instance"]["template_name"]
    at = UP @ _place({"rotation": [1, 0, 0, 0], **document["stage_instance"]})
    bodies = list(_bodies(stage.parent / read(stage)["render_asset"], at, 0))
    for entry in document["object_instances"]:
        bodies += object_bodies(directory / entry["template_name"], _place(entry))
    for entry in document["articulated_object_instances"]:
        config = directory / entry["template_name"]
        made = read(config)
        urdf = config.parent / made["urdf_filepath"]
        for mesh, transform in _links(urdf, opened=opened):
            bodies += _bodies(mesh, UP @ _place(entry) @ transform, made["semantic_id"])
    return bodies


def object_bodies(config: Path, place: Matrix) -> list[Body]:
    """What a rigid object shows that stands at `place`, in Habitat's axes."""
    made = read(config)
    at = UP @ place @ _frame(made)
    return list(_bodies(config.parent / made["render_asset"], at, made["semantic_id"]))


def read(path: Path) -> Any:
    return json.loads(path.read_text("utf-8"))


def _bodies(path: Path, transform: Matrix, semantic_id: int) -> Iterator[Body]:
    for mesh in trimesh.load(path, force="scene", process=False).geometry.values():
        corners = mesh.vertices @ transform[:3, :3].T + transform[:3, 3]
        yield Body(semantic_id, np.asarray(corners), np.asarray(mesh.faces))


def _frame(config: dict[str, Any]) -> Matrix:
    """Brings a mesh's up to y and its front to -z."""
    up, front = np.array(config.get("up", [0, 1, 0])), np.array(config.get("front", [0, 0, -1]))
    frame = np.eye(4)
    frame[:3, :3] = np.stack([np.cross(front, up), up, -front])
    return frame


def _place(entry: dict[str, Any]) -> Matrix:
    place = trimesh.transformations.quaternion_matrix(entry["rotation"])
    place[:3, 3] = entry.get("translation", (0, 0, 0))
    return np.asarray(place)


def _links(urdf: Path, *, opened: bool) -> Iterator[tuple[Path, Matrix]]:
    """The mesh of each link and where it is in the base's frame."""
    robot = ET.parse(urdf).getroot()  # noqa: S314 - written by this test
    moved: dict[str, Matrix] = {}
    for joint in robot.iter("joint"):
        frame = np.eye(4)
        frame[:3, 3] = _numbers(joint.find("origin"), "xyz")
        axis = _numbers(joint.find("axis"), "xyz")
        limit = joint.find("limit")
        assert limit is not None
        low, high = (float(limit.get(name, "nan")) for name in ("lower", "upper"))
        travel = high if opened else low
        if joint.get("type") == "prismatic":
            motion = trimesh.transformations.translation_matrix(axis * travel)
        else:
            motion = trimesh.transformations.rotation_matrix(travel, axis)
        child = joint.find("child")
        assert child is not None
        moved[child.get("link", "")] = frame @ motion
    for link in robot.iter("link"):
        for mesh in link.findall("visual/geometry/mesh"):
            yield urdf.parent / mesh.get("filename", ""), moved.get(link.get("name", ""), np.eye(4))


def _numbers(element: ET.Element | None, name: str) -> Matrix:
    assert element is not None
    return np.array([float(word) for word in element.get(name, "").split()])
