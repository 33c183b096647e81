"""What descriptions are about while the robot learns more."""

from __future__ import annotations

from planner.grounding.scene import Scene, Thing, as_first_known
from planner.world.geometry import Box
from planner.world.vocabulary import EntityKind

_BOX = Box((0.0, 0.0, 0.0), (0.2, 0.2, 0.1))


def scene(class_name: str, parent: str) -> Scene:
    """A thing in the kitchen, and an agent."""
    things = [
        Thing("agent_0", EntityKind.AGENT, "robot", _BOX, room="kitchen_0"),
        Thing("folder_1", EntityKind.OBJECT, class_name, _BOX, room="kitchen_0", parent=parent),
    ]
    return Scene({thing.name: thing for thing in things})


def test_what_a_thing_is_may_be_found_out_while_it_is_held() -> None:
    """Where it was counts, and what it is taken for now."""
    kept = as_first_known(scene("folder", "table_0"), scene("plate", "agent_0")).things["folder_1"]
    assert (kept.class_name, kept.parent) == ("plate", "table_0")
