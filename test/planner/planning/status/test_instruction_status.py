"""How an instruction stands, from its acceptance to its end."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from planner.planning.instruction import (
    MAX_CHARACTERS,
    InstructionStatus,
    Request,
    accepted,
    task_of,
)
from planner.planning.session import Outcome, Status
from planner.world.episode import Episode
from planner.world.topics import InstructionCode, InstructState

GOAL = {"propositions": [{"function_name": "is_on_top"}]}
AGENTS = ("agent_0", "agent_1")


@pytest.fixture
def episode(small_episode: Episode) -> Episode:
    return small_episode.model_copy(update={"evaluation": GOAL})


def begun(request: Request, episode: Episode | None = None) -> InstructionStatus:
    first = accepted("ab" * 16, request, episode, "small", AGENTS)
    return first.understood(task_of(request, episode, AGENTS), "small")


def test_the_states_are_those_of_the_message() -> None:
    text = (Path(__file__).parents[4] / "msgs/msg/InstructStatus.msg").read_text("utf-8")
    constants = dict(re.findall(r"^uint8 ([A-Z]+)=(\d+)", text, re.M))
    assert {state.name: str(state.value) for state in InstructState} == constants


def test_nothing_was_asked_at_first() -> None:
    first = InstructionStatus()
    assert (first.state, first.goal_id, first.code) == (InstructState.IDLE, "", 0)


def test_an_episodes_instruction_has_its_goal(episode: Episode) -> None:
    for words in ("", episode.instruction, f"  {episode.instruction}\n"):
        standing = begun(Request(words, ("agent_1",)), episode)
        assert standing.state is InstructState.RUNNING
        assert standing.instruction == episode.instruction
        assert json.loads(standing.goal) == GOAL
        assert (standing.agents, standing.calls) == (("agent_1",), ("",))
        assert standing.episode_id == "small"


def test_other_words_have_none(episode: Episode) -> None:
    assert begun(Request("Sing."), episode).goal == ""
    free = begun(Request("Sing."))
    assert (free.goal, free.episode_id, free.agents) == ("", "", AGENTS)


def test_calls_stand_in_the_order_of_the_agents() -> None:
    standing = begun(Request("Sing.")).running(Status(3, "because", {"agent_1": "Wait[]"}))
    assert (standing.cycle, standing.plan, standing.calls) == (3, "because", ("", "Wait[]"))


def test_a_question_and_its_answer_become_the_dialogue() -> None:
    asked = begun(Request("Sing.", (), ("what?", "a song"))).asking("which song?")
    assert (asked.state, asked.question) == (InstructState.WAITING, "which song?")
    answered = asked.answered("the short one")
    assert (answered.state, answered.question) == (InstructState.RUNNING, "")
    assert answered.dialogue == ("what?", "a song", "which song?", "the short one")
    assert asked.answered(None).dialogue[-1] == ""


@pytest.mark.parametrize("code", InstructionCode)
def test_each_code_ends_in_one_state(code: InstructionCode) -> None:
    running = begun(Request("Sing.")).running(Status(1, "", {"agent_0": "Wait[]"}))
    question = "which?" if code is InstructionCode.QUESTION else ""
    ended = running.ended(Outcome(code, "so it is", question, {"calls": "1"}))
    expected = {
        InstructionCode.DONE: InstructState.DONE,
        InstructionCode.CANCELED: InstructState.CANCELED,
        InstructionCode.QUESTION: InstructState.WAITING,
    }.get(code, InstructState.FAILED)
    assert (ended.state, ended.code, ended.text) == (expected, int(code), "so it is")
    assert ended.calls == ("", "")
    assert (ended.question, dict(ended.evidence)) == (question, {"calls": "1"})


def test_a_request_that_is_refused_for_its_length_is_not_repeated() -> None:
    long = "x" * (3 * MAX_CHARACTERS)
    standing = accepted("", Request(long, (long,) * 50, (long,)), None, "", ())
    assert len(standing.instruction) == MAX_CHARACTERS
    assert standing.dialogue == ()
    assert sum(map(len, standing.agents)) < 1000
