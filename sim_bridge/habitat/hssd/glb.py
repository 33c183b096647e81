"""GLB files' meshes and extents, and Habitat's frames of bodies and meshes in ours."""

from __future__ import annotations

import math
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import numpy as np
from numpy.typing import NDArray
from pydantic import AfterValidator, Field

from planner.world.errors import FileError
from planner.world.files import parse_json, parse_model, read_bytes
from planner.world.geometry import FloatArray
from sim_bridge.habitat.hssd.dataset import Lenient, refuse_pointer

# Conversion of Habitat's bodies to our frame: poses, scales, and mesh frames.

MAX_DISTANCE_M = 1000.0
_Number = Annotated[float, Field(ge=-MAX_DISTANCE_M, le=MAX_DISTANCE_M)]
Number3 = tuple[_Number, _Number, _Number]
_SMALLEST, _LARGEST = 1e-4, 1e4


def _nonzero(factor: float) -> float:
    if not _SMALLEST <= abs(factor) <= _LARGEST:
        raise ValueError(
            f"a scale of {factor:g}: expected a size from {_SMALLEST:g} to {_LARGEST:g}"
        )
    return factor


Length = Annotated[float, Field(ge=_SMALLEST, le=_LARGEST)]
Factor = Annotated[float, AfterValidator(_nonzero)]
"""A scale; a negative one mirrors."""
Size3 = tuple[Factor, Factor, Factor]
Wxyz = tuple[_Number, _Number, _Number, _Number]

TO_OURS = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, 1.0, 0.0]])
"""Rotates Habitat's axes, y up, into ours, z up: (x, y, z) to (x, -z, y)."""


class Placed(Lenient):
    """The pose of a body in a scene's entry."""

    template_name: Annotated[str, Field(min_length=1, max_length=300)]
    translation: Number3 = (0.0, 0.0, 0.0)
    rotation: Wxyz = (1.0, 0.0, 0.0, 0.0)
    translation_origin: str | None = None
    uniform_scale: Factor = 1.0
    non_uniform_scale: Size3 = (1.0, 1.0, 1.0)

    @property
    def name(self) -> str:
        """The template's own name, without folders and extensions."""
        return self.template_name.split("/")[-1].split(".")[0]

    def factors(self) -> FloatArray:
        """(3,) scale of the body relative to its template, along the mesh's axes."""
        return np.array(self.non_uniform_scale) * self.uniform_scale

    def turn(self) -> FloatArray:
        """(3, 3) rotation into Habitat's world."""
        return matrix_of(self.rotation)


class Oriented(Lenient):
    """The part of a template that defines its mesh's orientation in the body's frame."""

    up: Number3 = (0.0, 1.0, 0.0)
    front: Number3 = (0.0, 0.0, -1.0)
    scale: Size3 = (1.0, 1.0, 1.0)
    units_to_meters: Length = 1.0

    def sizes(self, factors: FloatArray) -> FloatArray:
        """(3, 3) that scales the rotated mesh and the data given in its frame."""
        return np.diag(factors * self.scale) * self.units_to_meters

    def turn_of_mesh(self) -> FloatArray:
        """(3, 3) that brings the mesh's up to y and then its front to -z, as habitat-sim does.

        It applies to the mesh alone, before scaling; receptacles are given in the rotated frame. A
        front opposite to -z is rotated about x, so such a mesh is upside down there, too.
        """
        up = np.array(self.up) / np.linalg.norm(self.up)
        front = np.array(self.front) / np.linalg.norm(self.front)
        first = _shortest_turn(np.array([0.0, 1.0, 0.0]), up)
        second = _shortest_turn(first @ np.array([0.0, 0.0, -1.0]), front)
        back: FloatArray = (second @ first).T
        return back


def _shortest_turn(one: FloatArray, other: FloatArray) -> FloatArray:
    """(3, 3) shortest rotation from one unit vector to another."""
    cosine = float(one @ other)
    axis = np.cross(one, other)
    if cosine < -1.0 + 1e-6:
        axis = np.cross([0.0, 1.0, 0.0], one)
        if not np.linalg.norm(axis) > 1e-3:
            axis = np.cross([1.0, 0.0, 0.0], one)
        x, y, z = axis / np.linalg.norm(axis)
        return matrix_of((0.0, x, y, z))
    half = math.sqrt((1.0 + cosine) * 2.0)
    x, y, z = axis / half
    return matrix_of((half / 2, x, y, z))


