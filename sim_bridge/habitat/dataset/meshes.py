"""Shapes as coloured triangles, as in MuJoCo, and as GLB files in Habitat's axes."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from planner.world.errors import PlannerError
from planner.world.files import replacing
from planner.world.geometry import FloatArray, Vec3
from planner.world.shapes import Axis, Part, Shape, SolidPart, solids

# Our axes and Habitat's: z is up in ours, y in Habitat's.
#
# A point (x, y, z) of `map` is (x, z, -y) in Habitat; a rotation about our z is the same rotation
# about Habitat's y. The same applies to the frame of every body and mesh.

Wxyz = tuple[float, float, float, float]


def to_habitat(point_m: Vec3) -> Vec3:
    """A point or direction of ours in Habitat's axes."""
    x, y, z = point_m
    return (x, z, -y)


def points_to_habitat(points_m: FloatArray) -> FloatArray:
    """(n, 3) points of ours in Habitat's axes."""
    turned: FloatArray = points_m[:, [0, 2, 1]] * (1.0, 1.0, -1.0)
    return turned


def yaw_to_habitat(yaw_rad: float) -> Wxyz:
    """A rotation about our z as Habitat's quaternion (w, x, y, z)."""
    return (math.cos(yaw_rad / 2), 0.0, math.sin(yaw_rad / 2), 0.0)


# Primitive shapes as triangles, tessellated exactly as in MuJoCo.
#
# Round shapes get as many faces as in the embedded simulator's renderer (14 slices, three stacks
# per hemisphere), so that outlines fall on the same pixels.

SLICES = 14
STACKS = 3
# A capsule as long as it is wide has no cylinder; MuJoCo requires one all the same.
_MIN_HALF_LENGTH_M = 1e-4


@dataclass(frozen=True, slots=True)
class Triangles:
    """(n, 3) corners in metres, (n, 3) unit normals, (m, 3) indices, counter-clockwise outside."""

    corners: FloatArray
    normals: FloatArray
    faces: NDArray[np.int64]

    def shifted(self, offset_m: Vec3) -> Triangles:
        """A copy, translated."""
        return Triangles(self.corners + offset_m, self.normals, self.faces)

    def turned(self, yaw_rad: float) -> Triangles:
        """A copy, rotated about z."""
        c, s = math.cos(yaw_rad), math.sin(yaw_rad)
        return self.rotated(np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]]))

    def rotated(self, rotation: FloatArray) -> Triangles:
        """A copy, rotated by a (3, 3) matrix."""
        return Triangles(self.corners @ rotation.T, self.normals @ rotation.T, self.faces)


def part_triangles(part: Part) -> Triangles:
    """A part in metres, in its owner's frame."""
    return _together([_solid_triangles(solid) for solid in solids(part)])


def _solid_triangles(solid: SolidPart) -> Triangles:
    part = solid.part
    half = (part.size[0] / 2, part.size[1] / 2, part.size[2] / 2)
    return _SHAPES[part.shape](part, half).turned(solid.yaw_rad).shifted(part.center)


def _together(pieces: Sequence[Triangles]) -> Triangles:
    if len(pieces) == 1:
        return pieces[0]
    firsts = np.cumsum([0, *(len(piece.corners) for piece in pieces[:-1])])
    return Triangles(
        np.concatenate([piece.corners for piece in pieces]),
        np.concatenate([piece.normals for piece in pieces]),
        np.concatenate([p.faces + first for p, first in zip(pieces, firsts, strict=True)]),
    )


def box_triangles(half_m: Vec3) -> Triangles:
    """A box around the origin; each side has its own vertices, so that edges stay sharp."""
    corners: list[FloatArray] = []
    normals: list[FloatArray] = []
    faces: list[tuple[int, int, int]] = []
    for axis in range(3):
        u, v = (axis + 1) % 3, (axis + 2) % 3
        for sign in (1.0, -1.0):
            normal = np.zeros(3)
            normal[axis] = sign
            first = len(corners)
            for a, b in ((-1, -1), (1, -1), (1, 1), (-1, 1)):
                corner = np.zeros(3)
                corner[axis] = sign * half_m[axis]
                corner[u], corner[v] = a * half_m[u] * sign, b * half_m[v]
                corners.append(corner)
                normals.append(normal)
            faces += [(first, first + 1, first + 2), (first, first + 2, first + 3)]
    return Triangles(np.array(corners), np.array(normals), np.array(faces))


