"""The perception tools: answers by rule, at once, in plain text."""

from __future__ import annotations

import pytest
from skill_world import World


@pytest.mark.parametrize(
    ("call", "answer"),
    [
        ("FindObjectTool[cup]", "cup_0 is on table_0 in kitchen_0"),
        ("FindObjectTool[the mugs, please]", "cup_0 is on table_0 in kitchen_0"),
        ("FindObjectTool[cup_0]", "cup_0 is on table_0 in kitchen_0"),
        ("FindObjectTool[dishes in the kitchen]", "cup_0 is on table_0 in kitchen_0"),
        (
            "FindObjectTool[things on table_0]",
            "cup_0 is on table_0 in kitchen_0\napple_0 is on table_0 in kitchen_0",
        ),
        ("FindObjectTool[books in the living room]", "book_0 is on table_1 in living_room_0"),
        ("FindObjectTool[books in the kitchen]", "No object found for: books in the kitchen"),
        ("FindObjectTool[empty cups]", "cup_0 is on table_0 in kitchen_0"),
        ("FindObjectTool[full cups]", "No object found for: full cups"),
        ("FindObjectTool[]", "No object found for: "),
        ("FindObjectTool[unicorn]", "No object found for: unicorn"),
        ("FindReceptacleTool[a table]", "table_0 in kitchen_0\ntable_1 in living_room_0"),
        ("FindReceptacleTool[sofa]", "couch_0 in living_room_0"),
        ("FindReceptacleTool[tables in the kitchen]", "table_0 in kitchen_0"),
        ("FindReceptacleTool[floor of the kitchen]", "floor_kitchen_0 in kitchen_0"),
        ("FindRoomTool[kitchen]", "kitchen_0"),
        ("FindRoomTool[the room with the couch]", "living_room_0"),
        ("FindRoomTool[all rooms]", "kitchen_0\nliving_room_0"),
        ("FindAgentActionTool[]", "No other agent has acted yet."),
    ],
)
def test_answers(world: World, call: str, answer: str) -> None:
    """PARTNR-6.1 and PARTNR-D56: no simulated time."""
    result = world.run(call)
    assert result.succeeded
    assert result.text == answer
    assert world.backend.now_s() == 0


def test_what_the_partner_does_is_told(world: World) -> None:
    world.run("Navigate[table_0]", "agent_1")
    world.run("FindRoomTool[kitchen]", "agent_1")
    world.run("Pick[book_0]", "agent_1")
    world.executors["agent_1"].start("Wait[]")
    assert world.run("FindAgentActionTool[]").text.splitlines() == [
        "agent_1 did Navigate[table_0]: done",
        "agent_1 did Pick[book_0]: failed: Unexpected failure! - book_0 is too far.",
        "agent_1 is doing Wait[]",
    ]


def test_held_and_lost_things_are_told(world: World) -> None:
    world.run("Navigate[cup_0]")
    world.run("Pick[cup_0]")
    assert world.run("FindObjectTool[cup]").text == "cup_0 is held by agent_0"
    world.changes["book_0"] = {"parent": None, "room": None, "relation": None}
    assert world.run("FindObjectTool[book]").text == "book_0 is in an unknown room"


def test_a_long_question_in_another_script_is_answered(world: World) -> None:
    assert world.run("FindObjectTool[" + "どこですか " * 200 + "]").succeeded
