"""The loop that carries out a task, the interface to its world, and questions to the person."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from pydantic import JsonValue

from planner.conversation.journal import Journal, Standing
from planner.models.chat import ModelError, Picture
from planner.planning.part import unwrapped
from planner.planning.planner import (
    AgentResult,
    Change,
    Context,
    Continues,
    Decision,
    Exchange,
    Planner,
    Task,
    TeamMessage,
    TellsParts,
)
from planner.world.belief import Belief
from planner.world.errors import PlannerError
from planner.world.house import House
from planner.world.primitive import Capabilities, operator_refused
from planner.world.skill import SkillCall, SkillCode, SkillName, SkillResult
from planner.world.topics import InstructionCode, one_line

# The interface between a session and what executes its calls: ROS, or this process.

# Called with the goal that a planner has understood of plain text.
OnGoal = Callable[[Mapping[str, JsonValue]], None]


def ignore_goal(_goal: Mapping[str, JsonValue]) -> None:
    """For worlds in which nobody reads the understood goal."""


@dataclass(frozen=True, slots=True)
class Event:
    """A call that started (`result` None) or ended."""

    stamp_s: float
    agent: str
    call: SkillCall
    result: SkillResult | None = None


@dataclass(frozen=True, slots=True)
class Status:
    """Planning cycle, the plan in words, each agent's running call, and the evidence so far."""

    cycle: int
    plan: str
    calls: Mapping[str, str]
    evidence: Mapping[str, str] = field(default_factory=dict)


class World(Protocol):
    """The world of one session."""

    @property
    def belief(self) -> Belief:
        """The newest belief."""

    @property
    def layout(self) -> House:
        """The house without its objects."""

    @property
    def now_s(self) -> float:
        """Seconds of the world's clock."""

    def capabilities(self) -> Mapping[str, Capabilities]:
        """What each agent can do; may include agents outside the task."""

    def deltas(self, since: int) -> Sequence[str]:
        """The memory's lines since a sequence number up to the belief's."""

    def picture(self, agent: str) -> Picture | None:
        """What an agent's hand camera shows; None if there is no picture of it.

        Raises:
            PlannerError: if the world makes no pictures.
        """

    @property
    def messages(self) -> tuple[TeamMessage, ...]:
        """What agents have said so far and all have heard, oldest first."""

    def say(self, message: TeamMessage) -> None:
        """Passes on what an agent says to all others."""

    def start(self, agent: str, call: SkillCall) -> None:
        """Starts a call of an agent that has none running."""

    def take_results(self) -> Sequence[AgentResult]:
        """The calls that have ended since the last call of this method."""

    async def next_event(self, *, or_belief_change: bool) -> bool:
        """Waits until a call has ended or, with `or_belief_change`, the memory may have changed.

        Returns:
            False at the time limit.
        """

    async def settle(self, agents: Sequence[str], ended: Mapping[str, AgentResult]) -> None:
        """Waits until the belief has the agents and shows what the ended calls have changed.

        What was said until then has been heard afterwards.

        Raises:
            PlannerError: if a known agent has disappeared from the memory.
        """

    def halt(self) -> None:
        """Cancels every running call; each ends as soon as its agent stands."""

    async def stop(self) -> None:
        """Cancels every running call; returns when all agents have stopped."""

    def on_event(self, event: Event) -> None:
        """Receives each call that starts or ends, in order."""

    def on_status(self, status: Status) -> None:
        """Receives the status after each decision that gave calls."""

    def on_goal(self, goal: Mapping[str, JsonValue]) -> None:
        """Receives the goal that the planner has understood, whenever that has changed."""


Ask = Callable[[str], Awaitable[str | None]]
# Called with an agent and whether its next call is being decided, which lockstep waits for.
OnTurn = Callable[[str, bool], None]


@dataclass(frozen=True, slots=True)
class Outcome:
    """The end of a task.

    Attributes:
        question: from the planner, if nobody could answer it.
        evidence: counts, and the evidence of the planner's decisions.
        error: the exception behind a fault.
    """

    code: InstructionCode
    text: str
    question: str = ""
    evidence: Mapping[str, str] = field(default_factory=dict)
    error: PlannerError | None = None


