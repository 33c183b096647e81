"""Meshes of other data sets and of bodies' URDF, in the frame of our things."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as ET

import numpy as np

from planner.world.errors import FileError, PlannerError
from planner.world.files import parse_json, read_bytes
from planner.world.geometry import FloatArray
from planner.world.house import ObjectPlacement
from sim_bridge.habitat.dataset.meshes import MISSING, points_to_habitat
from sim_bridge.habitat.options import BodyModel, ThingModel

if TYPE_CHECKING:
    from trimesh import Scene


_HEADER, _CHUNK = struct.Struct("<4sII"), struct.Struct("<I4s")


def thing_mesh(model: ThingModel, item: ObjectPlacement) -> bytes:
    """A GLB of a model with the size of a thing, whose underside's middle is the origin.

    Textures and compressed meshes stay as they are.

    Raises:
        FileError: if the file is no GLB, or needs files beside it.
    """
    stretch = np.array(model.stretch(item))
    turn = stretch[:, None] * np.array(model.turn)
    low, size = np.array(model.low_m), np.array(model.size_m)
    shift = -stretch * (low + size * (0.5, 0.5, 0.0))
    matrix = np.eye(4)
    matrix[:3, :3] = points_to_habitat(turn.T).T
    matrix[:3, 3] = points_to_habitat(shift[None])[0]
    return wrapped(Path(model.mesh), matrix)


def wrapped(path: Path, matrix: FloatArray) -> bytes:
    """The content of a GLB file, everything in it moved by a (4, 4) matrix in its own axes.

    Raises:
        FileError: if the file is no GLB, or needs files beside it.
    """
    tree, rest = _read(path)
    for kind in ("buffers", "images"):
        for number, entry in enumerate(tree.get(kind, [])):
            uri = entry.get("uri", "data:")
            if not uri.startswith("data:"):
                raise FileError(path, f"{kind}.{number}.uri", f"needs {uri!r} beside it")
    nodes, scenes = tree.setdefault("nodes", []), tree.get("scenes", [])
    if not nodes or not scenes:
        raise FileError(path, "scenes", "there are none")
    scene = scenes[tree.get("scene", 0)]
    nodes.append({"matrix": matrix.T.ravel().tolist(), "children": list(scene.get("nodes", []))})
    scene["nodes"] = [len(nodes) - 1]
    text = json.dumps(tree, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 4)
    chunk = _CHUNK.pack(len(text), b"JSON") + text
    return _HEADER.pack(b"glTF", 2, _HEADER.size + len(chunk) + len(rest)) + chunk + rest


def _read(path: Path) -> tuple[dict[str, Any], bytes]:
    try:
        content = read_bytes(path)
        magic, version, _ = _HEADER.unpack_from(content)
        length, kind = _CHUNK.unpack_from(content, _HEADER.size)
        start = _HEADER.size + _CHUNK.size
        if (magic, version, kind) != (b"glTF", 2, b"JSON") or start + length > len(content):
            raise FileError(path, "", "is no GLB file")
        tree = parse_json(content[start : start + length].decode("utf-8"), path)
    except (struct.error, ValueError):
        raise FileError(path, "", "is no GLB file") from None
    if not isinstance(tree, dict):
        raise FileError(path, "", "is no GLB file")
    return tree, content[start + length :]


# A body's URDF as one mesh: what its links show, at rest, standing on the floor.

# From a URDF's axes to Habitat's, in which our bodies look along x: z up and x ahead, or y up and
# z ahead.
_TO_HABITAT = {
    "z": np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, -1.0, 0.0]]),
    "y": np.array([[0.0, 0.0, 1.0], [0.0, 1.0, 0.0], [-1.0, 0.0, 0.0]]),
}


def body_mesh(model: BodyModel) -> bytes:
    """A GLB of all visual meshes of a URDF; its lowest point is at height 0.

    Textures that trimesh cannot read are lost.

    Raises:
        PlannerError: if trimesh is missing.
        FileError: if the URDF or a mesh cannot be read, or nothing is drawn.
    """
    try:
        import trimesh
    except ImportError:
        raise PlannerError(MISSING) from None
    path = Path(model.urdf)
    robot = _urdf_body_read(path)
    shown = trimesh.Scene()
    for link, place in _placed_links(robot, path).items():
        for number, visual in enumerate(link.findall("visual")):
            mesh = visual.find("geometry/mesh")
            if mesh is None:
                continue
            file = path.parent / mesh.get("filename", "").removeprefix("package://")
            at = place @ _frame(visual.find("origin"), path)
            at[:3, :3] = at[:3, :3] * _numbers(mesh, "scale", "1 1 1", path)
            _add(shown, file, at, f"{link.get('name')}_{number}")
    if not shown.geometry:
        raise FileError(path, "link.visual", "no link shows a mesh")
    turn = np.eye(4)
    turn[:3, :3] = _TO_HABITAT[model.up]
    shown.apply_transform(turn)
    lift = np.eye(4)
    lift[1, 3] = -float(shown.bounds[0][1])
    shown.apply_transform(lift)
    content: bytes = shown.export(file_type="glb")
    return content


def _add(shown: Scene, file: Path, at: FloatArray, name: str) -> None:
    import trimesh

    try:
        loaded: Any = trimesh.load(file, force="scene", process=False)
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise FileError(file, "", f"is not a mesh that can be read: {error}") from None
    for number, mesh in enumerate(loaded.dump()):
        mesh.apply_transform(at)
        shown.add_geometry(mesh, geom_name=f"{name}_{number}")


def _urdf_body_read(path: Path) -> ET.Element:
    try:
        content = read_bytes(path)
        if b"<!" in content.replace(b"<!--", b""):
            raise FileError(path, "", "is not a plain URDF")
        return ET.fromstring(content)  # noqa: S314 - no entities, see above
    except (ET.ParseError, RecursionError) as error:
        raise FileError(path, "", f"is not well formed: {error}") from None


def _placed_links(robot: ET.Element, path: Path) -> dict[ET.Element, FloatArray]:
    """Each link with its frame in that of the root."""
    links = {link.get("name", ""): link for link in robot.findall("link")}
    above: dict[str, ET.Element] = {}
    for joint in robot.findall("joint"):
        child = joint.find("child")
        above["" if child is None else child.get("link", "")] = joint

    def place(name: str, depth: int) -> FloatArray:
        joint = above.get(name)
        if joint is None:
            return np.eye(4)
        parent = joint.find("parent")
        if depth > len(above) or parent is None or parent.get("link", "") not in links:
            raise FileError(path, f"joint.{joint.get('name')}.parent", "leads to no root")
        return place(parent.get("link", ""), depth + 1) @ _joint_frame(joint, path)

    return {link: place(name, 0) for name, link in links.items()}


def _joint_frame(joint: ET.Element, path: Path) -> FloatArray:
    """Its frame, with the position that is nearest to 0."""
    from scipy.spatial.transform import Rotation

    frame, limit = _frame(joint.find("origin"), path), joint.find("limit")
    kind = joint.get("type")
    if limit is None or kind not in ("revolute", "prismatic"):
        return frame
    low, high = (_numbers(limit, name, "0", path, 1)[0] for name in ("lower", "upper"))
    at = min(max(0.0, low), high)
    axis = joint.find("axis")
    along = np.array([1.0, 0.0, 0.0]) if axis is None else _numbers(axis, "xyz", "1 0 0", path)
    moved = np.eye(4)
    if kind == "prismatic":
        moved[:3, 3] = along * at
    else:
        moved[:3, :3] = Rotation.from_rotvec(along * at).as_matrix()
    return frame @ moved


def _frame(origin: ET.Element | None, path: Path) -> FloatArray:
    from scipy.spatial.transform import Rotation

    frame = np.eye(4)
    if origin is not None:
        turn = Rotation.from_euler("xyz", _numbers(origin, "rpy", "0 0 0", path))
        frame[:3, :3] = turn.as_matrix()
        frame[:3, 3] = _numbers(origin, "xyz", "0 0 0", path)
    return frame


def _numbers(
    element: ET.Element, name: str, default: str, path: Path, count: int = 3
) -> FloatArray:
    words = element.get(name, default).split()
    try:
        found = np.array([float(word) for word in words])
    except ValueError:
        found = np.empty(0)
    if found.shape != (count,) or not np.isfinite(found).all():
        raise FileError(path, f"{element.tag}.{name}", f"expected {count} numbers, got {words}")
    return found
