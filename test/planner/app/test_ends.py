"""When a run ends: PARTNR's limits and the agents' Done, in the loop of `planner bench`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import pytest

from planner.app.embedded_run import run_embedded
from planner.app.run import End, RunResult
from planner.app.time_steps import MAX_STEPS
from planner.models.chat import Message
from planner.models.scripted import ScriptedModel
from planner.planning.axes import Axes, Control
from planner.planning.making import PlannerChoice, make_planner
from planner.planning.planner import AgentResult, Context, Decision, Planner, Task
from planner.world.house_checks import load_episode
from planner.world.skill import SkillCall, SkillName
from sim_bridge.embedded.backend import EmbeddedBackend
from sim_bridge.embedded.options import EmbeddedOptions


def ran(make: Callable[[Task], Planner]) -> RunResult:
    episode, house = load_episode("desk_tidy_0")
    backend = EmbeddedBackend(EmbeddedOptions(renderer="none"))
    try:
        return run_embedded(backend, house, episode, make, images=False)
    finally:
        backend.close()


@dataclass
class Waiter:
    """Everybody waits, for ever."""

    task: Task
    name = "waiter"

    def observe(self, results: tuple[AgentResult, ...]) -> None:
        """Nothing is learned of it."""

    async def decide(self, context: Context) -> Decision:
        return Decision(dict.fromkeys(context.idle, SkillCall(SkillName.WAIT)))


def test_check_35_a_run_without_done_stops_after_so_many_steps() -> None:
    """PARTNR-C35: 20000 steps."""
    result = ran(Waiter)
    assert (result.end, result.reason) == (End.SIM_STEP_LIMIT, "sim_step_limit")
    assert result.sim_steps == MAX_STEPS == 20_000


@pytest.mark.parametrize(
    ("control", "asked", "turn"),
    [
        (Control.DECENTRALIZED, 100, "Wait[]"),
        (Control.CENTRALIZED, 100, "Agent_0_Action: Wait[]\nAgent_1_Action: Wait[]"),
    ],
)
def test_check_35_a_run_without_done_stops_after_so_many_calls(
    control: Control, asked: int, turn: str
) -> None:
    """PARTNR-C35: 50 calls of each of two planners, 100 of one for both."""
    model = ScriptedModel(lambda messages: f"Thought: wait\n{turn}\nAssigned!")
    choice = PlannerChoice("partnr_react", Axes(control=control))
    result = ran(lambda task: make_planner(choice, task, model))
    assert len(model.asked) == asked
    assert result.end is End.PLANNER_LIMIT
    assert result.reason.startswith("planner limit: ")
    assert result.sim_steps < MAX_STEPS


def test_check_36_the_run_ends_when_both_are_done() -> None:
    """PARTNR-C36."""

    def reply(messages: Sequence[Message]) -> str:
        robot = "was given the task" in messages[0].text
        said = sum(message.speaker.value == "assistant" for message in messages)
        return f"Thought: so\n{'Done[]' if robot or said == 3 else 'Wait[]'}\nAssigned!"

    model = ScriptedModel(reply)
    choice = PlannerChoice("partnr_react", Axes(control=Control.DECENTRALIZED))
    result = ran(lambda task: make_planner(choice, task, model))
    calls = [(e.agent, str(e.call)) for e in result.events if e.result is not None]
    assert calls == [
        ("agent_0", "Done[]"),
        *[("agent_1", "Wait[]")] * 3,
        ("agent_1", "Done[]"),
    ]
    assert (result.end, result.reason) == (End.DONE, "done")
    # PARTNR-7.5: a planner is asked at the start and when its agent's skill ended.
    assert len(model.asked) == len(calls)
