"""A small scene in the layout of hssd-hab's branch partnr, with content of our own.

The kitchen and living room of `small_house`: its bodies are models with hashes for names, turned
and named as the data set does it, and the receptacles are meshes beside them.
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np

from planner.world.catalogue import default_catalogue
from planner.world.house import Furniture, House, Surface
from sim_bridge.geometry import structure_slabs
from sim_bridge.habitat.dataset.configs import BASE, urdf_text
from sim_bridge.habitat.dataset.meshes import (
    Solid,
    box_triangles,
    part_solids,
    to_habitat,
    write_glb,
)
from sim_bridge.habitat.dataset.writer import _link_meshes, _slab_solid

SCENE = "102000001"
# Models by the piece that each is made of; handles, and with them numbers, go by these names.
MODELS = {
    "table_0": "2b" * 20,
    "table_1": "1a" * 20,
    "sink_0": "3c" * 20,
    "couch_0": "4d" * 20,
    "cabinet_0": "5e" * 20,
    "chest_of_drawers_0": "6f" * 20,
}
CATEGORIES = {"table_1": "table", "couch_0": "couch", "chest_of_drawers_0": "chest_of_drawers"}
CUP_MODEL, STAND_MODEL, PLANT_MODEL = "c0" * 20, "7a" * 20, "8b" * 20
FLOOR_M = 0.15
"""The floor's height in Habitat's world."""


def handle(piece: str) -> str:
    """habitat-sim's name of the first body of a model."""
    return f"{MODELS[piece]}_:0000"


def write_json(path: Path, document: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(document), encoding="utf-8")


def write_hssd(folder: Path, house: House) -> Path:
    """The data set with its one scene."""
    write_json(
        folder / "hssd-hab-partnr.scene_dataset_config.json",
        {
            "stages": {"paths": {".json": ["stages"]}, "default_attributes": {}},
            "objects": {"paths": {".json": ["objects/*", "objects/decomposed/*"]}},
            "articulated_objects": {"paths": {".json": ["urdf/*"]}},
            "scene_instances": {
                "default_attributes": {
                    "semantic_scene_instance": "%%CONFIG_NAME_AS_ASSET_FILENAME%%"
                },
                "paths": {".json": ["scenes-partnr-filtered"]},
            },
            "semantic_scene_descriptor_instances": {"paths": {".json": ["semantics/scenes"]}},
        },
    )
    slabs = [_slab_solid(slab) for slab in structure_slabs(house, default_catalogue())]
    (folder / "stages").mkdir()
    write_glb(slabs, folder / "stages" / f"{SCENE}.glb")
    write_json(folder / "stages" / f"{SCENE}.stage_config.json", {"render_asset": f"{SCENE}.glb"})
    rigid = [_rigid(folder, piece) for piece in house.furniture if not piece.joints]
    opening = [_articulated(folder, piece) for piece in house.furniture if piece.joints]
    rigid += [_odd(folder, STAND_MODEL, (1.0, 3.0), "stand"), _odd(folder, PLANT_MODEL, (1, 3), "")]
    write_json(
        folder / "scenes-partnr-filtered" / f"{SCENE}.scene_instance.json",
        {
            "translation_origin": "asset_local",
            "stage_instance": {
                "template_name": f"stages/{SCENE}",
                "translation": [0.0, FLOOR_M, 0.0],
            },
            "object_instances": rigid,
            "articulated_object_instances": opening,
            "user_defined": {"scene_filter_file": f"scene_filter_files/{SCENE}.rec_filter.json"},
        },
    )
    hollows = [
        f"{handle(piece.name)}|receptacle_aabb_{hollow.name}"
        for piece in house.furniture
        for hollow in piece.interiors
        if piece.joints
    ]
    write_json(
        folder / "scene_filter_files" / f"{SCENE}.rec_filter.json",
        {
            "active": [],
            "manually_filtered": [f"{handle('couch_0')}|receptacle_mesh_out_of_reach"],
            "access_filtered": [],
            "stability_filtered": [],
            "height_filtered": [],
            "within_set": hollows,
        },
    )
    write_json(
        folder / "semantics/scenes" / f"{SCENE}.semantic_config.json",
        {"region_annotations": [_region(house, i) for i in range(len(house.rooms))]},
    )
    _tables(folder)
    return folder


