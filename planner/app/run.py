"""Runs an episode from start to verdict in this process, with the objects that the nodes use."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from planner.app.in_process_world import InProcessWorld
from planner.app.time_steps import Judge, Steps
from planner.evaluation.progress import Verdict
from planner.memory.memory import Memory
from planner.models.chat import ModelUnavailableError
from planner.planning.planner import Planner, Task
from planner.planning.session import Ask, Outcome, Session
from planner.planning.session_world import Event, OnGoal, ignore_goal
from planner.skills.eye import ViewEncoder
from planner.skills.find_model import FindModel
from planner.skills.house_exploring import FloorSource
from planner.skills.kind import SkillChoice
from planner.world.belief import Belief
from planner.world.house import House
from planner.world.instruct import InstructionCode
from sim_bridge.backend import Backend


class End(StrEnum):
    """Why a run stopped (PARTNR-D2, and other failures)."""

    DONE = "done"
    SIM_STEP_LIMIT = "sim_step_limit"
    PLANNER_LIMIT = "planner_limit"
    GAVE_UP = "gave_up"
    QUESTION = "question"
    MODEL_FAULT = "model_fault"


_ENDS = {
    InstructionCode.DONE: End.DONE,
    InstructionCode.STEP_LIMIT: End.SIM_STEP_LIMIT,
    InstructionCode.CALL_LIMIT: End.PLANNER_LIMIT,
    InstructionCode.GAVE_UP: End.GAVE_UP,
    InstructionCode.NO_GOAL: End.GAVE_UP,
    InstructionCode.BAD_REQUEST: End.GAVE_UP,
    InstructionCode.QUESTION: End.QUESTION,
    InstructionCode.MODEL_FAULT: End.MODEL_FAULT,
}


@dataclass(frozen=True, slots=True)
class RunResult:
    """The result of a run.

    Attributes:
        verdict: the evaluator's.
        outcome: why it stopped.
        decisions: number of the planner's decisions.
        events: the calls that started and ended, in order.
        evidence: of the planner's decisions, the newest value of each key.
    """

    verdict: Verdict
    outcome: Outcome
    sim_steps: int
    decisions: int
    events: tuple[Event, ...]
    evidence: Mapping[str, str] = field(default_factory=dict)

    @property
    def end(self) -> End:
        """Why it stopped, as one of a few codes."""
        return _ENDS[self.outcome.code]

    @property
    def reason(self) -> str:
        """`done`, `sim_step_limit` or the planner's own words for giving up or asking."""
        if self.outcome.code in (InstructionCode.DONE, InstructionCode.STEP_LIMIT):
            return str(self.end)
        return self.outcome.question or self.outcome.text


@dataclass(slots=True)
class EpisodeRun:
    """One run.

    Attributes:
        backend: with the episode loaded.
        steps: advances time.
        on_event: called with each event as it happens.
        all_known: the belief that planners and skills get instead of the memory's.
        ask: asks the person; without it a question of the planner ends the run.
        find_model: answers the Find tools; None = they answer by rule.
        on_goal: called with the goal that the planner has understood.
        encoder: compares pictures with words for ExploreByView; None = nothing does.
        floor: the map that the robots build; None = they walk by the layout.
        skills: who moves the bodies; None = the world's own primitives.
    """

    backend: Backend
    house: House
    task: Task
    planner: Planner
    memory: Memory
    evaluator: Judge
    steps: Steps
    on_event: Callable[[Event], None] | None = None
    all_known: Callable[[], Belief] | None = None
    ask: Ask | None = None
    find_model: FindModel | None = None
    on_goal: OnGoal = ignore_goal
    encoder: ViewEncoder | None = None
    floor: FloorSource | None = None
    skills: SkillChoice | None = None
    events: list[Event] = field(default_factory=list)

    def run(self) -> RunResult:
        """Runs to the end of the episode."""
        return asyncio.run(self.play())

    async def play(self) -> RunResult:
        """As `run`, inside an event loop; yields only while the planner waits for its model.

        If the model gives no usable answer, the run ends and is judged as it stands.

        Raises:
            ModelUnavailableError: if the model cannot be reached, which is not the planner's fault.
            PlannerError: if the planner cannot work.
        """
        agents, layout = self.task.agents, self.house.layout
        world = InProcessWorld(
            layout,
            agents,
            self.steps,
            self.all_known,
            self._note,
            self.find_model,
            self.on_goal,
            self.encoder,
            self.floor,
            self.skills,
        )
        session = Session(self.task, self.planner, world, ask=self.ask)
        self.steps.begin()
        outcome = await session.run()
        _raise(outcome)
        self.steps.judge()
        return RunResult(
            self.evaluator.finish(),
            outcome,
            world.sim_steps,
            session.decisions,
            tuple(self.events),
            session.evidence,
        )

    def _note(self, event: Event) -> None:
        self.events.append(event)
        if self.on_event is not None:
            self.on_event(event)


def _raise(outcome: Outcome) -> None:
    """Raises for ends that say nothing about the planner and so are no result of a run."""
    if outcome.code is InstructionCode.CANCELED:
        raise asyncio.CancelledError
    if outcome.error is not None and (
        outcome.code is InstructionCode.PLANNER_FAULT
        or isinstance(outcome.error, ModelUnavailableError)
    ):
        raise outcome.error
