"""Runs another planner at the recorded decisions, on the beliefs of that time."""

from __future__ import annotations

import asyncio
import copy
import math
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from planner.models.caller import ModelCall
from planner.models.chat import ChatModel, ModelError, ModelUnavailableError
from planner.models.model_choice import make_model
from planner.planning.instruction import Request, task_of
from planner.planning.part import make_planner
from planner.planning.planner import Context, Decision, Planner, Task
from planner.planning.planner_inputs import DeltaLog
from planner.replay.states import STATES
from planner.replay.through.decisions import (
    RecordedDecision,
    RecordedWork,
    SubstituteModel,
    recorded_work,
    rendered_turn,
)
from planner.replay.through.recorded import (
    CHANGES,
    GRAPHS,
    LISTS,
    EntityChangeReceived,
    EntityListReceived,
    Event,
    GraphReceived,
    Recorded,
    RecordedTask,
    StateReceived,
)
from planner.replay.through.request import PlannerRequest
from planner.world.agents import capabilities_of_agents
from planner.world.belief import Belief
from planner.world.episode import Episode
from planner.world.errors import FileError
from planner.world.house import House
from planner.world.skill import SkillCall
from planner.world.state import WorldState
from planner.world.topics import InstructionCode

# Graphs that are kept to find that of a decision, whose model may have been slow.
_KEPT_GRAPHS = 1024
_EQUAL_S = 1e-6
# A belief and the decision based on it reach the recorder in any order within this time.
_SKEW_NS = 500_000_000


@dataclass(frozen=True, slots=True)
class Counterfactual:
    """One recorded decision, and what another planner decides there.

    Attributes:
        belief: at that time.
        truth: the world's state at that time; None if the bag has none.
        decision: of the other planner.
        model_calls: its model calls for the decision.
        forced: whether its dialogue continued with what was really done.
    """

    recorded: RecordedDecision
    belief: Belief
    truth: WorldState | None
    decision: Decision
    model_calls: tuple[ModelCall, ...]
    forced: bool


@dataclass
class CounterfactualWork:
    """One instruction.

    Attributes:
        unknown: number of decisions before the first recorded belief.
    """

    work: RecordedWork
    task: Task
    steps: list[Counterfactual] = field(default_factory=list)
    unknown: int = 0


def replay_planner(
    recorded: Recorded, request: PlannerRequest, on_event: Callable[[int], None]
) -> list[CounterfactualWork]:
    """Asks a planner at each recorded decision.

    The world goes on as recorded: the planner's decisions are compared, not carried out.

    Raises:
        PlannerError: if the bag lacks decisions or beliefs, the planner cannot be made, or its
            model is unavailable.
    """
    if not recorded.has(GRAPHS):
        raise FileError(recorded.bag.folder, GRAPHS, "is not in the bag: nothing was believed")
    model = make_model(request.model)
    tasks = RecordedTask(recorded)
    works = []
    for work in recorded_work(recorded):
        instruction = work.instruction
        if instruction is not None and instruction.house:
            episode, house = tasks.named(instruction.house, instruction.episode_id)
        else:
            episode, house = tasks.first()
        task = _task(work, request, episode, recorded)
        works.append(_PlannerReplay(work, request, model, house, task))
    return asyncio.run(_replay_all(recorded, works, model, on_event))


async def _replay_all(
    recorded: Recorded,
    works: Sequence[_PlannerReplay],
    model: ChatModel | None,
    on_event: Callable[[int], None],
) -> list[CounterfactualWork]:
    try:
        moments = _Snapshots()
        for event in recorded.events((STATES, GRAPHS, CHANGES, LISTS)):
            on_event(event.received_ns)
            for asking in works:
                await asking.until(event.received_ns, moments)
            moments.take(event)
        for asking in works:
            await asking.until(2**63, moments)
    finally:
        if model is not None:
            await model.close()
    return [asking.made for asking in works]


def _task(
    work: RecordedWork, request: PlannerRequest, episode: Episode | None, recorded: Recorded
) -> Task:
    instruction = work.instruction
    if instruction is None and episode is None:
        raise FileError(recorded.bag.folder, "", "does not say what the planner was asked for")
    if instruction is None:
        task = task_of(Request("", work.agents), episode, work.agents)
    else:
        asked = Request(instruction.text, work.agents, instruction.dialogue)
        task = replace(task_of(asked, episode, work.agents), goal=instruction.goal)
    return task if request.seed is None else replace(task, seed=request.seed)


