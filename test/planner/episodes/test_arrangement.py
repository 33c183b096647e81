"""Goals whose things have no room where they are to go are refused."""

from __future__ import annotations

from typing import Any

from planner.episodes.arrangement import why_unplaceable
from planner.skills.ground import to_map
from planner.world.catalogue import default_catalogue
from planner.world.episode import Episode
from planner.world.house_checks import load_house

HOUSE = load_house("heldout_1")


def _goal(place: str) -> dict[str, Any]:
    pieces = [piece.name for piece in HOUSE.furniture if piece.class_name == place]
    return {
        "propositions": [
            {
                "function_name": "is_on_top",
                "args": {"objects": ["lamp_0"], "receptacles": pieces, "number": 1},
            }
        ],
        "dependencies": [],
        "constraints": [],
    }


def test_a_thing_has_room_at_one_of_several_places_or_at_none() -> None:
    piece = next(p for p in HOUSE.furniture if p.class_name == "counter")
    lamp = {
        "name": "lamp_0",
        "class_name": "lamp",
        "size_m": default_catalogue().objects["lamp"].size_m,
        "pose": (*to_map(piece, piece.surfaces[0].center), 0.0),
        "parent": piece.name,
        "relation": "on",
        "part": piece.surfaces[0].name,
    }
    episode = Episode.model_validate(
        {
            "version": 1,
            "episode_id": "lamp",
            "house": HOUSE.name,
            "instruction": "Set the lamp on one of them.",
            "agents": [{"uid": "agent_0", "kind": "robot"}],
            "objects": [lamp],
        }
    )
    assert why_unplaceable(episode, HOUSE, _goal("nightstand")) == ""
    assert why_unplaceable(episode, HOUSE, _goal("toilet")) == (
        "lamp_0 has no room on toilet_0 or one like it"
    )
