"""An episode from start to verdict in this process, with the objects that the nodes hold.

One loop: planners decide for idle agents, executors turn calls into primitives,
the world steps, the memory looks, the judge watches. Planning takes no
simulated time here.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import partial
from typing import Protocol

from planner.app.backend_port import BackendPort
from planner.evaluation.evaluator import Evaluator
from planner.evaluation.progress import Verdict
from planner.memory.memory import Memory
from planner.planning.dialogues import PLANNER_LIMIT
from planner.planning.llm.chat import ModelAwayError, ModelError
from planner.planning.planner import AgentResult, Context, Decision, Planner, Task
from planner.skills.executor import SkillExecutor
from planner.skills.team import Team
from planner.world.belief import Belief
from planner.world.geometry import Box
from planner.world.house import House
from planner.world.skill import SkillCall, SkillName, SkillResult
from sim_bridge.backend import Backend

STEP_S = 1 / 30
# So far ahead is reckoned what agents will do.
FORESIGHT_S = 4.0
# Cameras expose ten times a second, from the world's beginning on, as the bridge has it.
EXPOSURE_STEPS = 3
# PARTNR-1.4.
MOST_STEPS = 20_000


@dataclass(frozen=True, slots=True)
class Event:
    """A line of the run's trace: a call that began (`result` None) or ended."""

    stamp_s: float
    agent: str
    call: SkillCall
    result: SkillResult | None = None


class End(StrEnum):
    """Why a run stopped (PARTNR-D2, and what can go wrong besides)."""

    DONE = "done"
    SIM_STEP_LIMIT = "sim_step_limit"
    PLANNER_LIMIT = "planner_limit"
    GAVE_UP = "gave_up"
    QUESTION = "question"
    MODEL_FAULT = "model_fault"


@dataclass(frozen=True, slots=True)
class RunResult:
    """How a run ended: the judge's verdict, why it stopped, and what was done.

    `reason` is `done`, `sim_step_limit` or the planner's own words for giving up, `end` the same
    as one of few words. `evidence` is what the planner's decisions left, the newest of each key.
    """

    verdict: Verdict
    reason: str
    sim_steps: int
    decisions: int
    events: tuple[Event, ...]
    end: End = End.DONE
    evidence: Mapping[str, str] = field(default_factory=dict)


class Leaper(Protocol):
    """A backend that knows for how long nothing will happen."""

    def foresee(self, seconds: float) -> None:
        """Says that no step of this episode will be longer."""

    def steady_steps(self, dt_s: float, working: Collection[str]) -> int:
        """How many steps of `dt_s` come to the same as one long one, at least 1."""

    def moves_things(self) -> bool:
        """Whether a thing is on its way in somebody's hand, or something opens or closes."""

    def reach(self, dt_s: float, steps: int) -> Mapping[str, Box]:
        """The boxes that what moves stays in for so many steps that may be taken as one."""

    @property
    def revision(self) -> int:
        """Grows with every change of things and furniture, which is all that is judged."""

    @property
    def handled_revision(self) -> int:
        """The same, but for things that only go along with who holds them."""

    def leap(self, dt_s: float, steps: int) -> None:
        """Takes so many steps in one go."""


class Eyes(Protocol):
    """The agents' cameras, with the memory behind them."""

    def look(self, agent: str) -> None:
        """Shows the memory what an agent senses now."""

    def looks_in_vain(self, seconds: Sequence[float]) -> int:
        """How many of looks, so many seconds from now each, tell nothing before one may.

        That is, as agents go on with what they do.
        """

    def pass_over(self, seconds: float) -> None:
        """Tells the memory that all looked then, and from where."""


@dataclass(slots=True)
class _Worker:
    """An agent of the task: its executor, the call it carries out, whether it said Done."""

    executor: SkillExecutor
    call: SkillCall | None = None
    done: bool = False


def say_nothing(_event: Event) -> None:
    """Hears an event and keeps it to itself."""


