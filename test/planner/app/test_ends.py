"""When a run ends: PARTNR's limits and the agents' Done, in the loop of `planner bench`."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import pytest

from planner.app.embedded_run import prepare_embedded
from planner.app.run import End, RunResult
from planner.app.run_options import MAX_STEPS, RunOptions
from planner.models.chat import Message
from planner.models.teacher import ScriptedModel
from planner.planning.part import PlannerChoice, make_planner
from planner.planning.planner import AgentResult, Context, Decision, Planner, Task
from planner.planning.planner_model import Axes, Control
from planner.planning.session import Ask
from planner.world.house_checks import load_episode
from planner.world.skill import SkillCall, SkillName
from sim_bridge.embedded.backend import EmbeddedBackend
from sim_bridge.embedded.options import EmbeddedOptions


@pytest.fixture
def backend() -> Iterator[EmbeddedBackend]:
    made = EmbeddedBackend(EmbeddedOptions(renderer="none"))
    yield made
    made.close()


def ran(make: Callable[[Task], Planner], ask: Ask | None = None) -> RunResult:
    episode, house = load_episode("desk_tidy_0")
    backend = EmbeddedBackend(EmbeddedOptions(renderer="none"))
    try:
        run = prepare_embedded(backend, house, episode, make, RunOptions(images=False))
        run.ask = ask
        return run.run()
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


@pytest.mark.slow
def test_check_35_a_run_without_done_stops_after_so_many_steps() -> None:
    """PARTNR-C35: 20000 steps."""
    result = ran(Waiter)
    assert (result.end, result.reason) == (End.SIM_STEP_LIMIT, "sim_step_limit")
    assert result.sim_steps == MAX_STEPS == 20_000


@pytest.mark.needs("papers")
@pytest.mark.slow
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


@pytest.mark.needs("papers")
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


@dataclass
class Asks:
    """Asks once, then is done."""

    task: Task
    name = "asks"

    def observe(self, results: tuple[AgentResult, ...]) -> None:
        """Nothing is learned of it."""

    async def decide(self, context: Context) -> Decision:
        if not context.answers:
            return Decision(question="which lamp?")
        done = dict.fromkeys(context.idle, SkillCall(SkillName.DONE))
        return Decision(done, evidence={"answer": str(context.answers[0].answer)})


def test_a_question_is_answered_or_ends_the_run() -> None:
    async def answer(question: str) -> str:
        return f"not {question}"

    unheard = ran(Asks)
    assert (unheard.end, unheard.reason) == (End.QUESTION, "which lamp?")
    heard = ran(Asks, answer)
    assert heard.end is End.DONE
    assert heard.evidence == {"answer": "not which lamp?"}


@dataclass
class Hesitates:
    """Sends the first agent off, then thinks for ever about the others."""

    task: Task
    name = "hesitates"

    def observe(self, results: tuple[AgentResult, ...]) -> None:
        """Nothing is learned of it."""

    async def decide(self, context: Context) -> Decision:
        if not context.running:
            return Decision({context.idle[0]: SkillCall(SkillName.EXPLORE, ("kitchen_0",))})
        await asyncio.sleep(60)
        return Decision()


def test_a_canceled_run_stops_its_agents(backend: EmbeddedBackend) -> None:
    episode, house = load_episode("desk_tidy_0")
    run = prepare_embedded(backend, house, episode, Hesitates, RunOptions(images=False))

    async def cancel() -> None:
        playing = asyncio.ensure_future(run.play())
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        playing.cancel()
        with pytest.raises(asyncio.CancelledError):
            await playing

    asyncio.run(cancel())
    assert [event.result for event in run.events] == [None]
    before = backend.world_state()
    for _ in range(30):
        backend.step(1 / 30)
    after = backend.world_state()
    assert before is not None
    assert after is not None
    assert after.entities["agent_0"].pose == before.entities["agent_0"].pose
