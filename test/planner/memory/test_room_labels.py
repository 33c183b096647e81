"""Rooms of furniture by a model's labels, in the graph of objects (PARTNR-5.4, PARTNR-D67)."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
from memory_samples import LENS

from planner.bench.runs.rows import ROWS_NAME, newest_rows
from planner.cli import main
from planner.memory.features import GroundTruthFeatures, ObjectGraph
from planner.memory.memory import Memory
from planner.memory.part import UpdaterRequest, load_updater
from planner.memory.perception import KEY, LABELS, RoomLabels
from planner.models.caller import BlockingLoop, Caller, ModelCall
from planner.models.chat import ChatModel, Fault, Message, ModelError, Role
from planner.models.teacher import ScriptedModel, Skill, Teacher
from planner.parts.calls import parse_call
from planner.planning.belief_text import world_description
from planner.world.errors import PlannerError
from planner.world.geometry import Pose
from planner.world.house import House
from planner.world.house_checks import load_house
from planner.world.observation import CameraFrame, Observation
from planner.world.skill import SkillResult

HOUSE = load_house("train_0").layout
Reply = Callable[[Sequence[Message]], str]


def said(label: str) -> str:
    return json.dumps({KEY: label})


def labels(
    model: ChatModel, house: House = HOUSE, heard: list[ModelCall] | None = None
) -> RoomLabels:
    on_call = heard.append if heard is not None else lambda call: None
    return RoomLabels(
        house, Caller("object-graph", model, Role.MEMORY, on_call=on_call), BlockingLoop()
    )


def graph(room_labels: RoomLabels | None) -> ObjectGraph:
    classes = ("cup",)
    return ObjectGraph(
        GroundTruthFeatures(classes, {1: "cup"}.get), classes, room_labels=room_labels
    )


def seen_on(piece_name: str) -> Observation:
    """A picture from above in which a cup stands in the middle of a piece of furniture."""
    x, y, z = HOUSE.furniture_by_name[piece_name].box.center_m
    top_m = z + HOUSE.furniture_by_name[piece_name].size_m[2] / 2
    pose = Pose.from_matrix(np.array([x, y, top_m + 2.0]), np.diag([1.0, -1.0, -1.0]))
    instances = np.zeros((384, 384), np.int32)
    instances[187:197, 187:197] = 1
    depth = np.full((384, 384), 1.95, np.float32)
    return Observation.at_rest(
        1.0, CameraFrame(np.zeros((384, 384, 3), np.uint8), depth, instances, LENS, pose)
    )


def rooms_of(memory: Memory) -> dict[str, str | None]:
    return {node.name: node.room for node in memory.belief(2.0).nodes.values()}


def test_without_labels_the_layout_says_where_furniture_is() -> None:
    memory = Memory(HOUSE, graph(None))
    memory.observe(seen_on("table_0"))
    assert rooms_of(memory)["table_0"] == HOUSE.furniture_by_name["table_0"].room
    assert graph(None).counts == {}


def test_a_model_is_told_the_name_and_the_ten_nearest() -> None:
    model = ScriptedModel(lambda messages: said("kitchen"))
    assert set(labels(model).rooms) == {piece.name for piece in HOUSE.furniture}
    assert len(model.asked) == len(HOUSE.furniture)
    first = HOUSE.furniture[0]
    question = json.loads(model.asked[0][1].text)
    assert list(question) == ["QUERY_OBJECT_NAME", "CLOSEST_OBJECTS"]
    assert question["QUERY_OBJECT_NAME"] == first.class_name.replace("_", " ")
    assert len(question["CLOSEST_OBJECTS"]) == 10
    near = min(
        HOUSE.furniture[1:],
        key=lambda one: np.linalg.norm(np.subtract(one.box.center_m, first.box.center_m)),
    )
    assert question["CLOSEST_OBJECTS"][0] == near.class_name.replace("_", " ")
    assert all(label in model.asked[0][0].text for label in LABELS)
    assert '"living room"' in model.requests[0].grammar.replace("\\", "")


def test_a_piece_is_in_the_nearest_room_of_its_label_and_things_follow_it() -> None:
    """All is called a bedroom: each piece is in the bedroom nearest to it, and so is the cup."""
    memory = Memory(HOUSE, graph(labels(ScriptedModel(lambda messages: said("Bedroom")))))
    table = next(p for p in HOUSE.furniture if p.class_name == "table" and "bedroom" not in p.room)
    memory.observe(seen_on(table.name))
    rooms = rooms_of(memory)
    bedrooms = {room.name for room in HOUSE.rooms if room.class_name == "bedroom"}
    assert {rooms[piece.name] for piece in HOUSE.furniture} <= bedrooms
    (cup,) = (e for e in memory.entities if not e.is_furniture)
    assert (cup.parent, cup.room) == (table.name, rooms[table.name])
    changes = memory.sequence
    memory.observe(seen_on(table.name))
    assert memory.sequence == changes
    # So it is after it was put down elsewhere.
    other = next(p for p in HOUSE.furniture if p.class_name == "table" and p is not table)
    place = parse_call(f"Place[{cup.name}, on, {other.name}, None, None]")
    memory.note_result("agent_0", parse_call(f"Pick[{cup.name}]"), SkillResult.success(), 3.0)
    memory.note_result("agent_0", place, SkillResult.success(), 4.0)
    (cup,) = (e for e in memory.entities if not e.is_furniture)
    assert (cup.parent, cup.room) == (other.name, rooms[other.name])


@pytest.mark.parametrize(
    ("reply", "bad"),
    [
        (said("unknown"), False),
        (said("ballroom"), True),
        ("It stands in the kitchen.", True),
        ('{"ROOM": "kitchen"}', True),
        ('{"ROOM_LABEL": 3}', True),
        ("", True),
    ],
)
def test_what_is_no_label_is_unknown_and_counted(reply: str, bad: bool) -> None:
    updater = graph(labels(ScriptedModel(lambda messages: reply)))
    memory = Memory(HOUSE, updater)
    memory.observe(seen_on("table_0"))
    assert {rooms_of(memory)[piece.name] for piece in HOUSE.furniture} == {None}
    count = len(HOUSE.furniture) if bad else 0
    assert updater.counts == {"room labels unreadable": count, "room labels without a room": 0}
    unknown = next(
        line
        for line in world_description(memory.belief(2.0)).splitlines()
        if line.startswith("unknown: ")
    )
    assert all(piece.name in unknown for piece in HOUSE.furniture)


def test_a_kind_of_room_that_the_house_has_not_is_unknown_and_counted() -> None:
    rooms = tuple(room for room in HOUSE.rooms if room.class_name == "kitchen")
    pieces = tuple(piece for piece in HOUSE.furniture if piece.room == rooms[0].name)
    kitchen = HOUSE.model_copy(update={"rooms": rooms, "furniture": pieces, "doors": ()})
    made = labels(ScriptedModel(lambda messages: said("bathroom")), kitchen)
    assert set(made.rooms.values()) == {None}
    assert made.counts["room labels without a room"] == len(pieces)


def test_what_got_no_answer_is_asked_again_and_nothing_else() -> None:
    count, is_away = len(HOUSE.furniture), True

    def reply(messages: Sequence[Message]) -> str:
        if is_away and len(model.asked) > count - 2:
            raise ModelError("the server is away")
        return said("kitchen")

    model = ScriptedModel(reply)
    updater = graph(labels(model))
    memory = Memory(HOUSE, updater)
    with pytest.raises(ModelError, match="away"):
        memory.observe(seen_on("table_0"))
    is_away = False
    memory.observe(seen_on("table_0"))
    assert len(model.asked) == count + 2


@pytest.mark.parametrize("rate", [0.0, 1.0])
def test_the_teacher_says_what_the_layout_has_or_something_else(rate: float) -> None:
    heard: list[ModelCall] = []
    made = labels(Teacher(Skill({Fault.WRONG_ENTITY: rate})), heard=heard)
    right = [
        made.rooms[piece.name] == piece.room
        for piece in HOUSE.furniture
        if HOUSE.rooms_by_name[piece.room].class_name.replace("_", " ") in LABELS
    ]
    assert right
    assert set(right) <= {rate == 0.0}
    assert {call.role for call in heard} == {Role.MEMORY}


def test_the_updater_s_options_name_the_model(tmp_path: Path) -> None:
    script = tmp_path / "said.txt"
    script.write_text("\n\n".join([said("kitchen")] * len(HOUSE.furniture)), encoding="utf-8")

    def loaded(**options: str) -> Memory:
        request = UpdaterRequest("object-graph", class_of={1: "cup"}.get, options=options)
        return Memory(HOUSE, load_updater(request)(HOUSE))

    memory = loaded(room_model=f"scripted:{script}")
    memory.observe(seen_on("table_0"))
    assert {rooms_of(memory)[piece.name] for piece in HOUSE.furniture} <= {
        room.name for room in HOUSE.rooms if room.class_name == "kitchen"
    }
    with pytest.raises(PlannerError, match="model_url names no server"):
        loaded(room_model="Llama")


def test_a_run_of_the_graph_with_labelled_rooms(tmp_path: Path) -> None:
    """The teacher stands in for both models."""
    words = ["bench", "night_light_0", "--planner", "react", "--model", "teacher"]
    words += ["--memory", "object-graph", "--room-model", "teacher", "--out", str(tmp_path / "r")]
    assert main(words) == 0
    (row,) = newest_rows(tmp_path / "r" / ROWS_NAME).values()
    assert row.verdict is not None, row.error
    assert row.axes.observability == "conceptgraph"