def _box(_: Part, half: Vec3) -> Triangles:
    return box_triangles(half)


def _ellipsoid(_: Part, half: Vec3) -> Triangles:
    return _scaled(_round(0.0), half)


def _sphere(_: Part, half: Vec3) -> Triangles:
    return _scaled(_round(0.0), (min(half),) * 3)


def _cylinder(part: Part, half: Vec3) -> Triangles:
    along, across = _along_and_across(part.axis, half)
    along = max(along, _MIN_HALF_LENGTH_M)
    return _scaled(_tube(), (across, across, along)).rotated(_LAY[part.axis])


def _capsule(part: Part, half: Vec3) -> Triangles:
    along, across = _along_and_across(part.axis, half)
    straight = max(along - across, _MIN_HALF_LENGTH_M)
    return _scaled(_round(straight / across), (across,) * 3).rotated(_LAY[part.axis])


_SHAPES: Mapping[Shape, Callable[[Part, Vec3], Triangles]] = {
    Shape.BOX: _box,
    Shape.ELLIPSOID: _ellipsoid,
    Shape.SPHERE: _sphere,
    Shape.CYLINDER: _cylinder,
    Shape.CAPSULE: _capsule,
}
# Rotations from z to each axis; the position of the first slice is MuJoCo's too.
_LAY: Mapping[Axis, FloatArray] = {
    Axis.X: np.array([[0.0, 0.0, 1.0], [0.0, 1.0, 0.0], [-1.0, 0.0, 0.0]]),
    Axis.Y: np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, -1.0, 0.0]]),
    Axis.Z: np.eye(3),
}


def _along_and_across(axis: Axis, half: Vec3) -> tuple[float, float]:
    index = "xyz".index(axis)
    return half[index], min(extent for i, extent in enumerate(half) if i != index)


def _scaled(shape: Triangles, by: Vec3) -> Triangles:
    normals = shape.normals / by
    return Triangles(
        shape.corners * by, normals / np.linalg.norm(normals, axis=1, keepdims=True), shape.faces
    )


def _ring(radius: float, z: float) -> list[Vec3]:
    turns = [2 * math.pi * k / SLICES for k in range(SLICES)]
    return [(radius * math.cos(turn), radius * math.sin(turn), z) for turn in turns]


def _band(below: int, above: int) -> list[tuple[int, int, int]]:
    """The side between two rings, given the indices of their first vertices."""
    faces = []
    for k in range(SLICES):
        n = (k + 1) % SLICES
        faces += [(below + k, below + n, above + n), (below + k, above + n, above + k)]
    return faces


def _round(straight: float) -> Triangles:
    """A unit sphere whose halves are moved `straight` up and down."""
    levels = [math.pi / 2 * k / STACKS for k in range(STACKS)]
    normals: list[Vec3] = [(0.0, 0.0, -1.0)]
    corners: list[Vec3] = [(0.0, 0.0, -1.0 - straight)]
    faces: list[tuple[int, int, int]] = []
    rings = [(-level, -straight) for level in reversed(levels)]
    # Without a cylinder both halves share the ring in the middle.
    rings += [(level, straight) for level in (levels if straight else levels[1:])]
    for level, shift in rings:
        ring = _ring(math.cos(level), math.sin(level))
        if len(corners) > 1:
            faces += _band(len(corners) - SLICES, len(corners))
        normals += ring
        corners += [(x, y, z + shift) for x, y, z in ring]
    last = len(corners)
    for k in range(SLICES):
        n = (k + 1) % SLICES
        faces += [(0, 1 + n, 1 + k), (last, last - SLICES + k, last - SLICES + n)]
    corners.append((0.0, 0.0, 1.0 + straight))
    normals.append((0.0, 0.0, 1.0))
    return Triangles(np.array(corners), np.array(normals), np.array(faces))


def _tube() -> Triangles:
    """A closed cylinder of radius 1 from z = -1 to z = 1."""
    corners = [*_ring(1.0, -1.0), *_ring(1.0, 1.0)]
    normals = [*_ring(1.0, 0.0), *_ring(1.0, 0.0)]
    faces = _band(0, SLICES)
    for z in (-1.0, 1.0):
        first = len(corners)
        corners += [(0.0, 0.0, z), *_ring(1.0, z)]
        normals += [(0.0, 0.0, z)] * (SLICES + 1)
        for k in range(SLICES):
            a, b = first + 1 + k, first + 1 + (k + 1) % SLICES
            faces.append((first, a, b) if z > 0 else (first, b, a))
    return Triangles(np.array(corners), np.array(normals), np.array(faces))


