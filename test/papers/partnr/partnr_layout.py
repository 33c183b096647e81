"""Small files in PARTNR's published layout, with content of our own."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

Document = dict[str, Any]

CUP, BOWL, BALL = "aa11_:0000", "bb22_:0000", "cc33_:0000"
TABLE, SHELVES, FRIDGE = "f001_:0000", "f002_:0000", "f003_:0000"


def at(x: float, y: float, z: float) -> list[list[float]]:
    """A pose in Habitat's axes, y up."""
    return [[1, 0, 0, x], [0, 1, 0, y], [0, 0, 1, z], [0, 0, 0, 1]]


def proposition(name: str, **args: object) -> Document:
    """As the dataset stores it."""
    return {"function_name": name, "args": {**args, "number": 1}}


def episode(number: int, scene: str = "102", **more: object) -> Document:
    """Cup and bowl from the kitchen table to the shelves, next to each other, then the ball."""
    document: Document = {
        "episode_id": str(number),
        "scene_id": scene,
        "scene_dataset_config": "data/hssd.json",
        "additional_obj_config_paths": ["data/objects"],
        "start_position": [0, 0, 0],
        "start_rotation": [0, 0, 0, 1],
        "targets": {},
        "markers": [],
        "ao_states": {FRIDGE: {"0": 0.9}},
        "rigid_objs": [
            ["aa11.object_config.json", at(1.0, 0.9, -2.0)],
            ["bb22.object_config.json", at(1.5, 0.9, -2.0)],
            ["cc33.object_config.json", at(4.0, 0.1, -3.0)],
            ["dd44.object_config.json", at(4.0, 0.5, -1.0)],
        ],
        "name_to_receptacle": {
            CUP: f"{TABLE}|receptacle_mesh",
            BOWL: f"{TABLE}|receptacle_mesh",
            BALL: "floor",
            "dd44_:0000": f"{SHELVES}|receptacle_mesh",
        },
        "object_states": {
            "is_clean": {CUP: False, BOWL: True, TABLE: False},
            "is_powered_on": {BALL: False},
        },
        "info": {
            "extra_info": {
                "initial_state": [
                    {
                        "number": 1,
                        "object_classes": ["cup"],
                        "furniture_names": ["table_0"],
                        "allowed_regions": ["kitchen_0"],
                    },
                    {
                        "number": 1,
                        "object_classes": ["bowl"],
                        "furniture_names": ["table_0"],
                        "allowed_regions": ["kitchen_0"],
                    },
                    {
                        "number": 1,
                        "object_classes": ["ball"],
                        "furniture_names": ["floor"],
                        "allowed_regions": ["bedroom_0"],
                    },
                    {"name": "common sense", "number": 1, "object_classes": []},
                ]
            }
        },
        "instruction": "Bring the cup and the bowl to the shelves, next to each other. "
        "Then put the ball into the fridge.",
        "evaluation_propositions": [
            proposition(
                "is_on_top",
                object_handles=[CUP],
                receptacle_handles=[SHELVES],
                is_same_receptacle=False,
            ),
            proposition("is_on_top", object_handles=[BOWL], receptacle_handles=[SHELVES]),
            proposition(
                "is_next_to", entity_handles_a=[CUP], entity_handles_b=[BOWL], l2_threshold=0.5
            ),
            proposition("is_inside", object_handles=[BALL], receptacle_handles=[FRIDGE]),
        ],
        "evaluation_proposition_dependencies": [
            {
                "proposition_indices": [2],
                "depends_on": [0, 1],
                "relation_type": "while_satisfied",
                "dependency_mode": "all",
            }
        ],
        "evaluation_constraints": [
            {
                "type": "TemporalConstraint",
                "args": {"dag_edges": [[0, 3], [1, 3], [2, 3]], "n_propositions": 4},
            },
            {
                "type": "SameArgConstraint",
                "args": {
                    "proposition_indices": [0, 1],
                    "arg_names": ["receptacle_handles", "receptacle_handles"],
                },
            },
            {
                "type": "TerminalSatisfactionConstraint",
                "args": {"proposition_indices": [0, 1, 2, 3], "n_propositions": 4},
            },
        ],
    }
    document.update(more)
    return document


METADATA: Document = {
    "object_to_handle": {"cup_0": CUP, "bowl_0": BOWL, "ball_0": BALL, "book_0": "dd44_:0000"},
    "recep_to_handle": {"table_0": TABLE, "shelves_4": SHELVES, "fridge_1": FRIDGE},
    "room_to_id": {"kitchen_0": "r_0", "living_room_0": "r_1", "bedroom_0": "r_2"},
    "recep_to_room": {
        "table_0": "kitchen_0",
        "shelves_4": "living_room_0",
        "fridge_1": "kitchen_0",
    },
    "instruction": "not read",
}


def write(folder: Path, episodes: list[Any], name: str = "val.json.gz") -> Path:
    """A dataset file."""
    path = folder / name
    text = json.dumps({"config": None, "episodes": episodes})
    if path.suffix == ".gz":
        path.write_bytes(gzip.compress(text.encode()))
    else:
        path.write_text(text, encoding="utf-8")
    return path


def write_metadata(folder: Path, *numbers: int) -> Path:
    """The metadata of episodes."""
    place = folder / "metadata"
    place.mkdir(exist_ok=True)
    for number in numbers:
        (place / f"episode_{number}.json").write_text(json.dumps(METADATA), encoding="utf-8")
    return place
