"""The Find tools with a language model, asked at a real server on this machine."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from threading import Event, Thread
from typing import Any

import pytest
from model_server import Handler, Server, says
from skill_world import World, belief_of

from planner.app.backend_port import BackendPort
from planner.models.model_choice import ModelChoice, make_model
from planner.models.role import Role
from planner.models.trace import ModelCall
from planner.skills.executor import SkillExecutor
from planner.skills.find_model import FindModel
from planner.world.belief import Belief
from planner.world.skill import SkillCode, SkillResult


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