MISSING = (
    "writing meshes needs trimesh, which is not installed: "
    ".venv/bin/pip install -c constraints.txt -e '.[habitat]'"
)
_GLOSS = "KHR_materials_pbrSpecularGlossiness"
Rgb = tuple[float, float, float]


@dataclass(frozen=True, slots=True)
class Solid:
    """One convex body of one colour, in our axes."""

    triangles: Triangles
    rgb: Rgb


@dataclass(frozen=True, slots=True)
class MeshFiles:
    """Meshes for rendering, few, and for collisions, one per convex body; may be the same file."""

    drawn: Path
    touched: Path


def part_solids(parts: Iterable[Part], origin_m: Vec3 = (0.0, 0.0, 0.0)) -> list[Solid]:
    """Parts in metres, relative to a point of their owner's frame."""
    back = (-origin_m[0], -origin_m[1], -origin_m[2])
    return [Solid(part_triangles(part).shifted(back), part.rgb) for part in parts]


def write_meshes(solids: Sequence[Solid], stem: Path) -> MeshFiles:
    """Writes `stem.glb`, a mesh per colour, and if needed `stem.touch.glb`, one per solid.

    Raises:
        PlannerError: if trimesh is missing.
        FileError: if a file cannot be written.
    """
    drawn = stem.parent / f"{stem.name}.glb"
    merged = _by_colour(solids)
    write_glb(merged, drawn)
    if len(merged) == len(solids):
        return MeshFiles(drawn, drawn)
    touched = stem.parent / f"{stem.name}.touch.glb"
    write_glb(solids, touched)
    return MeshFiles(drawn, touched)


def write_glb(solids: Sequence[Solid], path: Path) -> None:
    """Writes one file, each solid with a mesh and node of its own, normals included.

    Raises:
        PlannerError: if trimesh is missing.
        FileError: if the file cannot be written.
    """
    try:
        import trimesh
        from trimesh.visual.material import PBRMaterial
    except ImportError:
        raise PlannerError(MISSING) from None
    scene = trimesh.Scene()
    for index, solid in enumerate(solids):
        material = PBRMaterial(
            name=f"colour_{index}",
            baseColorFactor=[*solid.rgb, 1.0],
            metallicFactor=0.0,
            roughnessFactor=1.0,
        )
        mesh = trimesh.Trimesh(
            vertices=points_to_habitat(solid.triangles.corners),
            faces=solid.triangles.faces,
            vertex_normals=points_to_habitat(solid.triangles.normals),
            visual=trimesh.visual.TextureVisuals(material=material),
            process=False,
        )
        scene.add_geometry(mesh, node_name=f"part_{index}", geom_name=f"part_{index}")
    content = scene.export(file_type="glb", include_normals=True, tree_postprocessor=_make_matt)
    write_file(path, content)


def _make_matt(tree: dict[str, Any]) -> None:
    """Removes highlights from each material.

    habitat-sim's Phong shader gives metallic-roughness materials white ones however rough they are.
    """
    for material in tree["materials"]:
        material["extensions"] = {
            _GLOSS: {
                "diffuseFactor": material["pbrMetallicRoughness"]["baseColorFactor"],
                "specularFactor": [0.0, 0.0, 0.0],
                "glossinessFactor": 0.0,
            }
        }
    tree["extensionsUsed"] = [_GLOSS]


def write_file(path: Path, content: bytes) -> None:
    """Writes a file atomically, with the folders that it needs.

    Raises:
        FileError: if it cannot be written.
    """
    with replacing(path, make_folder=True) as aside:
        aside.write_bytes(content)


def _by_colour(solids: Sequence[Solid]) -> list[Solid]:
    """The solids merged by colour, in the order of their first."""
    groups: dict[Rgb, list[Triangles]] = {}
    for solid in solids:
        groups.setdefault(solid.rgb, []).append(solid.triangles)
    return [Solid(_joined(group), rgb) for rgb, group in groups.items()]


def _joined(group: Sequence[Triangles]) -> Triangles:
    starts = np.cumsum([0, *(len(item.corners) for item in group[:-1])])
    return Triangles(
        np.concatenate([item.corners for item in group]),
        np.concatenate([item.normals for item in group]),
        np.concatenate([item.faces + at for item, at in zip(group, starts, strict=True)]),
    )
