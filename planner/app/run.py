"""Runs an episode in this process from start to verdict, with its person and its trace."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypeAlias

from pydantic import JsonValue

from planner.app.in_process_world import InProcessWorld
from planner.app.run_options import Judge, Steps
from planner.evaluation.as_understood import judged, understood_of
from planner.evaluation.evaluator import Evaluator
from planner.evaluation.predicates import Variant
from planner.evaluation.progress import Mode, Progress, Verdict, feedback
from planner.evaluation.trace import EpisodeTrace
from planner.evaluation.trace_builder import DecisionRecord, TraceBuilder
from planner.memory.features import ViewEncoder
from planner.memory.memory import Memory
from planner.models.caller import ModelCall
from planner.models.chat import ModelUnavailableError
from planner.planning.planner import Exchange, Planner, Task
from planner.planning.session import Ask, Event, OnGoal, Outcome, Session, ignore_goal
from planner.skills.attempt import FloorSource
from planner.skills.find_model import FindModel
from planner.skills.kind import SkillChoice
from planner.world.belief import Belief
from planner.world.episode import Episode
from planner.world.errors import PlannerError
from planner.world.geometry import Box
from planner.world.house import House
from planner.world.state import WorldState
from planner.world.topics import InstructionCode
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
        on_session: gets the session before it begins, such as to talk about it.
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
    on_session: Callable[[Session], None] | None = None
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
        if self.on_session is not None:
            self.on_session(session)
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


# Judges a run without an episode's goal by what its planner has understood of the words.

NOT_UNDERSTOOD = "Nothing was understood, so there is nothing to judge by."


class WordsEvaluator:
    """Takes the place of an `Evaluator` where the goal becomes known during the run.

    An answer may change the goal after the first steps, so all states are kept.
    """

    def __init__(
        self, house: House, initial: WorldState, robot: str, trace: TraceBuilder | None
    ) -> None:
        self._house, self._robot, self._trace = house, robot, trace
        self._states = [initial]
        self._evaluator: Evaluator | None = None
        self._problem = NOT_UNDERSTOOD

    def take_goal(self, goal: Mapping[str, JsonValue]) -> None:
        """Judges all states anew by the goal as understood."""
        understood = understood_of(goal)
        if understood is None:
            return
        start_s, mode = self._states[0].stamp_s, Mode.STRICT
        try:
            evaluator = judged(
                understood, self._states[:1], start_s, self._house, mode, self._robot
            )
            at_first = evaluator.progress
            for state in self._states[1:]:
                evaluator.update(state)
            self._evaluator = evaluator
        except PlannerError as error:
            self._evaluator, self._problem = None, str(error)
        else:
            if self._trace is not None:
                self._trace.restart_count(evaluator.propositions, self._states[0], at_first)
        self._add_to_trace()

    def update(self, state: WorldState) -> None:
        """Processes the next state."""
        if state is self._states[-1]:
            return
        self._states.append(state)
        if self._evaluator is not None:
            self._evaluator.update(state)
        self._add_to_trace()

    def _add_to_trace(self) -> None:
        if self._trace is not None and self._evaluator is not None:
            self._trace.state(self._states[-1], self._evaluator.progress)

    def keeps(self, reach: Mapping[str, Box]) -> bool:  # noqa: ARG002 - the goal may change
        """Never: every state may count."""
        return False

    @property
    def progress(self) -> Progress:
        """The progress after the last state."""
        if self._evaluator is not None:
            return self._evaluator.progress
        step = self._states[-1].step
        return Progress(0.0, False, step, (), self._problem, Mode.STRICT, Variant.BOXES)

    def finish(self) -> Verdict:
        """The verdict by the goal as understood; a failure without one."""
        if self._evaluator is not None:
            return self._evaluator.finish()
        last, mode = self._states[-1], Mode.STRICT
        return Verdict(
            last.episode_id, 0.0, False, last.step, (), self._problem, mode, Variant.BOXES
        )


# A person who answers a planner's questions from the evaluator's progress, in this process.


@dataclass(slots=True)
class SimulatedPerson:
    """Answers every question with what is not as wanted, or "done" (HELPER-D83).

    Attributes:
        judged: knows the truth; planners never do.
        look: passes the current state to it.
        exchanges: what was asked and answered, oldest first.
    """

    judged: Evaluator
    look: Callable[[], None]
    exchanges: list[Exchange] = field(default_factory=list)

    async def answer(self, question: str) -> str:
        """The answer to a question; an `Ask` of a session."""
        self.look()
        satisfied = [item.satisfied for item in self.judged.progress.propositions]
        words = feedback(self.judged.propositions, satisfied)
        self.exchanges.append(Exchange(question, words))
        return words


def attended(run: EpisodeRun) -> SimulatedPerson:
    """Lets a simulated person answer the questions of a run.

    Raises:
        PlannerError: if the run is not judged by an episode's goal, which the person would know.
    """
    if not isinstance(run.evaluator, Evaluator):
        raise PlannerError("a simulated person knows only the goal of an episode that has one")
    person = SimulatedPerson(run.evaluator, run.steps.judge)
    run.ask = person.answer
    return person


# The trace of a run in this process, in the format that all metrics read.

StateListener: TypeAlias = Callable[[WorldState, Progress], None]


class ObservedTrace(TraceBuilder):
    """Also passes every judged state and its progress to listeners."""

    def __init__(self, *listeners: StateListener) -> None:
        super().__init__()
        self._listeners = list(listeners)

    def add_listener(self, listener: StateListener) -> None:
        """Adds a listener for the states that follow."""
        self._listeners.append(listener)

    def state(
        self, state: WorldState, progress: Progress, changed: Collection[str] | None = None
    ) -> None:
        """See `TraceBuilder`."""
        for listener in self._listeners:
            listener(state, progress)
        super().state(state, progress, changed)


def decision_record(call: ModelCall, stamp_s: float) -> DecisionRecord:
    """A model call as a trace record; `stamp_s` of the world's clock."""
    usage = call.usage
    return DecisionRecord(
        stamp_s,
        call.planner,
        call.agents,
        call.cycle,
        call.model,
        usage.prompt_tokens,
        usage.reply_tokens,
        call.error,
    )


def traced(
    builder: TraceBuilder,
    episode: Episode,
    result: RunResult,
    *,
    planner: str,
    seed: int | None = None,
    acting: Sequence[str] = (),
    decisions: Sequence[DecisionRecord] = (),
) -> EpisodeTrace:
    """The trace of a run whose evaluator fed the builder (`run_embedded(trace=builder)`).

    `decisions` are the model calls. Without a model, each time at which calls started counts as a
    decision, since decisions that start nothing leave no event.
    """
    began: dict[str, Event] = {}
    moments: dict[float, list[str]] = {}
    for event in result.events:
        if event.result is None:
            began[event.agent] = event
            moments.setdefault(event.stamp_s, []).append(event.agent)
        else:
            start = began.pop(event.agent)
            builder.add_call(event.agent, event.call, event.result, event.stamp_s, start.stamp_s)
    for decision in decisions:
        builder.add_decision(decision)
    for cycle, (stamp_s, _agents) in enumerate(() if decisions else moments.items(), start=1):
        builder.add_decision(DecisionRecord(stamp_s, planner, tuple(acting), cycle))
    return builder.finish(
        episode, result.verdict, planner=planner, seed=seed, reason=result.reason, acting=acting
    )
