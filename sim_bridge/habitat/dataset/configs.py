"""The JSON files of a Habitat scene dataset (habitat-sim's docs/pages/attributesJSON.rst)."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from pathlib import Path

from planner.world.geometry import Vec3
from planner.world.house import Furniture, Interior, Joint, Room, Surface
from sim_bridge.habitat.dataset.axes import to_habitat, yaw_to_habitat
from sim_bridge.habitat.dataset.meshes import MeshFiles
from sim_bridge.habitat.dataset.records import link_name
from sim_bridge.habitat.dataset.urdf import BASE, joint_origin

Document = dict[str, object]

# Folders of each kind of file; habitat-sim finds them through the dataset's configuration.
STAGES, OBJECTS, ARTICULATED, SCENES, REGIONS, LIGHTS = (
    "stages",
    "objects",
    "urdf",
    "scenes",
    "semantics/scenes",
    "lighting",
)
_CAMERA_LIGHTS = 3
# Height up to which something is on a surface; habitat-lab draws samples from this box.
_SURFACE_HALF_HEIGHT_M = 0.005


def json_bytes(document: object) -> bytes:
    """A file's content."""
    return (json.dumps(document, indent=1) + "\n").encode()


def dataset_config() -> Document:
    """`*.scene_dataset_config.json`: the paths of all others."""
    return {
        "stages": {"paths": {".json": [STAGES]}},
        "objects": {"paths": {".json": [OBJECTS]}},
        "articulated_objects": {"paths": {".json": [f"{ARTICULATED}/*"]}},
        "light_setups": {"paths": {".json": [LIGHTS]}},
        "scene_instances": {"paths": {".json": [SCENES]}},
        "semantic_scene_descriptor_instances": {"paths": {".json": [REGIONS]}},
    }


def stage_config(meshes: MeshFiles) -> Document:
    """`*.stage_config.json` of meshes beside it."""
    return {
        "render_asset": meshes.drawn.name,
        "collision_asset": meshes.touched.name,
        **_UPRIGHT,
        "margin": 0.0,
        "is_collidable": True,
    }


def object_config(
    meshes: MeshFiles, folder: Path, semantic_id: int, user_defined: Document
) -> Document:
    """`*.object_config.json` in `folder` for a body with its origin as in ours."""
    return {
        "render_asset": _from(folder, meshes.drawn),
        "collision_asset": _from(folder, meshes.touched),
        **_UPRIGHT,
        "COM": [0.0, 0.0, 0.0],
        "margin": 0.0,
        "mass": 1.0,
        "use_bounding_box_for_collision": False,
        "join_collision_meshes": False,
        "is_collidable": True,
        "semantic_id": semantic_id,
        "user_defined": user_defined,
    }


def articulated_config(urdf: Path, semantic_id: int, user_defined: Document) -> Document:
    """`*.ao_config.json` of a URDF beside it."""
    return {
        "urdf_filepath": urdf.name,
        "base_type": "fixed",
        "inertia_source": "urdf",
        "link_order": "urdf_order",
        "render_mode": "link_visuals",
        "semantic_id": semantic_id,
        "user_defined": user_defined,
    }


def furniture_notes(piece: Furniture) -> Document:
    """Additional fields of a configuration: the name, class and receptacles.

    Receptacles are habitat-lab's boxes (half extents, in the link's frame): flat for a surface, the
    whole hollow for an interior.
    """
    notes: Document = {"name": piece.name, "class": piece.class_name}
    joints = {joint.name: joint for joint in piece.joints}
    for surface in piece.surfaces:
        notes[f"receptacle_aabb_{surface.name}"] = _receptacle(surface, None, bool(joints))
    for interior in piece.interiors:
        mover = joints[interior.joint] if interior.moves and interior.joint is not None else None
        notes[f"receptacle_aabb_{interior.name}"] = _receptacle(interior, mover, bool(joints))
    return notes