def matrix_of(rotation: Wxyz) -> FloatArray:
    """(3, 3) of a quaternion (w, x, y, z), which need not be of length 1."""
    w, x, y, z = np.array(rotation) / (math.hypot(*rotation) or 1.0)
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )


def box_corners(low: FloatArray, high: FloatArray) -> FloatArray:
    """(8, 3) corners of a box."""
    ends = np.stack([low, high])
    return np.array([[ends[i, 0], ends[j, 1], ends[k, 2]] for i in (0, 1) for j in (0, 1)
                     for k in (0, 1)])  # fmt: skip


_MAGIC, _JSON = 0x46546C67, 0x4E4F534A
_DEEPEST = 64
# The unit may be as small as hundredths of a metre.
_MAX_COORDINATE_M = 1e6
_INDEX_TYPES = {5121: np.uint8, 5123: np.uint16, 5125: np.uint32}
_FLOAT, _TRIANGLES = 5126, 4
_Index = Annotated[int, Field(ge=0)]


class _Accessor(Lenient):
    bufferView: _Index | None = None  # noqa: N815 - glTF's own names
    byteOffset: _Index = 0  # noqa: N815
    componentType: int  # noqa: N815
    count: _Index
    min: tuple[float, ...] = ()
    max: tuple[float, ...] = ()


class _View(Lenient):
    byteOffset: _Index = 0  # noqa: N815
    byteLength: _Index  # noqa: N815
    byteStride: _Index | None = None  # noqa: N815


class _Primitive(Lenient):
    attributes: dict[str, _Index]
    indices: _Index | None = None
    mode: int = _TRIANGLES
    extensions: dict[str, object] = Field(default_factory=dict)


class _Mesh(Lenient):
    primitives: tuple[_Primitive, ...]


class _Node(Lenient):
    mesh: _Index | None = None
    children: tuple[_Index, ...] = ()
    matrix: Annotated[tuple[float, ...], Field(min_length=16, max_length=16)] | None = None
    translation: Number3 = (0.0, 0.0, 0.0)
    rotation: Wxyz = (0.0, 0.0, 0.0, 1.0)
    scale: Number3 = (1.0, 1.0, 1.0)

    def transform(self) -> FloatArray:
        if self.matrix is not None:
            return np.array(self.matrix).reshape(4, 4).T
        x, y, z, w = self.rotation
        made = np.eye(4)
        made[:3, :3] = matrix_of((w, x, y, z)) * self.scale
        made[:3, 3] = self.translation
        return made


class _Scene(Lenient):
    nodes: tuple[_Index, ...] = ()


class _Gltf(Lenient):
    accessors: tuple[_Accessor, ...] = ()
    bufferViews: tuple[_View, ...] = ()  # noqa: N815
    meshes: tuple[_Mesh, ...] = ()
    nodes: tuple[_Node, ...] = ()
    scenes: tuple[_Scene, ...] = ()
    scene: _Index = 0


class NoGlbError(FileError):
    """A mesh in another format."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """A box in the file's axes, metres."""

    low: FloatArray
    high: FloatArray


def bounds_of(path: Path) -> Bounds:
    """The box around all meshes of a file.

    Raises:
        FileError: if it is not a GLB file, or has no mesh.
    """
    corners = np.concatenate(list(mesh_corners(path)) or [np.empty((0, 3))])
    if not len(corners):
        raise FileError(path, "meshes", "there are none")
    return Bounds(corners.min(axis=0), corners.max(axis=0))