def _region(house: House, index: int) -> dict[str, Any]:
    room = house.rooms[index]
    xs, zs = [x for x, _ in room.polygon_m], [-y for _, y in room.polygon_m]
    return {
        "name": f"region.{index}",
        "label": room.class_name.replace("_", " "),
        "poly_loop": [[x, FLOOR_M, -y] for x, y in room.polygon_m],
        "floor_height": FLOOR_M,
        "extrusion_height": room.height_m,
        "min_bounds": [min(xs), FLOOR_M, min(zs)],
        "max_bounds": [max(xs), FLOOR_M + room.height_m, max(zs)],
    }


def _tables(folder: Path) -> None:
    rows = [(MODELS[name], CATEGORIES.get(name, name.rpartition("_")[0])) for name in MODELS]
    rows.append((STAND_MODEL, "stand"))
    lines = ["id,name,main_category", *(f'{model},"a, b",{word}' for model, word in rows)]
    (folder / "metadata").mkdir()
    (folder / "metadata/fpmodels-with-decomposed.csv").write_text("\n".join(lines) + "\n")
    (folder / "metadata/object_categories_filtered.csv").write_text(
        f"id,clean_category\n{CUP_MODEL},cup\n"
    )


def _rotation(yaw_rad: float) -> list[float]:
    return [math.cos(yaw_rad / 2), 0.0, math.sin(yaw_rad / 2), 0.0]


def _rigid(folder: Path, piece: Furniture) -> dict[str, Any]:
    """Our meshes face x; told so, habitat-sim turns that to -z, which the scene turns back.

    Receptacles are in the turned frame, as habitat-lab reads them.
    """
    model = MODELS[piece.name]
    place = folder / "objects" / model[0]
    place.mkdir(parents=True, exist_ok=True)
    write_glb(part_solids(piece.parts), place / f"{model}.glb")
    notes: dict[str, Any] = {"unrelated": {"deep": [1, 2]}}
    for surface in piece.surfaces:
        write_glb([_sheet(surface)], place / f"{model}.{surface.name}.glb")
        notes[f"receptacle_mesh_{surface.name}"] = {
            "name": f"receptacle_mesh_{surface.name}",
            "position": [0, 0, 0],
            "scale": [1, 1, 1],
            "up": [0, 1, 0],
            "mesh_filepath": f"{model}.{surface.name}.glb",
        }
    if piece.name == "couch_0":
        notes["receptacle_aabb_out"] = {
            "name": "receptacle_mesh_out_of_reach",
            "position": [0, 2, 0],
            "scale": [0.2, 0.1, 0.2],
        }
    write_json(
        place / f"{model}.object_config.json",
        {
            "render_asset": f"{model}.glb",
            "up": [0, 1, 0],
            "front": [1, 0, 0],
            "user_defined": notes,
        },
    )
    return {
        "template_name": model,
        "translation": [piece.x_m, FLOOR_M, -piece.y_m],
        "rotation": _rotation(piece.yaw_rad - math.pi / 2),
        "non_uniform_scale": [1.0, 1.0, 1.0],
        "motion_type": "STATIC",
    }


def _sheet(surface: Surface) -> Solid:
    half = (surface.size[0] / 2, surface.size[1] / 2, 0.0005)
    x, y, z = surface.center
    sheet = box_triangles(half).shifted((x, y, z + 0.0005)).turned(math.pi / 2)
    return Solid(sheet, (1.0, 0.0, 1.0))