def _receptacle(place: Surface | Interior, mover: Joint | None, articulated: bool) -> Document:
    center = place.center
    if mover is not None:
        ox, oy, oz = joint_origin(mover)
        center = (center[0] - ox, center[1] - oy, center[2] - oz)
    if isinstance(place, Interior):
        half = (place.size[0] / 2, place.size[2] / 2, place.size[1] / 2)
    else:
        half = (place.size[0] / 2, _SURFACE_HALF_HEIGHT_M, place.size[1] / 2)
    link: Document = {}
    if articulated:
        link = {"parent_link": BASE if mover is None else link_name(mover.name)}
    return {
        "name": f"receptacle_aabb_{place.name}",
        "position": _rounded(to_habitat(center)),
        "scale": _rounded(half),
        "up": [0.0, 1.0, 0.0],
        **link,
    }


def instance(template: str, position_m: Vec3, yaw_rad: float, *, fixed: bool) -> Document:
    """An entry of a scene: a template at a pose; `fixed` bodies are part of the navmesh."""
    return {
        "template_name": template,
        "translation_origin": "asset_local",
        "translation": _rounded(to_habitat(position_m)),
        "rotation": [round(value, 9) for value in yaw_to_habitat(yaw_rad)],
        "motion_type": "STATIC" if fixed else "KINEMATIC",
    }


def articulated_instance(template: str, position_m: Vec3, yaw_rad: float) -> Document:
    """The same for articulated objects."""
    entry = instance(template, position_m, yaw_rad, fixed=False)
    return {**entry, "fixed_base": True, "auto_clamp_joint_limits": True}


def lighting_config() -> Document:
    """`*.lighting_config.json`: close to our lighting, with Phong shading and no ambient light.

    Three lights that move with the camera stand for ambient light; the fourth is the embedded
    simulator's sun.
    """
    turns = [0.5 + 2 * math.pi * k / _CAMERA_LIGHTS for k in range(_CAMERA_LIGHTS)]
    lights: dict[str, object] = {
        f"camera_{k}": _light((0.9165 * math.cos(t), 0.9165 * math.sin(t), -0.4), 0.5, "camera")
        for k, t in enumerate(turns)
    }
    return {"lights": {**lights, "sun": _light((0.35, -0.8, -0.5), 0.4, "global")}}


def _light(direction: Vec3, intensity: float, frame: str) -> Document:
    return {
        "type": "directional",
        "direction": _rounded(direction),
        "color": [1.0, 1.0, 1.0],
        "intensity": intensity,
        "position_model": frame,
    }


def scene_config(
    stage: str,
    regions: str,
    lights: str,
    bodies: Iterable[Document],
    articulated: Iterable[Document],
) -> Document:
    """`*.scene_instance.json`: a stage, its rooms, and the bodies in it."""
    return {
        "translation_origin": "asset_local",
        "stage_instance": {"template_name": stage},
        "default_lighting": lights,
        "object_instances": list(bodies),
        "articulated_object_instances": list(articulated),
        "semantic_scene_instance": regions,
    }


def regions_config(rooms: Iterable[Room]) -> Document:
    """`*.semantic_config.json`: the rooms as upright prisms."""
    return {"region_annotations": [_region(room) for room in rooms]}


def _region(room: Room) -> Document:
    x0, y0, x1, y1 = room.shape.bounds
    return {
        "name": room.name,
        "label": room.class_name,
        "poly_loop": [_rounded(to_habitat((x, y, 0.0))) for x, y in room.polygon_m],
        "floor_height": 0.0,
        "extrusion_height": room.height_m,
        "min_bounds": _rounded((x0, 0.0, -y1)),
        "max_bounds": _rounded((x1, room.height_m, -y0)),
    }


_UPRIGHT: Mapping[str, object] = {
    "up": [0.0, 1.0, 0.0],
    "front": [0.0, 0.0, -1.0],
    "units_to_meters": 1.0,
    "force_flat_shading": False,
    "shader_type": "phong",
}


def _rounded(values: Iterable[float]) -> list[float]:
    return [round(value, 6) + 0.0 for value in values]


def _from(folder: Path, path: Path) -> str:
    return path.name if path.parent == folder else f"../{path.parent.name}/{path.name}"