class Session:
    """Carries out one task with one planner.

    Attributes:
        decisions: number of decisions, without those that only wait.
        cycle: number of decisions that gave calls.
        calls: number of skill calls started, without Done.
        failed: number of skill calls that failed.
        evidence: of the planner's decisions, the newest value of each key.
        journal: how that was which was changed.
    """

    def __init__(
        self,
        task: Task,
        planner: Planner,
        world: World,
        max_cycles: int = 0,
        ask: Ask | None = None,
        on_turn: OnTurn | None = None,
    ) -> None:
        """Takes at most `max_cycles` decisions that give calls; 0 = the planner's own limit.

        `ask` asks the person and returns the answer, or None after a timeout; without
        it a question of the planner ends the session.
        """
        self._task, self._planner, self._world = task, planner, world
        self._max_cycles, self._ask, self._on_turn = max_cycles, ask, on_turn
        self._answers: tuple[Exchange, ...] = ()
        self._running: dict[str, SkillCall] = {}
        self._ended: dict[str, AgentResult] = {}
        self._done: set[str] = set()
        # What the operator refused is not asked again in the same task.
        self._refused: dict[tuple[str, SkillCall], SkillResult] = {}
        self._refused_again: list[AgentResult] = []
        # Cleared while a person has stopped the agents. Those whose call was canceled for that,
        # and of these those that stand by now; their calls begin again.
        self._may_go = asyncio.Event()
        self._may_go.set()
        self._halting: set[str] = set()
        self._halted: set[str] = set()
        self._revision: tuple[Task, Planner] | None = None
        self._plan, self._began_s = "", world.now_s
        self.journal = Journal()
        self.decisions = self.cycle = self.calls = self.failed = 0
        self.evidence: dict[str, str] = {}

    # What a person may do meanwhile

    @property
    def task(self) -> Task:
        """The task as it is by now, also if that is not taken up yet."""
        return self._task if self._revision is None else self._revision[0]

    @property
    def is_held(self) -> bool:
        """Whether a person has stopped the agents."""
        return not self._may_go.is_set()

    @property
    def running(self) -> Mapping[str, SkillCall]:
        """The call of each busy agent, also of those that stand until `go_on`."""
        return dict(self._running)

    def forbid(self) -> None:
        """From any thread, before `hold`: what is canceled from now on begins again later."""
        self._may_go.clear()

    def hold(self) -> None:
        """All agents stand, with what they hold, until `go_on`."""
        self.forbid()
        self._halting |= self._running.keys() - self._halted
        self._world.halt()

    def go_on(self) -> None:
        """Begins the calls again that `hold` has canceled, and goes on."""
        self._may_go.set()

    async def stood(self) -> None:
        """Returns once all agents stand after `hold`."""
        await self._world.stop()

    def revise(self, task: Task, planner: Planner, other: str = "", *, halts: bool) -> None:
        """Goes on with another task, and a planner that takes over what this one knows.

        Args:
            task: for the same agents.
            planner: new.
            other: words of it that mean another thing than so far; "" = none.
            halts: whether what the agents do now ends first.
        """
        new, old = unwrapped(planner), unwrapped(self._planner)
        takes_over = isinstance(new, Continues)
        if isinstance(new, Continues):
            new.take_over(old, Change(other, self.journal.places))
        self._revision = (task, planner)
        if halts or not takes_over:
            self._halting |= self._running.keys() - self._halted
            self._world.halt()

    @property
    def standing(self) -> Standing:
        """How far the task is."""
        planner = unwrapped(self._planner)
        done, left = planner.parts if isinstance(planner, TellsParts) else ((), ())
        passed_s = self._world.now_s - self._began_s
        return Standing(
            self.running, self._task.agents, self._plan, done, left, passed_s, self.is_held
        )

    async def run(self) -> Outcome:
        """Runs to the end; all agents have stopped when it returns, also after a cancellation."""
        self._set_turns(self._task.agents, True)
        try:
            return await self._run_and_stop()
        finally:
            self._set_turns(self._task.agents, False)

    async def _run_and_stop(self) -> Outcome:
        try:
            return await self._run()
        except asyncio.CancelledError:
            return self._outcome(InstructionCode.CANCELED, "canceled; all agents have stopped")
        except ModelError as error:
            return self._outcome(InstructionCode.MODEL_FAULT, str(error), error=error)
        except PlannerError as error:
            return self._outcome(InstructionCode.PLANNER_FAULT, str(error), error=error)
        finally:
            await self._world.stop()

    async def _run(self) -> Outcome:
        while True:
            if not await self._until_free():
                return self._time_is_up()
            await self._settle()
            idle = self._idle()
            if idle:
                planner = self._planner
                decision = await self._decide(idle)
                if not await self._until_free():
                    return self._time_is_up()
                if self._planner is not planner:
                    continue
                end = self._end(decision)
                if end is not None:
                    return end
                refused_again = self._start(decision, idle)
                if decision.question and self._ask is not None:
                    answer = await self._ask(decision.question)
                    self._answers += (Exchange(decision.question, answer),)
                    continue
                if len(self._done) == len(self._task.agents):
                    return self._outcome(InstructionCode.DONE, decision.thought or "done")
                if 0 < self._max_cycles <= self.cycle and not self._running:
                    text = f"the limit of {self._max_cycles} cycles is reached"
                    return self._outcome(InstructionCode.CALL_LIMIT, text)
                if refused_again:
                    # Nothing was started that could end.
                    await asyncio.sleep(0)
                    continue
            if not await self._world.next_event(or_belief_change=bool(self._idle())):
                return self._time_is_up()
            self._collect()

    def _time_is_up(self) -> Outcome:
        return self._outcome(InstructionCode.STEP_LIMIT, "the world's time is used up")

    async def _until_free(self) -> bool:
        """Waits while a person has stopped the agents, then begins again what they did.

        Returns:
            False at the time limit.
        """
        while self.is_held or self._halting:
            if self.is_held and not self._halting:
                self._set_turns(self._task.agents, False)
            if not await self._next_or_free():
                return False
            self._collect()
        halted, self._halted = sorted(self._halted), set()
        if self._revision is not None:
            (self._task, self._planner), self._revision = self._revision, None
            self._answers = tuple(one for one in self._answers if one.answer)
            self._done.clear()
            for agent in halted:
                del self._running[agent]
            self._set_turns(self._idle(), True)
            return True
        self._set_turns(halted, True)
        for agent in halted:
            self._begin(agent, self._running[agent])
        return True

    async def _next_or_free(self) -> bool:
        """Waits for the next event, or until the agents may go on if they stand."""
        event = asyncio.ensure_future(self._world.next_event(or_belief_change=True))
        free = asyncio.ensure_future(self._may_go.wait())
        try:
            waits = {event} if self._halting else {event, free}
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
            return not event.done() or event.result()
        finally:
            event.cancel()
            free.cancel()

    def _idle(self) -> tuple[str, ...]:
        busy = self._running.keys() | self._done
        return tuple(agent for agent in self._task.agents if agent not in busy)

    def _set_turns(self, agents: Sequence[str], is_ours: bool) -> None:
        if self._on_turn is not None:
            for agent in agents:
                self._on_turn(agent, is_ours)

    async def _decide(self, idle: tuple[str, ...]) -> Decision:
        decision = await self._planner.decide(self._context(idle))
        # A planner that decides for all at once is asked, and waits, while some are busy.
        self.decisions += decision != Decision()
        self.evidence.update(decision.evidence)
        if decision.goal is not None:
            self._world.on_goal(decision.goal)
        return decision

    def _context(self, idle: tuple[str, ...]) -> Context:
        world = self._world
        able = world.capabilities()
        return Context(
            task=self._task,
            belief=world.belief,
            layout=world.layout,
            capabilities={agent: able[agent] for agent in self._task.agents if agent in able},
            running=dict(self._running),
            idle=idle,
            now_s=world.now_s,
            deltas=world.deltas,
            answers=self._answers,
            picture=world.picture,
            messages=world.messages,
        )

    def _end(self, decision: Decision) -> Outcome | None:
        if decision.failure:
            return self._outcome(decision.end, decision.failure, decision.question)
        if decision.question and self._ask is None:
            code = InstructionCode.QUESTION
            return self._outcome(code, "the planner asks back", decision.question)
        return None

    def _start(self, decision: Decision, idle: Sequence[str]) -> bool:
        """Starts calls; returns whether one was answered here, as the operator refused it."""
        refused_again = False
        if decision.calls:
            self.cycle += 1
        if not self._max_cycles or self.cycle <= self._max_cycles:
            for message in decision.messages:
                self._world.say(message)
            calls = {agent: call for agent, call in decision.calls.items() if agent in idle}
            # Before any begins: time must not advance until all have.
            self._set_turns(tuple(calls), True)
            for agent, call in calls.items():
                self._start_call(agent, call)
            # Some calls end immediately.
            refused_again = bool(self._refused_again)
            self._collect()
            if decision.calls:
                self._report(decision.thought)
        self._set_turns([agent for agent in idle if agent not in self._running], False)
        return refused_again

    def _start_call(self, agent: str, call: SkillCall) -> None:
        self.calls += call.name != SkillName.DONE
        self._running[agent] = call
        self._begin(agent, call)

    def _begin(self, agent: str, call: SkillCall) -> None:
        self.journal.begins(call, self._world)
        self._world.on_event(Event(self._world.now_s, agent, call))
        refused = self._refused.get((agent, call))
        if refused is None:
            self._world.start(agent, call)
        else:
            self._refused_again.append(AgentResult(agent, call, refused, self._world.now_s))

    def _report(self, plan: str) -> None:
        self._plan = plan
        calls = {agent: str(self._running.get(agent, "")) for agent in self._task.agents}
        self._world.on_status(Status(self.cycle, plan, calls, dict(self.evidence)))

    def _collect(self) -> bool:
        """Passes ended calls to the planner; returns whether there were any."""
        order = self._task.agents.index
        results = [*self._world.take_results(), *self._refused_again]
        self._refused_again.clear()
        ended = tuple(sorted(results, key=lambda one: order(one.agent)))
        for one in ended:
            self._world.on_event(Event(one.ended_s, one.agent, one.call, one.result))
            canceled = one.result.code is SkillCode.CANCELED
            if canceled and (self.is_held or one.agent in self._halting):
                self._halted.add(one.agent)
        self._halting -= {one.agent for one in ended}
        ended = tuple(one for one in ended if one.agent not in self._halted)
        for one in ended:
            del self._running[one.agent]
            if not one.result.succeeded:
                self.failed += 1
            if operator_refused(one.result.evidence):
                self._refused[one.agent, one.call] = one.result
            if one.call.name != SkillName.DONE:
                self._ended[one.agent] = one
            elif one.result.succeeded:
                # PARTNR-D3: Done is final.
                self._done.add(one.agent)
        if ended:
            self._planner.observe(ended)
        return bool(ended)

    async def _settle(self) -> None:
        """Waits until the memory shows the calls' effects, including calls that end meanwhile."""
        settled = False
        while not settled:
            await self._world.settle(self._task.agents, self._ended)
            self._ended = {}
            settled = not self._collect()

    def _outcome(
        self,
        code: InstructionCode,
        text: str,
        question: str = "",
        error: PlannerError | None = None,
    ) -> Outcome:
        evidence = {
            "planner": self._planner.name,
            "cycles": str(self.cycle),
            "calls": str(self.calls),
            "failed_calls": str(self.failed),
            **self.evidence,
        }
        return Outcome(code, text, question, evidence, error)


# Questions to the person, and their answers.

MAX_CHARACTERS = 1000


class Questions:
    """One open question at a time; runs in the planner's event loop."""

    def __init__(self, limit_s: float) -> None:
        """`limit_s`: wall seconds to wait for each answer."""
        self._limit_s = limit_s
        self._open: asyncio.Future[str] | None = None

    async def ask(self, question: str, show: Callable[[str], None]) -> str | None:
        """Shows a question and waits; None if no answer came in time."""
        self._open = asyncio.get_running_loop().create_future()
        show(f"question: {question}")
        try:
            async with asyncio.timeout(self._limit_s):
                return await self._open or None
        except TimeoutError:
            return None
        finally:
            self._open = None

    @property
    def is_open(self) -> bool:
        """Whether an answer is waited for."""
        return self._open is not None and not self._open.done()

    def drop(self) -> None:
        """Nobody has to answer any more."""
        if self._open is not None and not self._open.done():
            self._open.set_result("")

    def answer(self, text: str) -> bool:
        """Accepts an answer; False if there is no open question, or the text is empty."""
        words = one_line(text[:MAX_CHARACTERS])
        if self._open is None or self._open.done() or not words:
            return False
        self._open.set_result(words)
        return True
