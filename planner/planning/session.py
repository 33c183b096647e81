"""One instruction from its words to its end: deciding, acting, waiting, stopping. No ROS here."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from planner.planning.effects_shown import is_shown
from planner.planning.llm.chat import ModelError
from planner.planning.planner import (
    AgentResult,
    Context,
    Decision,
    Exchange,
    Planner,
    Task,
)
from planner.world.belief import Belief
from planner.world.errors import PlannerError
from planner.world.house import House
from planner.world.instruct import InstructionCode as InstructionCode
from planner.world.primitive import Capabilities
from planner.world.skill import SkillCall, SkillCode, SkillName, SkillResult

Ask = Callable[[str], Awaitable[str | None]]
# Hears whether an agent is to be waited for: it is thought about, or carries out what was decided.
Turn = Callable[[str, bool], None]

# Wall seconds that a decision waits for the memory to show what skills did.
NEWS_PATIENCE_S = 2.0
# Wall seconds that a decision waits for a memory that began anew to tell of the agents again.
AGENTS_PATIENCE_S = 10.0


@dataclass(frozen=True, slots=True)
class Outcome:
    """The end of an instruction in words; `question` where the planner asks back."""

    code: InstructionCode
    text: str
    question: str = ""
    evidence: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Doing:
    """What is going on, for feedback: planning cycle, the plan in words, each agent's call."""

    cycle: int
    plan: str
    calls: Mapping[str, str]


class World(Protocol):
    """What a session needs of whatever is around it."""

    @property
    def belief(self) -> Belief:
        """The newest belief."""

    @property
    def layout(self) -> House:
        """The house without its things."""

    @property
    def now_s(self) -> float:
        """Seconds of the world's clock."""

    def capabilities(self) -> Mapping[str, Capabilities]:
        """What each agent can do."""

    def deltas(self, since: int) -> Sequence[str]:
        """The memory's lines since a number up to the belief's."""

    def carry_out(self, agent: str, call: SkillCall) -> Awaitable[SkillResult]:
        """Begins a call and awaits its end; cancelling the await stops the agent."""

    async def news(self) -> None:
        """Returns when the belief has changed."""

    def tell(self, line: str) -> None:
        """Hears the story."""

    def show(self, doing: Doing) -> None:
        """Hears what is going on whenever that changes."""


