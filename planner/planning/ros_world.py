"""The world of a session over ROS; runs in the planner's event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Protocol

from pydantic import JsonValue

from planner.models.picture import Picture
from planner.planning.belief_wait import BeliefSource, BeliefWait
from planner.planning.messages import TeamMessage
from planner.planning.planner import AgentResult, no_picture
from planner.planning.ros_messages import RosMessages
from planner.planning.session_world import Event, OnGoal, Status, ignore_goal
from planner.world.belief import Belief
from planner.world.errors import PlannerError
from planner.world.house import House
from planner.world.primitive import Capabilities
from planner.world.skill import SkillCall, SkillCode, SkillName, SkillResult

# Starts a call; the last argument receives its result, from any thread.
StartSkill = Callable[[str, SkillCall, Callable[[SkillResult], None]], None]


class RosInputs(BeliefSource, Protocol):
    """What was received over ROS; see `planner.planning.ros_inputs.RosInputs`."""

    @property
    def layout(self) -> House:
        """The house without its objects."""

    def capabilities(self) -> Mapping[str, Capabilities]:
        """The capabilities of each agent that the memory knows."""

    def deltas(self, since: int) -> Sequence[str]:
        """The memory's lines since a number up to the belief's."""

    def notify(self) -> None:
        """Wakes the waiters."""

    def is_settled(self, agent: str, stamp_s: float) -> bool:
        """Whether no running call of an agent ended by then."""

    def unsettle(self, agent: str) -> None:
        """An agent starts a call, which may end at once."""


class RosWorld:
    """Reads what was received and sends calls to the skill executors."""

    def __init__(
        self,
        inputs: RosInputs,
        start: StartSkill,
        cancel: Callable[[str], None],
        log: Callable[[str], None],
        on_status: Callable[[Status], None],
        on_goal: OnGoal = ignore_goal,
        picture: Callable[[str], Picture | None] = no_picture,
        talk: RosMessages | None = None,
    ) -> None:
        """`start` and `cancel` act on an agent's skill executor; `picture` is as in `Context`.

        `talk` carries what agents say; None for planners whose agents say nothing.
        """
        self._inputs, self._start, self._cancel = inputs, start, cancel
        self._log, self._on_status, self._on_goal = log, on_status, on_goal
        self._picture, self._talk = picture, talk
        self._wait = BeliefWait(inputs, log)
        self._running: dict[str, SkillCall] = {}
        self._done: list[AgentResult] = []
        self._ended: list[AgentResult] = []
        self._ended_s = 0.0

    @property
    def belief(self) -> Belief:
        """The newest belief."""
        return self._inputs.belief

    @property
    def layout(self) -> House:
        """The house without its objects."""
        return self._inputs.layout

    @property
    def now_s(self) -> float:
        """Seconds of the world's clock at the newest belief."""
        return self.belief.stamp_s

    def capabilities(self) -> Mapping[str, Capabilities]:
        """The capabilities of each agent that the memory knows."""
        return self._inputs.capabilities()

    def deltas(self, since: int) -> Sequence[str]:
        """The memory's lines since a number up to the belief's."""
        return self._inputs.deltas(since)

    def picture(self, agent: str) -> Picture | None:
        """The newest picture of an agent's hand camera."""
        return self._picture(agent)

    @property
    def messages(self) -> tuple[TeamMessage, ...]:
        """What agents have said, once it came back over ROS."""
        return self._talk.heard if self._talk is not None else ()

    def say(self, message: TeamMessage) -> None:
        """Publishes what an agent says.

        Raises:
            PlannerError: for a planner whose record does not say that its agents talk.
        """
        if self._talk is None:
            raise PlannerError("the planner's record has to say `talks` for its agents' messages")
        self._talk.say(message)

    def start(self, agent: str, call: SkillCall) -> None:
        """Sends a call to the agent's skill executor; Done does not need one."""
        if call.name == SkillName.DONE:
            # The world has no part in it, so that there is nothing to wait for.
            self._done.append(AgentResult(agent, call, SkillResult.success(), self.now_s))
            return
        self._inputs.unsettle(agent)
        self._running[agent] = call
        loop = asyncio.get_running_loop()

        def hear(result: SkillResult) -> None:
            loop.call_soon_threadsafe(partial(self._end, agent, call, result))

        self._start(agent, call, hear)

    def _end(self, agent: str, call: SkillCall, result: SkillResult) -> None:
        del self._running[agent]
        ended_s = self.now_s if result.ended_s is None else result.ended_s
        # An executor's clock may be behind the world's; no call ends before one that it followed.
        self._ended_s = max(self._ended_s, ended_s)
        self._ended.append(AgentResult(agent, call, result, ended_s))
        self._inputs.notify()

    @property
    def _is_complete(self) -> bool:
        """Whether all results of the newest moment are here, for which lockstep waits."""
        return all(self._inputs.is_settled(agent, self._ended_s) for agent in self._running)

    def take_results(self) -> Sequence[AgentResult]:
        """The calls that ended since this was last called; in lockstep all of one moment."""
        done, self._done = self._done, []
        if self._is_complete:
            done, self._ended = [*done, *self._ended], []
        return done

    async def next_event(self, *, or_belief_change: bool) -> bool:
        """Waits until a call has ended or, with `or_belief_change`, any input has arrived."""
        while not (self._ended and self._is_complete):
            await self._inputs.changed()
            if or_belief_change:
                break
        return True

    async def settle(self, agents: Sequence[str], ended: Mapping[str, AgentResult]) -> None:
        """Waits for the memory, which receives the results separately."""
        await self._wait.until_shown(ended)
        await self._wait.until_known(agents)
        if self._talk is not None:
            await self._talk.settle()

    async def stop(self) -> None:
        """Cancels every running call; returns when all agents have stopped."""
        for agent in self._running:
            self._cancel(agent)
        while self._running:
            await self._inputs.changed()

    def on_event(self, event: Event) -> None:
        """Logs the event."""
        self._log(_line(event))

    def on_status(self, status: Status) -> None:
        """Passes the status on."""
        self._on_status(status)

    def on_goal(self, goal: Mapping[str, JsonValue]) -> None:
        """Passes the understood goal on."""
        self._on_goal(goal)


def _line(event: Event) -> str:
    agent, call, result = event.agent, event.call, event.result
    if result is None:
        return f"{agent} begins {call}"
    if result.succeeded:
        return f"{agent} did {call}"
    return f"{agent} failed {call}: {SkillCode(result.code).name}: {result.text}"