@dataclass(slots=True)
class EpisodeRun:
    """One run.

    Nothing is left out where the world can leap: the judge is shown every step in which
    something moves, but for things in hands where it is certain that nothing comes of it.

    Attributes:
        backend: with the episode loaded.
        eyes: what agents look with.
        tell: hears each event as it happens.
        leaper: the backend, where it can take steps in which nothing happens in one go.
        knows: what planners and skills are told instead of what the memory believes; then nobody
            looks.
    """

    backend: Backend
    house: House
    task: Task
    planner: Planner
    memory: Memory
    evaluator: Evaluator
    eyes: Eyes
    tell: Callable[[Event], None] = say_nothing
    leaper: Leaper | None = None
    knows: Callable[[], Belief] | None = None
    _judged: int = -1
    _kept: int = MOST_STEPS
    events: list[Event] = field(default_factory=list)

    def run(self) -> RunResult:
        """Runs to the end of the episode."""
        return asyncio.run(self.play())

    async def play(self) -> RunResult:
        """As `run`, inside a loop; gives way only while the planner waits for its model.

        A model without a usable answer ends the run, which is judged as it stands.

        Raises:
            ModelAwayError: where the model is not there, which says nothing about the planner.
        """
        layout = self.house.layout
        team = Team()
        workers = {
            name: _Worker(
                SkillExecutor(
                    layout,
                    BackendPort(self.backend, name),
                    self._belief,
                    team=team,
                    report=partial(self._remember, name),
                )
            )
            for name in self.task.agents
        }
        decisions, steps, end, reason = 0, 0, End.SIM_STEP_LIMIT, ""
        evidence: dict[str, str] = {}
        if self.leaper is not None and self.knows is None:
            self.leaper.foresee(FORESIGHT_S)
        self._look_around()
        while steps < MOST_STEPS:
            self._collect(workers)
            idle = tuple(n for n, w in workers.items() if w.call is None and not w.done)
            if idle:
                decisions += 1
                decision = await self._decision(self._context(layout, workers, idle))
                if isinstance(decision, ModelError):
                    end, reason = End.MODEL_FAULT, str(decision)
                    break
                evidence.update(decision.evidence)
                if decision.failure or decision.question:
                    end, reason = _stopped(decision)
                    break
                self._start(workers, decision.calls)
                self._collect(workers)
            if all(worker.done for worker in workers.values()):
                end = End.DONE
                break
            working = {name: w for name, w in workers.items() if w.call is not None}
            steps += self._pass(working, MOST_STEPS - steps)
            # While all bodies are busy, and nobody is idle, there is nothing to decide.
            while not (stirring := _stirring(working)) and not idle and steps < MOST_STEPS:
                self._look_around()
                steps += self._pass(working, MOST_STEPS - steps)
            for worker in stirring:
                worker.executor.step()
            self._look_around()
        self._judge()
        return RunResult(
            self.evaluator.finish(),
            reason or str(end),
            steps,
            decisions,
            tuple(self.events),
            end,
            evidence,
        )

    async def _decision(self, context: Context) -> Decision | ModelError:
        try:
            return await self.planner.decide(context)
        except ModelAwayError:
            raise
        except ModelError as error:
            return error

    def _pass(self, working: Collection[str], most: int) -> int:
        """Lets time pass until something may happen, or a look is due; returns the steps."""
        leaper = self.leaper
        if leaper is None:
            self.backend.step(STEP_S)
            self._judge()
            return 1
        count = self._to_news(max(1, min(leaper.steady_steps(STEP_S, working), most)))
        if leaper.moves_things():
            self._carry_on(leaper, count)
        else:
            leaper.leap(STEP_S, count)
            self._judge_changes(leaper)
        return count

    def _carry_on(self, leaper: Leaper, left: int) -> None:
        """Takes steps in which only things move, in as few goes as are judged the same."""
        while left > 0:
            # What could not be told for a long way just now can hardly be told for it again.
            tried = count = min(left, 2 * self._kept)
            while count > 1 and not self.evaluator.keeps(leaper.reach(STEP_S, count)):
                count //= 2
            self._kept = count if count < tried else max(self._kept, count)
            handled = leaper.handled_revision
            leaper.leap(STEP_S, count)
            if count == 1 or leaper.handled_revision != handled:
                self._judge_changes(leaper)
            left -= count

    def _to_news(self, steady: int) -> int:
        """Of so many steps that may be taken as one, those until a look that may tell something."""
        if self.knows is not None:
            return steady
        now_s = self.backend.now_s()
        step = round(now_s / STEP_S)
        last, look = step + steady, self._first_look(step, now_s)
        looks: list[float] = []
        # In the last step something may happen.
        while look < last:
            looks.append((look - step) * STEP_S)
            look = self._look_after(look, now_s + looks[-1])
        if not looks:
            return steady
        in_vain = self.eyes.looks_in_vain(looks)
        if in_vain < len(looks):
            return round(looks[in_vain] / STEP_S)
        if look > last:
            self.eyes.pass_over(looks[-1])
        return steady

    def _first_look(self, step: int, now_s: float) -> int:
        """The next step, after this one, at which a look is due."""
        if any(self.memory.due(agent, now_s) for agent in self.backend.agents):
            # At the first exposure, but not at the present one again.
            return -(-(step + 1) // EXPOSURE_STEPS) * EXPOSURE_STEPS
        return self._look_after(step, now_s)

    def _look_after(self, step: int, now_s: float) -> int:
        """The first step at which the one is due that comes after a look at a step."""
        left = math.ceil(self.memory.next_look_s(now_s) / STEP_S - 1e-6)
        return -(-max(step + left, step + 1) // EXPOSURE_STEPS) * EXPOSURE_STEPS

    def _judge_changes(self, leaper: Leaper) -> None:
        if leaper.revision != self._judged:
            self._judged = leaper.revision
            self._judge()

    def _remember(self, agent: str, call: SkillCall, result: SkillResult) -> None:
        self.memory.note_result(agent, call, result, self.backend.now_s())

    def _belief(self) -> Belief:
        if self.knows is not None:
            return self.knows()
        return self.memory.belief(self.backend.now_s())

    def _judge(self) -> None:
        state = self.backend.world_state()
        if state is not None:
            self.evaluator.update(state)

    def _look_around(self) -> None:
        """Looks through the cameras that expose now, where the memory wants a picture."""
        now_s = self.backend.now_s()
        if self.knows is not None or round(now_s / STEP_S) % EXPOSURE_STEPS:
            return
        for agent in self.backend.agents:
            if self.memory.due(agent, now_s):
                self.eyes.look(agent)

    def _context(
        self,
        layout: House,
        workers: Mapping[str, _Worker],
        idle: tuple[str, ...],
    ) -> Context:
        return Context(
            task=self.task,
            belief=self._belief(),
            layout=layout,
            capabilities={n: worker.executor.capabilities for n, worker in workers.items()},
            running={n: w.call for n, w in workers.items() if w.call is not None},
            idle=idle,
            now_s=self.backend.now_s(),
            deltas=lambda since: self.memory.deltas_since(since).lines,
        )

    def _start(self, workers: Mapping[str, _Worker], calls: Mapping[str, SkillCall]) -> None:
        for agent, call in calls.items():
            worker = workers[agent]
            if worker.call is not None or worker.done:
                continue
            self._note(Event(self.backend.now_s(), agent, call))
            worker.call = call
            worker.executor.start(call)

    def _collect(self, workers: Mapping[str, _Worker]) -> None:
        """Takes the calls that ended to the planner; the memory heard of each as it ended."""
        ended: list[AgentResult] = []
        now = self.backend.now_s()
        for agent, worker in workers.items():
            result = worker.executor.result if worker.call is not None else None
            if worker.call is None or result is None:
                continue
            self._note(Event(now, agent, worker.call, result))
            ended.append(AgentResult(agent, worker.call, result, now))
            # PARTNR-D3: Done is for good.
            worker.done = worker.call.name is SkillName.DONE and result.succeeded
            worker.call = None
        if ended:
            self.planner.observe(tuple(ended))

    def _note(self, event: Event) -> None:
        self.events.append(event)
        self.tell(event)


def _stirring(working: Mapping[str, _Worker]) -> list[_Worker]:
    """Those who do not just wait for their bodies."""
    return [worker for worker in working.values() if not worker.executor.is_waiting]


def _stopped(decision: Decision) -> tuple[End, str]:
    if not decision.failure:
        return End.QUESTION, decision.question
    limit = decision.failure.startswith(PLANNER_LIMIT)
    return End.PLANNER_LIMIT if limit else End.GAVE_UP, decision.failure
