"""The perception tools: answers by rule, at once, as the published ones read."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from contextlib import closing
from threading import Event, Thread
from typing import Any

import pytest
from model_server import Handler, Server, says
from skill_world import World, belief_of

from planner.app.in_process_world import BackendPort
from planner.models.caller import ModelCall
from planner.models.chat import Role
from planner.models.model_choice import ModelChoice, make_model
from planner.skills.executor import SkillExecutor
from planner.skills.find_model import FindModel
from planner.skills.tools import find_objects, find_receptacles, find_rooms
from planner.world.belief import Belief, BeliefNode
from planner.world.skill import SkillCode, SkillResult
from planner.world.vocabulary import Affordance, EntityKind, Relation

_FAR = re.compile(r" \d+\.\d\d meters away")
CUP = (
    "- cup_0 on table_0 in kitchen_0. It has the following states, is_clean: True, "
    "is_filled: False."
)
APPLE = "- apple_0 on table_0 in kitchen_0"


@pytest.mark.parametrize(
    ("call", "answer"),
    [
        ("FindObjectTool[cup]", CUP),
        ("FindObjectTool[the mugs, please]", CUP),
        ("FindObjectTool[cup_0]", CUP),
        ("FindObjectTool[dishes in the kitchen]", CUP),
        ("FindObjectTool[things on table_0]", f"{CUP}\n{APPLE}"),
        ("FindObjectTool[cup and apple on kitchen table]", f"{CUP}\n{APPLE}"),
        ("FindObjectTool[cup, apple]", f"{CUP}\n{APPLE}"),
        ("FindObjectTool[something edible]", APPLE),
        ("FindObjectTool[something to eat in the kitchen]", APPLE),
        ("FindObjectTool[something that can be filled]", CUP),
        ("FindObjectTool[things next to the apple]", CUP),
        ("FindObjectTool[books in the living room]", "- book_0 on table_1 in living_room_0"),
        (
            "FindObjectTool[books in the kitchen]",
            "Could not find any object in world for the query 'books in the kitchen'.",
        ),
        ("FindObjectTool[empty cups]", CUP),
        (
            "FindObjectTool[full cups]",
            "Could not find any object in world for the query 'full cups'.",
        ),
        ("FindObjectTool[empty cups.]", CUP),
        ("FindObjectTool[]", "Could not find any object in world for the query ''."),
        (
            "FindObjectTool[unicorn in the kitchen]",
            "Could not find any object in world for the query 'unicorn in the kitchen'.",
        ),
        ("FindReceptacleTool[a table]", "- table_0 in kitchen_0\n- table_1 in living_room_0"),
        ("FindReceptacleTool[sofa]", "- couch_0 in living_room_0"),
        ("FindReceptacleTool[tables in the kitchen]", "- table_0 in kitchen_0"),
        ("FindReceptacleTool[kitchen table]", "- table_0 in kitchen_0"),
        ("FindReceptacleTool[table with a book on it]", "- table_1 in living_room_0"),
        ("FindReceptacleTool[floor of the kitchen]", "- floor_kitchen_0 in kitchen_0"),
        (
            "FindReceptacleTool[couch in the kitchen]",
            (
                "Could not find any receptacles in world for the query 'couch in the kitchen'. "
                "I was able to find following furniture though:\n- couch_0 in living_room_0"
            ),
        ),
        (
            "FindReceptacleTool[a throne]",
            "Could not find any receptacles in world for the query 'a throne'.",
        ),
        ("FindRoomTool[kitchen]", "- kitchen_0"),
        ("FindRoomTool[the room with the couch]", "- living_room_0"),
        ("FindRoomTool[a room which might have something to eat]", "- kitchen_0"),
        ("FindRoomTool[room that may have cup and couch]", "- kitchen_0\n- living_room_0"),
        ("FindRoomTool[all rooms]", "- kitchen_0\n- living_room_0"),
        ("FindRoomTool[nirvana]", "I could not find any room matching the query."),
        ("FindAgentActionTool[]", "No other agent has acted yet."),
    ],
)
def test_answers(world: World, call: str, answer: str) -> None:
    """PARTNR-6.1 and PARTNR-D56: no simulated time."""
    result = world.run(call)
    assert result.succeeded
    assert _FAR.sub("", result.text) == answer
    assert world.backend.now_s() == 0


def test_how_far_things_are(world: World) -> None:
    base = world.state.entities["agent_0"].box
    cup = world.state.entities["cup_0"].box.center_m
    far_m = math.dist(cup, (base.center_m[0], base.center_m[1], 0.0))
    line = world.run("FindObjectTool[cup]").text
    assert line.startswith(f"- cup_0 on table_0 in kitchen_0 {far_m:.2f} meters away. It has")


def test_what_the_partner_does_is_reported(world: World) -> None:
    world.run("Navigate[table_0]", "agent_1")
    world.run("FindRoomTool[kitchen]", "agent_1")
    world.run("Pick[book_0]", "agent_1")
    world.executors["agent_1"].start("Wait[]")
    assert world.run("FindAgentActionTool[]").text.splitlines() == [
        "agent_1 did Navigate[table_0]: done",
        "agent_1 did Pick[book_0]: failed: Unexpected failure! - book_0 is too far.",
        "agent_1 is doing Wait[]",
    ]


def test_held_and_lost_things_are_reported(world: World) -> None:
    world.run("Navigate[cup_0]")
    world.run("Pick[cup_0]")
    assert world.run("FindObjectTool[cup]").text.startswith("- cup_0 held by agent_0 in kitchen_0 ")
    world.changes["book_0"] = {"parent": None, "room": None, "relation": None}
    found = world.run("FindObjectTool[book]").text
    assert _FAR.sub("", found) == "- book_0 in an unknown room"


def test_a_long_question_in_another_script_is_answered(world: World) -> None:
    assert world.run("FindObjectTool[" + "どこですか " * 200 + "]").succeeded


def _node(name: str, kind: EntityKind, room: str | None = None, **more: object) -> BeliefNode:
    class_name = name.rpartition("_")[0]
    fields = {"room": room, "parent": room, **more}
    return BeliefNode(name, kind, class_name, None, (1.0, 2.0, 0.0), **fields)  # type: ignore[arg-type]


def _house(*things: BeliefNode) -> Belief:
    wet = {"affordances": (Affordance.FAUCET,)}
    nodes = [
        *(_node(n, EntityKind.ROOM) for n in ("kitchen_0", "bathroom_0", "bedroom_0", "office_0")),
        _node("counter_0", EntityKind.FURNITURE, "kitchen_0", **wet),
        _node("counter_1", EntityKind.FURNITURE, "kitchen_0"),
        _node("fridge_0", EntityKind.FURNITURE, "kitchen_0"),
        _node("sink_0", EntityKind.FURNITURE, "bathroom_0", **wet),
        _node("bed_0", EntityKind.FURNITURE, "bedroom_0"),
        _node("chair_0", EntityKind.FURNITURE, "bedroom_0"),
        _node("desk_0", EntityKind.FURNITURE, "office_0"),
        *things,
    ]
    return Belief(0.0, 0, {node.name: node for node in nodes})


def _thing(name: str, parent: str, room: str, **more: object) -> BeliefNode:
    relation = Relation.WITHIN if parent.startswith("fridge") else Relation.ON
    return _node(name, EntityKind.OBJECT, room, parent=parent, relation=relation, **more)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("kettle", ["electric_kettle_0"]),
        ("something to drink", ["milk_carton_0"]),
        ("something in the fridge", ["milk_carton_0"]),
        ("food", ["milk_carton_0"]),
        ("dirty dishes", ["plate_1"]),
        ("things that are dirty", ["plate_1"]),
        ("plates on the counter and things on the desk", ["plate_0", "plate_1", "laptop_0"]),
        ("electronic devices", ["electric_kettle_0", "laptop_0"]),
        ("something washable on counter_1", ["electric_kettle_0"]),
        ("toys", ["toy_food_0"]),
        ("a room that can hold it", []),
        ("the red one", ["pan_0"]),
        ("kitchen plates", ["plate_0"]),
        ("plate on kitchen counter", ["plate_0"]),
        ("things on kitchen desk", []),
        ("plates that are not clean", ["plate_1"]),
    ],
)
def test_words_of_the_catalogue_find_things(text: str, names: list[str]) -> None:
    belief = _house(
        _thing("plate_0", "counter_0", "kitchen_0", states={"clean": True}),
        _thing("electric_kettle_0", "counter_1", "kitchen_0"),
        _thing("milk_carton_0", "fridge_0", "kitchen_0"),
        _thing("plate_1", "desk_0", "office_0", states={"clean": False}),
        _thing("laptop_0", "desk_0", "office_0"),
        _thing("toy_food_0", "bed_0", "bedroom_0"),
        _thing("pan_0", "bed_0", "bedroom_0", description="a red frying pan"),
    )
    lines = find_objects(belief, text, None).splitlines()
    assert [line.split()[1] for line in lines if line.startswith("- ")] == names


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        (
            "furniture with a faucet in the kitchen",
            "- counter_0 in kitchen_0 with components: faucet",
        ),
        (
            "faucet",
            (
                "- counter_0 in kitchen_0 with components: faucet\n"
                "- sink_0 in bathroom_0 with components: faucet"
            ),
        ),
        ("something to sit on", "- chair_0 in bedroom_0"),
        ("where can I sleep", "- bed_0 in bedroom_0"),
        ("a place to put laptops", "- desk_0 in office_0"),
        ("counter without a faucet", "- counter_1 in kitchen_0"),
        ("furniture in bedroom", "- bed_0 in bedroom_0\n- chair_0 in bedroom_0"),
        ("bed with cushion on it", "- bed_0 in bedroom_0"),
    ],
)
def test_furniture_by_component_purpose_and_content(text: str, answer: str) -> None:
    belief = _house(_thing("cushion_0", "bed_0", "bedroom_0"))
    assert find_receptacles(belief, text, None) == answer


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("a room which might have something to eat", "- kitchen_0"),
        ("room that can have pillow and apple", "- bedroom_0\n- kitchen_0"),
        ("rooms that may have laptop and spoon", "- office_0\n- kitchen_0"),
        ("the room that has the cushion", "- office_0"),
        ("a room with a faucet", "- kitchen_0\n- bathroom_0"),
        ("bedroom", "- bedroom_0"),
    ],
)
def test_rooms_are_guessed_from_where_such_things_belong(text: str, answer: str) -> None:
    belief = _house(_thing("cushion_0", "desk_0", "office_0"))
    assert find_rooms(belief, text, None) == answer


def test_nothing_is_known_yet() -> None:
    assert find_objects(_house(), "cup", None) == (
        "No objects are found yet, please explore the house by navigating to different rooms."
    )


@pytest.fixture
def server() -> Iterator[Server]:
    made = Server()
    Thread(target=made.serve_forever, daemon=True).start()
    yield made
    made.stopped = True
    made.shutdown()
    made.server_close()


def executor(world: World, url: str, calls: list[ModelCall] | None = None) -> SkillExecutor:
    model = make_model(ModelChoice("tiny", url))
    assert model is not None
    on_call = [].append if calls is None else calls.append
    return SkillExecutor(
        world.house.layout,
        BackendPort(world.backend, "agent_0"),
        lambda: belief_of(world.house, world.state),
        find_model=FindModel(model, blocks=True, deadline_s=60.0, on_call=on_call),
    )


def answer(world: World, url: str, call: str) -> SkillResult:
    """The answer of a model that is waited for: it is there at once."""
    result = executor(world, url).start(call)
    assert result is not None
    return result


def question(server: Server) -> str:
    """The newest prompt."""
    return str(server.bodies[-1]["messages"][-1]["content"])


@pytest.mark.slow
def test_the_model_chooses_and_the_answer_reads_as_by_rule(world: World, server: Server) -> None:
    server.answers = [says("- apple_0\n- cup_0")]
    calls: list[ModelCall] = []
    result = executor(world, server.url, calls).start("FindObjectTool[what goes with breakfast]")
    assert result is not None
    lines = result.text.splitlines()
    assert [line.split()[:4] for line in lines] == [
        ["-", "apple_0", "on", "table_0"],
        ["-", "cup_0", "on", "table_0"],
    ]
    assert (result.code, world.backend.now_s()) == (SkillCode.SUCCESS, 0.0)
    assert 'fit the description "what goes with breakfast"' in question(server)
    assert "- book_0 on table_1 in living_room_0" in question(server)
    (call,) = calls
    assert (call.role, call.reply) == (Role.MEMORY, "- apple_0\n- cup_0")
    assert all(f'"{name}"' in call.grammar for name in ("apple_0", "cup_0", "book_0"))


def test_a_room_is_chosen_by_what_is_known_in_it(world: World, server: Server) -> None:
    server.answers = [says("- living_room_0")]
    assert answer(world, server.url, "FindRoomTool[where to read]").text == "- living_room_0"
    assert "- living_room_0 with " in question(server)
    assert "book_0" in question(server)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("call", "text"),
    [
        (
            "FindObjectTool[a unicorn]",
            "Could not find any object in world for the query 'a unicorn'.",
        ),
        (
            "FindReceptacleTool[a throne]",
            "Could not find any receptacles in world for the query 'a throne'.",
        ),
        ("FindRoomTool[nirvana]", "I could not find any room matching the query."),
    ],
)
def test_none_is_an_answer(world: World, server: Server, call: str, text: str) -> None:
    server.answers = [says("none")]
    result = answer(world, server.url, call)
    assert (result.code, result.text) == (SkillCode.SUCCESS, text)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        ("- unicorn_0", "'unicorn_0' is not one of the possible items"),
        ("I think so.", "'I think so.' is not one of the possible items"),
        ("", "the reply is empty"),
    ],
)
def test_a_reply_outside_the_list_is_one_error_and_no_rule_steps_in(
    world: World, server: Server, reply: str, reason: str
) -> None:
    server.answers = [says(reply)]
    result = answer(world, server.url, "FindObjectTool[cup]")
    assert result.code is SkillCode.BACKEND_FAULT
    assert f"The model of the Find tools gave no answer: {reason}." in result.text


@pytest.mark.slow
def test_a_server_that_is_away_is_an_error_with_its_address(world: World) -> None:
    result = answer(world, "http://127.0.0.1:9/v1", "FindObjectTool[cup]")
    assert result.code is SkillCode.BACKEND_FAULT
    assert "127.0.0.1:9" in result.text


@pytest.mark.slow
def test_a_call_can_be_canceled_while_the_model_thinks(world: World, server: Server) -> None:
    asked, ends = Event(), Event()

    def think(_handler: Handler, _body: dict[str, Any]) -> None:
        asked.set()
        ends.wait(30)

    server.answers = [think]
    model = make_model(ModelChoice("tiny", server.url))
    assert model is not None
    known: Belief = belief_of(world.house, world.state)
    with closing(FindModel(model)) as find_model:
        port = BackendPort(world.backend, "agent_0")
        one = SkillExecutor(world.house, port, lambda: known, find_model=find_model)
        assert one.start("FindObjectTool[cup]") is None
        assert asked.wait(30)
        assert one.step() is None
        assert one.status.phase == "asking the model"
        one.cancel()
        ends.set()
    assert one.result is not None
    assert one.result.code is SkillCode.CANCELED