class Session:
    """Carries out one task with one planner."""

    def __init__(
        self,
        task: Task,
        planner: Planner,
        world: World,
        most_cycles: int = 0,
        ask: Ask | None = None,
        turn: Turn | None = None,
    ) -> None:
        """Takes at most `most_cycles` decisions that give calls; 0 = the planner's own limit.

        `ask` asks the person and returns the answer, or None where none came in time; without
        it a question of the planner ends the session.
        """
        self._task, self._planner, self._world = task, planner, world
        self._most, self._ask = most_cycles, ask
        self._turn: Turn = turn or _nobody
        self._answers: tuple[Exchange, ...] = ()
        self._evidence: dict[str, str] = {}
        self._running: dict[str, tuple[SkillCall, asyncio.Future[SkillResult]]] = {}
        self._unseen: dict[str, SkillCall] = {}
        self._done: set[str] = set()
        self._met: set[str] = set()
        self.cycle = 0
        self.calls = 0
        self.failed = 0

    async def run(self) -> Outcome:
        """Runs to the end; a cancelled run has stopped all agents when it returns."""
        self._turns(self._task.agents, True)
        try:
            return await self._run_to_end()
        finally:
            self._turns(self._task.agents, False)

    async def _run_to_end(self) -> Outcome:
        try:
            outcome = await self._run()
        except asyncio.CancelledError:
            await self._stop()
            return self._outcome(InstructionCode.CANCELED, "canceled; all agents have stopped")
        except ModelError as error:
            outcome = self._outcome(InstructionCode.MODEL_FAULT, str(error))
        except PlannerError as error:
            outcome = self._outcome(InstructionCode.PLANNER_FAULT, str(error))
        await self._stop()
        return outcome

    async def _run(self) -> Outcome:
        while True:
            await self._catch_up()
            await self._meet()
            idle = [a for a in self._task.agents if a not in self._running and a not in self._done]
            if idle:
                decision = await self._planner.decide(self._context(tuple(idle)))
                self._evidence.update(decision.evidence)
                end = self._end(decision)
                if end is not None:
                    return end
                self._begin(decision)
                self._turns([agent for agent in idle if agent not in self._running], False)
                if decision.question and self._ask is not None:
                    answer = await self._ask(decision.question)
                    self._answers += (Exchange(decision.question, answer),)
                    continue
            if len(self._done) == len(self._task.agents):
                return self._outcome(InstructionCode.DONE, decision.thought or "done")
            if self._over():
                return self._outcome(
                    InstructionCode.CALL_LIMIT, f"the limit of {self._most} cycles is reached"
                )
            await self._something_happens()

    def _turns(self, agents: Sequence[str], ours: bool) -> None:
        for agent in agents:
            self._turn(agent, ours)

    def _over(self) -> bool:
        return 0 < self._most <= self.cycle and not self._running

    def _context(self, idle: tuple[str, ...]) -> Context:
        world = self._world
        return Context(
            task=self._task,
            belief=world.belief,
            layout=world.layout,
            capabilities=world.capabilities(),
            running={agent: call for agent, (call, _) in self._running.items()},
            idle=idle,
            now_s=world.now_s,
            deltas=world.deltas,
            answers=self._answers,
        )

    def _end(self, decision: Decision) -> Outcome | None:
        if decision.question and self._ask is None:
            return self._outcome(
                InstructionCode.QUESTION, "the planner asks back", decision.question
            )
        if not decision.failure:
            return None
        code = InstructionCode.GAVE_UP
        if decision.failure.startswith("planner limit"):
            code = InstructionCode.CALL_LIMIT
        elif self._task.goal is None and not self.calls:
            code = InstructionCode.NO_GOAL
        return self._outcome(code, decision.failure)

    def _begin(self, decision: Decision) -> None:
        calls = decision.calls
        if calls:
            self.cycle += 1
        if self._most and self.cycle > self._most:
            return
        for agent, call in calls.items():
            if call.name is SkillName.DONE:
                self._done.add(agent)
                self._world.tell(f"{agent} is done: {decision.thought}")
                continue
            self.calls += 1
            self._world.tell(f"{agent} begins {call}")
            self._turn(agent, True)
            future = asyncio.ensure_future(self._world.carry_out(agent, call))
            self._running[agent] = (call, future)
        if calls:
            self._show(decision.thought)

    def _show(self, plan: str) -> None:
        calls = {
            agent: str(self._running[agent][0]) if agent in self._running else ""
            for agent in self._task.agents
        }
        self._world.show(Doing(self.cycle, plan, calls))

    async def _something_happens(self) -> None:
        """Waits for the end of a call or, while somebody is idle, for news."""
        waiting: set[asyncio.Future[object]] = {f for _, f in self._running.values()}  # type: ignore[misc]
        idle = len(self._running) + len(self._done) < len(self._task.agents)
        news = asyncio.ensure_future(self._world.news()) if idle or not waiting else None
        if news is not None:
            waiting.add(news)  # type: ignore[arg-type]
        try:
            await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        finally:
            if news is not None:
                news.cancel()
        self._collect()

    def _collect(self) -> None:
        ended = []
        for agent, (call, future) in list(self._running.items()):
            if not future.done():
                continue
            del self._running[agent]
            result = future.result()
            ended.append(AgentResult(agent, call, result, self._world.now_s))
            if result.succeeded:
                self._unseen[agent] = call
                self._world.tell(f"{agent} did {call}")
            else:
                self.failed += 1
                self._world.tell(
                    f"{agent} failed {call}: {SkillCode(result.code).name}: {result.text}"
                )
        if ended:
            self._planner.observe(tuple(ended))

    async def _catch_up(self) -> None:
        """Lets the memory show what skills did, but not for ever: it may see it otherwise."""
        if not self._unseen:
            return
        try:
            async with asyncio.timeout(NEWS_PATIENCE_S):
                while not all(
                    is_shown(self._world.belief, agent, call)
                    for agent, call in self._unseen.items()
                ):
                    await self._world.news()
        except TimeoutError:
            late = ", ".join(f"{agent} did {call}" for agent, call in self._unseen.items())
            self._world.tell(f"the memory does not show that {late}; going on with what it shows")
        self._unseen.clear()

    async def _meet(self) -> None:
        """Waits for agents that were known and that a memory that began anew lacks.

        Raises:
            PlannerError: where it does not tell of them in time.
        """
        try:
            async with asyncio.timeout(AGENTS_PATIENCE_S):
                while not self._met <= self._world.belief.nodes.keys():
                    await self._world.news()
        except TimeoutError:
            lost = ", ".join(sorted(self._met - self._world.belief.nodes.keys()))
            raise PlannerError(f"the memory no longer tells of {lost}") from None
        self._met.update(a for a in self._task.agents if a in self._world.belief.nodes)

    async def _stop(self) -> None:
        futures = [future for _, future in self._running.values()]
        for future in futures:
            future.cancel()
        await asyncio.gather(*futures, return_exceptions=True)
        self._running.clear()

    def _outcome(self, code: InstructionCode, text: str, question: str = "") -> Outcome:
        evidence = {
            "planner": self._planner.name,
            "cycles": str(self.cycle),
            "calls": str(self.calls),
            "failed_calls": str(self.failed),
            **self._evidence,
        }
        return Outcome(code, text, question, evidence)


def _nobody(_agent: str, _ours: bool) -> None:
    """Waits for nobody."""
