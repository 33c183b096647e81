"""Reads the extents of a GLB file's meshes, and their triangles unless compressed.

Only the glTF structure is read, no textures: boxes come from the bounds that every position
accessor must state, even if the mesh itself is compressed.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from planner.houses.hssd.files import Lenient, refuse_pointer
from planner.houses.hssd.transforms import Number3, Wxyz, box_corners, matrix_of
from planner.world.errors import FileError
from planner.world.files import parse_json, parse_model, read_bytes
from planner.world.geometry import FloatArray

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
