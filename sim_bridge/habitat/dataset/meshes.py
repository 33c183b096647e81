"""Coloured triangles as GLB files in Habitat's axes, by trimesh."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from planner.world.errors import FileError, PlannerError
from planner.world.geometry import Vec3
from planner.world.shapes import Part
from sim_bridge.habitat.dataset.axes import points_to_habitat
from sim_bridge.habitat.dataset.triangles import Triangles, part_triangles

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
    temporary = path.with_name(f"{path.name}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary.write_bytes(content)
        temporary.replace(path)
    except OSError as error:
        raise FileError(path, "", f"cannot be written: {error.strerror}") from None


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