class _Snapshots:
    """Beliefs and truth, as far as the bag was read."""

    def __init__(self) -> None:
        self._graphs: deque[GraphReceived] = deque(maxlen=_KEPT_GRAPHS)
        self._states: deque[WorldState] = deque(maxlen=_KEPT_GRAPHS)
        self.log = DeltaLog()

    def take(self, event: Event) -> None:
        """Takes the next event."""
        if isinstance(event, GraphReceived):
            self._graphs.append(event)
        elif isinstance(event, StateReceived):
            self._states.append(event.state)
        elif isinstance(event, EntityChangeReceived):
            self.log.change(event.change)
        elif isinstance(event, EntityListReceived):
            log = self.log
            if log.broken or event.sequence < log.sequence:
                log.snapshot(event.stamp_s, event.sequence, event.entities)

    def lacks(self, decision: RecordedDecision) -> bool:
        """Whether the belief of a decision without a model was not received yet."""
        newest_s = self._graphs[-1].stamp_s if self._graphs else -math.inf
        return not decision.has_model and newest_s < decision.stamp_s - _EQUAL_S

    def belief(self, decision: RecordedDecision) -> Belief | None:
        """The belief that the recorded planner had; None before the first one.

        A planner without a model decides at once, and its trace has the belief's own stamp. One
        with a model had the newest when its model was called.
        """
        for graph in reversed(self._graphs):
            if decision.has_model:
                fits = graph.received_ns <= decision.began_ns
            else:
                fits = graph.stamp_s <= decision.stamp_s + _EQUAL_S
            if fits:
                return graph.belief()
        return None

    def truth(self, stamp_s: float) -> WorldState | None:
        """The state at a time."""
        for state in reversed(self._states):
            if state.stamp_s <= stamp_s + _EQUAL_S:
                return state
        return None


class _PlannerReplay:
    """One instruction's planner, asked at one recorded decision after another."""

    def __init__(
        self,
        work: RecordedWork,
        request: PlannerRequest,
        model: ChatModel | None,
        house: House,
        task: Task,
    ) -> None:
        self.made = CounterfactualWork(work, task)
        self._layout = house.layout
        self._choice = request.choice
        self._waiting = deque(work.decisions)
        self._text_of: list[ModelCall] = []
        self._model = SubstituteModel(model) if model is not None else None
        self._planner = self._begun(task)

    def _begun(self, task: Task) -> Planner:
        instruction = self._text_of

        def tell(call: ModelCall) -> None:
            if call.answered:
                instruction.append(call)

        return make_planner(self._choice, task, self._model, tell)

    async def until(self, now_ns: int, moments: _Snapshots) -> None:
        """Asks at the decisions that were made before a time."""
        while self._waiting and self._waiting[0].received_ns < now_ns:
            decision = self._waiting[0]
            if now_ns < decision.received_ns + _SKEW_NS and moments.lacks(decision):
                break
            await self._decide(self._waiting.popleft(), moments)

    async def _decide(self, recorded: RecordedDecision, moments: _Snapshots) -> None:
        belief = moments.belief(recorded)
        if belief is None:
            self.made.unknown += 1
            return
        self._planner.observe(recorded.results)
        context = Context(
            task=self.made.task,
            belief=belief,
            layout=self._layout,
            capabilities=capabilities_of_agents(belief),
            running=recorded.running,
            idle=recorded.idle,
            now_s=belief.stamp_s,
            deltas=lambda since: moments.log.lines(since, belief.sequence),
        )
        self._text_of.clear()
        if self._model is None:
            decision, forced = await self._planner.decide(context), True
            calls: tuple[ModelCall, ...] = ()
        else:
            decision, other = await self._tried(context)
            calls = tuple(self._text_of)
            went_on = await self._forced(context, recorded)
            forced = went_on is not None
            self._planner = went_on or other
        truth = moments.truth(belief.stamp_s)
        self.made.steps.append(Counterfactual(recorded, belief, truth, decision, calls, forced))

    async def _tried(self, context: Context) -> tuple[Decision, Planner]:
        """What a copy of the planner decides, and that copy."""
        other = copy.deepcopy(self._planner)
        try:
            return await other.decide(context), other
        except ModelUnavailableError:
            raise
        except ModelError as error:
            words = f"the model gave no usable answer: {error}"
            return Decision(failure=words, end=InstructionCode.MODEL_FAULT), other

    async def _forced(self, context: Context, recorded: RecordedDecision) -> Planner | None:
        """A copy of the planner that continues as if it had decided what was really done.

        Its dialogue then contains the real results. None if it cannot express those calls.
        """
        model = self._model
        planner = copy.deepcopy(self._planner)
        if model is None or not recorded.calls:
            return planner
        try:
            for agents, texts in rendered_turn(self._choice, context, recorded):
                with model.replying(texts):
                    decision = await planner.decide(replace(context, idle=agents))
                expected = {a: call for a, call in recorded.calls.items() if a in agents}
                if not _is_same(decision.calls, expected, context.belief):
                    return None
        except ModelError:
            return None
        return planner


def _is_same(
    made: Mapping[str, SkillCall], expected: Mapping[str, SkillCall], belief: Belief
) -> bool:
    return {a: canonical_call(c, belief) for a, c in made.items()} == {
        a: canonical_call(c, belief) for a, c in expected.items()
    }


def canonical_call(call: SkillCall, belief: Belief) -> SkillCall:
    """A call with the belief's names: planners refer to an object by name or by number."""
    words = []
    for word in call.arguments:
        node = belief.find(word) if word is not None else None
        words.append(word if node is None else node.name)
    return SkillCall(call.name, tuple(words))
