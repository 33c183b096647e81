from __future__ import annotations

import asyncio
import base64
from typing import Any

import cv2
import numpy as np
import pytest
from chat_server import chat_server

from planner.memory.memory import Memory
from planner.memory.operations import CoordinateFrame
from planner.memory.part import UpdaterModel, UpdaterRequest, load_updater
from planner.memory.updater import ClearSight, Operation
from planner.memory.vlm import OperationsReply, VlmUpdater, operation_grammar
from planner.models.caller import ModelCall
from planner.models.chat import Role
from planner.models.replies.form import ReplyError
from planner.models.teacher import ScriptedModel
from planner.world.belief import Entity
from planner.world.errors import PlannerError
from planner.world.geometry import Pose
from planner.world.house_checks import load_house
from planner.world.observation import CameraFrame, Intrinsics, Observation

HOUSE = load_house("train_0")


def look(
    text: str, frame: CoordinateFrame = CoordinateFrame.PIXEL_384
) -> tuple[Memory, ScriptedModel]:
    says = ScriptedModel([text])
    memory = Memory(HOUSE, VlmUpdater(says, frame))
    depth = np.full((192, 192), 2.0, np.float32)
    depth[:96, :96] = 0
    lens = Intrinsics(192, 192, 96.0, 96.0, 96.0, 96.0)
    camera = CameraFrame(np.zeros((192, 192, 3), np.uint8), depth, None, lens, Pose((0, 0, 0)))
    memory.observe(Observation.at_rest(1.0, camera))
    return memory, says


def things(memory: Memory) -> list[Entity]:
    return [e for e in memory.snapshot().entities if not e.is_furniture]


def test_an_add_lands_where_the_models_pixel_is_in_a_smaller_picture() -> None:
    memory, says = look("Add (288, 192):cup")
    (cup,) = things(memory)
    assert cup.position_m == pytest.approx((1.0, 0.0, 2.0))
    assert cup.seen_distance_m == pytest.approx(2.0)
    (request,) = says.requests
    (message,) = request.messages
    assert message.text.endswith("Your next update is:")
    assert message.pictures[0].image.shape == (384, 384, 3)
    assert request.grammar.startswith("root ::= ")
    assert request.role is Role.MEMORY


def test_the_grid_as_coordinates() -> None:
    memory, _ = look("Add (7, 7):cup", CoordinateFrame.GRID_8)
    assert things(memory)[0].position_m == pytest.approx((1.75, 1.75, 2.0))


@pytest.mark.parametrize(
    ("text", "refused"),
    [
        ("Update 9999 (200, 200):cup", 1),
        ("Add (10, 10):cup", 1),
        ("Add (384, 10):cup", 1),
        ("Remove 100", 1),
        ("No updates", 0),
        ("garbage \x00 \ud83d", 0),
        ("Add (200, 2", 0),
    ],
)
def test_what_cannot_be_applied_is_refused_counted_and_harms_nothing(
    text: str, refused: int
) -> None:
    memory, _ = look(text)
    assert things(memory) == []
    assert memory.refused == refused


def test_ten_thousand_operations_are_none() -> None:
    memory, _ = look("Add (200, 200):cup\n" * 10_000)
    assert things(memory) == []


def test_the_grammar_names_only_what_may_be_changed() -> None:
    table = Entity(100, "table_0", "table", True, "table", (0.0, 0.0, 0.0))
    cup = Entity(149, "cup_0", "cup", False, "cup", (0.0, 0.0, 0.0))
    text = operation_grammar([table, cup])
    assert 'known ::= "100" | "149"' in text
    assert 'gone ::= "149"' in text
    assert "Remove" not in operation_grammar([table])
    assert "[0-7]" in operation_grammar([table], CoordinateFrame.GRID_8)


def _updater(url: str, **more: Any) -> VlmUpdater:
    made = load_updater(UpdaterRequest("vlm", UpdaterModel("tiny", url), **more))(HOUSE)
    assert isinstance(made, ClearSight)
    assert isinstance(made._updater, VlmUpdater)
    return made._updater


def _observation() -> Observation:
    rgb = np.zeros((384, 384, 3), np.uint8)
    rgb[..., 0] = 200
    lens = Intrinsics(384, 384, 192.0, 192.0, 192.0, 192.0)
    depth = np.full((384, 384), 2.0, np.float32)
    return Observation.at_rest(1.0, CameraFrame(rgb, depth, None, lens, Pose((0, 0, 0))))


@pytest.mark.slow
def test_a_server_gets_picture_prompt_and_grammar_and_the_call_is_traced() -> None:
    heard: list[ModelCall] = []
    # The first answer tells how the server takes a grammar.
    with chat_server(["a7", "Add (200, 200):cup"]) as (url, asked):
        (operation,) = _updater(url, on_call=heard.append).update(_observation(), (), "")
    assert operation.description == "cup"
    body = asked[-1]
    picture, text = body["messages"][0]["content"]
    raw = base64.b64decode(picture["image_url"]["url"].partition(",")[2])
    back = cv2.imdecode(np.frombuffer(raw, np.uint8), cv2.IMREAD_COLOR)
    assert back[0, 0].tolist() == [0, 0, 200]
    assert text["text"].endswith("Your next update is:")
    assert body["structured_outputs"]["grammar"].startswith("root ::= ")
    (call,) = heard
    assert (call.planner, call.role, call.reply) == ("vlm", Role.MEMORY, "Add (200, 200):cup")


@pytest.mark.slow
def test_a_server_that_is_away_is_asked_again_and_then_one_clear_error() -> None:
    heard: list[ModelCall] = []
    with (
        chat_server([""], status=503) as (url, asked),
        pytest.raises(PlannerError, match=r"after 4 tries: .*status 503"),
    ):
        _updater(url, on_call=heard.append).update(_observation(), (), "")
    assert len(asked) == 4
    assert [call.answered for call in heard] == [False]


def test_what_was_cut_off_ends_after_its_last_whole_operation() -> None:
    reply = OperationsReply(())
    assert len(reply.read("Add (1, 2):cup\nAdd (3", ended=False).operations) == 1
    with pytest.raises(ReplyError, match="no whole operation"):
        reply.read("Add (3, 4):c", ended=False)


def test_it_works_where_a_loop_is_running() -> None:
    async def look_inside() -> list[Operation]:
        return VlmUpdater(ScriptedModel(["No updates"])).update(_observation(), (), "")

    assert asyncio.run(look_inside()) == []
