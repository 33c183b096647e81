"""A small trace."""

from __future__ import annotations

from planner.training.traces.record import Trace
from planner.world.skill import SUCCESS_TEXT


def make(number: int = 0, **changed: object) -> Trace:
    document: dict[str, object] = {
        "instruction": "Bring the cup to the table.",
        "agent": "agent_0",
        "team": ["agent_0"],
        "verbs": ["Navigate", "Pick", "Place", "Done"],
        "entities": ["Object.100: table in kitchen_0"],
        "positions_m": {100: (1.0, 2.0)},
        "turns": [
            {
                "call": "ExploreFurniture[Object.100]",
                "result": SUCCESS_TEXT,
                "deltas": ["Add Object.101: cup with the Object.100"],
                "learned": False,
            },
            {"call": "Pick[Object.101]", "result": "Unexpected failure! - Too far.", "gain": 0.0},
            {"call": "Done[]"},
        ],
        "reward": 1,
        "percent_complete": 1.0,
        "provenance": {
            "source": "expert",
            "run": f"run-{number}",
            "episode_id": "cup",
            "house": "train_0",
        },
        **changed,
    }
    return Trace.model_validate(document)