def mesh_corners(path: Path) -> Iterator[FloatArray]:
    """(8, 3) corners of the box around each mesh, transformed by its nodes.

    Raises:
        FileError: if it is not a GLB file.
    """
    gltf, _ = _read(path)
    try:
        for primitive, transform in _drawn(gltf):
            accessor = gltf.accessors[primitive.attributes["POSITION"]]
            low, high = np.array(accessor.min), np.array(accessor.max)
            if low.shape != (3,) or high.shape != (3,):
                raise FileError(path, "accessors", "a position states no bounds")
            if max(np.abs(low).max(), np.abs(high).max()) > _MAX_COORDINATE_M:
                raise FileError(path, "accessors", "a position is beyond every house")
            yield _moved(box_corners(low, high), transform)
    except (IndexError, KeyError) as error:
        raise FileError(path, "meshes", f"names what is not there: {error}") from None


def triangles_of(path: Path) -> FloatArray | None:
    """(n, 3, 3) corners of all triangles; None if the meshes are compressed.

    Raises:
        FileError: if it is not a GLB file.
    """
    gltf, data = _read(path)
    found: list[FloatArray] = []
    try:
        for primitive, transform in _drawn(gltf):
            if primitive.mode != _TRIANGLES or primitive.extensions:
                return None
            positions = _floats(gltf, primitive.attributes["POSITION"], data)
            if positions is None:
                return None
            corners = _moved(positions, transform)
            if primitive.indices is not None:
                corners = corners[_integers(gltf, primitive.indices, data)]
            found.append(corners.reshape(-1, 3, 3))
    except (IndexError, KeyError, ValueError) as error:
        raise FileError(path, "meshes", f"cannot be read: {error}") from None
    return np.concatenate(found) if found else np.empty((0, 3, 3))


def _read(path: Path) -> tuple[_Gltf, bytes]:
    content = read_bytes(path)
    refuse_pointer(path, content)
    if len(content) < 20 or struct.unpack_from("<I", content)[0] != _MAGIC:
        raise NoGlbError(path, "", "is not a GLB file")
    length, kind = struct.unpack_from("<II", content, 12)
    if kind != _JSON or 20 + length > len(content):
        raise FileError(path, "", "is an incomplete GLB file")
    try:
        document = parse_json(content[20 : 20 + length].decode("utf-8"), path)
    except UnicodeDecodeError as error:
        raise FileError(path, "", f"is not well formed: {error}") from None
    return parse_model(document, _Gltf, path), content[28 + length :]


def _drawn(gltf: _Gltf) -> Iterator[tuple[_Primitive, FloatArray]]:
    """Every primitive with its node's transform into the file's axes."""
    roots = gltf.scenes[gltf.scene].nodes if gltf.scenes else tuple(range(len(gltf.nodes)))
    waiting = [(root, np.eye(4), 0) for root in roots]
    while waiting:
        index, above, depth = waiting.pop()
        if depth > _DEEPEST:
            raise IndexError("nodes within nodes without end")
        node = gltf.nodes[index]
        transform = above @ node.transform()
        if node.mesh is not None:
            for primitive in gltf.meshes[node.mesh].primitives:
                yield primitive, transform
        waiting += [(child, transform, depth + 1) for child in node.children]


def _moved(points: FloatArray, transform: FloatArray) -> FloatArray:
    moved: FloatArray = points @ transform[:3, :3].T + transform[:3, 3]
    return moved


def _floats(gltf: _Gltf, index: int, data: bytes) -> FloatArray | None:
    accessor = gltf.accessors[index]
    if accessor.bufferView is None or accessor.componentType != _FLOAT:
        return None
    view = gltf.bufferViews[accessor.bufferView]
    start, stride = view.byteOffset + accessor.byteOffset, view.byteStride or 12
    if start + (accessor.count - 1) * stride + 12 > len(data):
        raise ValueError("positions beyond the end of the file")
    whole = np.ndarray((accessor.count, 3), "<f4", data, start, (stride, 4))
    return whole.astype(np.float64)


def _integers(gltf: _Gltf, index: int, data: bytes) -> NDArray[np.int64]:
    accessor = gltf.accessors[index]
    view = gltf.bufferViews[accessor.bufferView or 0]
    kind = np.dtype(_INDEX_TYPES[accessor.componentType])
    start = view.byteOffset + accessor.byteOffset
    return np.frombuffer(data, kind, accessor.count, start).astype(np.int64)