def _articulated(folder: Path, piece: Furniture) -> dict[str, Any]:
    model = MODELS[piece.name]
    place = folder / "urdf" / model
    place.mkdir(parents=True)
    (place / f"{model}.urdf").write_text(urdf_text(piece, _link_meshes(piece, place)))
    notes: dict[str, Any] = {"default_link": 0}
    for surface in piece.surfaces:
        notes[f"receptacle_aabb_{surface.name}"] = {
            "position": to_habitat(surface.center),
            "scale": [surface.size[0] / 2, 0.0, surface.size[1] / 2],
            "parent_link": BASE,
        }
    for hollow in piece.interiors:
        x, y, z = hollow.center
        low = (x, y, z - hollow.size[2] / 2)
        joint = piece.joint(hollow.joint) if hollow.joint and hollow.moves else None
        origin = joint.origin if joint is not None and joint.kind == "hinge" else (0, 0, 0)
        notes[f"receptacle_aabb_{hollow.name}"] = {
            "position": to_habitat(tuple(np.subtract(low, origin))),
            "scale": [hollow.size[0] / 2, 0.0, hollow.size[1] / 2],
            "parent_link": BASE if joint is None else f"{joint.name}_link",
        }
    write_json(
        place / f"{model}.ao_config.json",
        {"urdf_filepath": f"{model}.urdf", "user_defined": notes, "render_mode": "default"},
    )
    return {
        "template_name": model,
        "translation_origin": "COM",
        "fixed_base": True,
        "translation": [piece.x_m, FLOOR_M, -piece.y_m],
        "rotation": _rotation(piece.yaw_rad),
        "uniform_scale": 1.0,
        "motion_type": "DYNAMIC",
    }


def _odd(folder: Path, model: str, at: tuple[float, float], word: str) -> dict[str, Any]:
    """A box of a class that we have not, or without a receptacle."""
    place = folder / "objects" / model[0]
    place.mkdir(parents=True, exist_ok=True)
    write_glb([Solid(box_triangles((0.1, 0.1, 0.1)), (0, 1, 0))], place / f"{model}.glb")
    note = {"position": [0, 0.1, 0], "scale": [0.1, 0, 0.1]}
    write_json(
        place / f"{model}.object_config.json",
        {
            "render_asset": f"{model}.glb",
            "user_defined": {"receptacle_aabb_top": note} if word else {},
        },
    )
    return {"template_name": model, "translation": [at[0], FLOOR_M + 0.1, -at[1]]}


def write_movables(folder: Path) -> Path:
    """The configurations of movable models: a cup of 0.1 x 0.1 x 0.12 m."""
    place = folder / "objects_ovmm/configs"
    place.mkdir(parents=True)
    write_glb([Solid(box_triangles((0.05, 0.05, 0.06)), (1, 1, 1))], place / f"{CUP_MODEL}.glb")
    write_json(place / f"{CUP_MODEL}.object_config.json", {"render_asset": f"{CUP_MODEL}.glb"})
    return folder / "objects_ovmm"


def top_height(piece: Furniture) -> float:
    return max(surface.center[2] for surface in piece.surfaces)


def episode(house: House) -> dict[str, Any]:
    """The cup on the kitchen's table is to go onto the couch; the chest stands open."""
    table = house.furniture_by_name["table_0"]
    height = FLOOR_M + top_height(table) + 0.06
    where = [[1, 0, 0, table.x_m], [0, 1, 0, height], [0, 0, 1, -table.y_m], [0, 0, 0, 1]]
    cup, couch = f"{CUP_MODEL}_:0000", handle("couch_0")
    proposition = {
        "function_name": "is_on_top",
        "args": {"object_handles": [cup], "receptacle_handles": [couch], "number": 1},
    }
    in_room = {
        "function_name": "is_in_room",
        "args": {"object_handles": [cup], "room_ids": ["region.1"], "number": 1},
    }
    return {
        "episode_id": "0",
        "scene_id": SCENE,
        "scene_dataset_config": "data/hssd-hab/hssd-hab-partnr.scene_dataset_config.json",
        "additional_obj_config_paths": ["data/objects_ovmm"],
        "rigid_objs": [[f"{CUP_MODEL}.object_config.json", where]],
        "name_to_receptacle": {
            cup: f"{handle('table_0')}|receptacle_mesh_{table.surfaces[0].name}.0000"
        },
        "ao_states": {handle("chest_of_drawers_0"): {"0": 0.3}},
        "object_states": {"is_clean": {cup: False}},
        "info": {"extra_info": {"initial_state": []}},
        "instruction": "Bring the cup to the couch.",
        "evaluation_propositions": [proposition, in_room],
        "evaluation_proposition_dependencies": [],
        "evaluation_constraints": [
            {
                "type": "TerminalSatisfactionConstraint",
                "args": {"proposition_indices": [0, 1], "n_propositions": 2},
            }
        ],
    }
