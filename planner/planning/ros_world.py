"""The world of a session over ROS: calls, waiting for the memory, and messages of agents."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence

from pydantic import JsonValue

from planner.models.chat import Picture
from planner.parts.calls import SKILLS
from planner.planning.planner import AgentResult, TeamMessage, no_picture
from planner.planning.planner_inputs import RosInputs
from planner.planning.session import Event, OnGoal, Status, ignore_goal
from planner.world.belief import Belief, BeliefNode
from planner.world.catalogue import has_slices
from planner.world.errors import PlannerError
from planner.world.house import House
from planner.world.primitive import Capabilities
from planner.world.skill import (
    Divided,
    OpenedTo,
    PickedUp,
    PutDown,
    SkillCall,
    SkillCode,
    SkillEffect,
    SkillName,
    SkillResult,
    StateSet,
)
from planner.world.vocabulary import Relation, is_open

# Messages between agents over ROS: each is said on its sender's topic and heard from there.

# Wall seconds after which a message that was sent and not heard is given up.
ECHO_TIMEOUT_S = 2.0


class RosMessages:
    """What the agents of one instruction have heard; used in the planner's event loop.

    A message counts once it came back over its topic, so that a planner decides by what every
    listener has heard, and others may speak for agents, too.
    """

    def __init__(
        self,
        agents: Sequence[str],
        send: Callable[[TeamMessage], None],
        changed: Callable[[], Awaitable[None]],
        log: Callable[[str], None],
    ) -> None:
        """Takes what publishes a message, and what returns after anything was received."""
        self._order = {agent: place for place, agent in enumerate(agents)}
        self._send, self._changed, self._log = send, changed, log
        self._sent: list[TeamMessage] = []
        self._new: list[TeamMessage] = []
        self._heard: tuple[TeamMessage, ...] = ()

    @property
    def heard(self) -> tuple[TeamMessage, ...]:
        """All so far, oldest first; those of one moment in the order of the agents."""
        return self._heard

    def say(self, message: TeamMessage) -> None:
        """Publishes a message."""
        self._sent.append(message)
        self._send(message)

    def hear(self, message: TeamMessage) -> None:
        """Receives a message from a topic."""
        if message in self._sent:
            self._sent.remove(message)
        self._new.append(message)

    async def settle(self) -> None:
        """Waits until all that was said has been heard."""
        try:
            async with asyncio.timeout(ECHO_TIMEOUT_S):
                while self._sent:
                    await self._changed()
        except TimeoutError:
            for message in self._sent:
                self._log(f"a message of {message.sender} was lost: {message.text[:80]!r}")
            self._sent.clear()
        last = len(self._order)
        self._new.sort(key=lambda message: self._order.get(message.sender, last))
        self._heard += tuple(self._new)
        self._new.clear()


# Whether a belief already shows the effects of a skill.
#
# A skill's result and the memory's update arrive separately; a decision made in between would be
# based on an outdated belief.


def is_shown(belief: Belief, agent: str, call: SkillCall) -> bool:
    """Whether the belief agrees with a call that succeeded; True for calls without an effect."""
    part = SKILLS.find(call.name)
    return part is None or all(_is_shown(belief, agent, call, e) for e in part.effects)


def _is_shown(belief: Belief, agent: str, call: SkillCall, effect: SkillEffect) -> bool:
    def named(index: int) -> BeliefNode | None:
        return belief.find(call.arguments[index] or "")

    # For a name that the memory does not have, waiting is pointless.
    match effect:
        case PickedUp(index):
            thing = named(index)
            return thing is None or (thing.relation is Relation.HELD and thing.parent == agent)
        case PutDown(index, furniture):
            thing, place = named(index), named(furniture)
            if thing is None or place is None:
                return True
            return thing.relation is not Relation.HELD and thing.parent == place.name
        case OpenedTo(openness, index):
            piece = named(index)
            shown = is_open(piece.openness) if piece is not None else None
            return shown is None or shown is is_open(openness)
        case StateSet(state, value, index):
            entity = named(index)
            return entity is None or entity.states.get(state, value) is value
        case Divided(index):
            entity = named(index)
            return entity is None or not has_slices(entity.class_name)
    return True


# Waiting, with a timeout, until the memory's node has heard of skills that ended.
#
# A result, the memory's report of it and pictures travel separately: a decision made in between
# would be based on what was before, such as the direction that an agent faced before it turned.

# Wall seconds to wait for the memory; then planning continues with the current belief.
EFFECT_TIMEOUT_S = 2.0
# Wall seconds that a restarted memory has to publish the agents again.
AGENTS_TIMEOUT_S = 10.0
# Stamps go through nanoseconds and back.
_EQUAL_S = 1e-6


class BeliefWait:
    """The waits of one session."""

    def __init__(self, source: RosInputs, log: Callable[[str], None]) -> None:
        self._source, self._log = source, log
        self._known: set[str] = set()

    async def until_shown(self, ended: Mapping[str, AgentResult]) -> None:
        """Waits until the memory has heard of all calls and shows their effects, or the timeout.

        With its report of a call, the memory publishes all that it learned until then, the lines
        of the changes over a topic of their own.
        """
        heard_s = max(_reported_s(ended.values()), default=-math.inf) - _EQUAL_S
        try:
            async with asyncio.timeout(EFFECT_TIMEOUT_S):
                while self._source.lacks_changes or not self._shows(heard_s, ended):
                    await self._source.changed()
        except TimeoutError:
            self._source.make_up()
            late = ", ".join(f"{agent} ended {one.call}" for agent, one in ended.items())
            lacking = f"does not show that {late}" if late else "has not told all that it shows"
            self._log(f"the memory {lacking}; going on with what it shows")

    def _shows(self, heard_s: float, ended: Mapping[str, AgentResult]) -> bool:
        belief = self._source.belief
        return belief.stamp_s >= heard_s and all(
            is_shown(belief, agent, one.call)
            for agent, one in ended.items()
            if one.result.succeeded
        )

    async def until_known(self, agents: Sequence[str]) -> None:
        """Waits for known agents that a restarted memory lacks.

        Raises:
            PlannerError: after the timeout.
        """
        try:
            async with asyncio.timeout(AGENTS_TIMEOUT_S):
                while not self._known <= self._source.belief.nodes.keys():
                    await self._source.changed()
        except TimeoutError:
            lost = ", ".join(sorted(self._known - self._source.belief.nodes.keys()))
            raise PlannerError(f"the memory no longer has {lost}") from None
        self._known.update(a for a in agents if a in self._source.belief.nodes)


def _reported_s(ended: Iterable[AgentResult]) -> list[float]:
    """When calls ended of which the memory gets a report.

    One that never began has no duration and no report; nor has one whose executor has died.
    """
    results = (one.result for one in ended)
    return [r.ended_s for r in results if r.ended_s is not None and r.duration_s is not None]


# Wall seconds for which a call is repeated whose agent is busy with somebody else's, and between.
BUSY_TIMEOUT_S, BUSY_PAUSE_S = 60.0, 1.0

# Starts a call; the last argument receives its result, from any thread.
StartSkill = Callable[[str, SkillCall, Callable[[SkillResult], None]], None]


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
        # Of calls whose agent was busy: until when they are repeated, and the next time.
        self._repeat_until_s: dict[str, float] = {}
        self._paused: dict[str, asyncio.TimerHandle] = {}
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
        """Sends a call to the agent's skill executor; Done does not need one.

        While the agent does what somebody else asked of it, such as a call from the console, the
        call is repeated for a while.
        """
        if call.name == SkillName.DONE:
            # The world has no part in it, so that there is nothing to wait for.
            self._done.append(AgentResult(agent, call, SkillResult.success(), self.now_s))
            return
        self._inputs.unsettle(agent)
        self._running[agent] = call
        self._repeat_until_s[agent] = asyncio.get_running_loop().time() + BUSY_TIMEOUT_S
        self._send(agent, call)

    def _send(self, agent: str, call: SkillCall) -> None:
        loop = asyncio.get_running_loop()
        self._paused.pop(agent, None)

        def answered(result: SkillResult) -> None:
            if result.code is SkillCode.BUSY and loop.time() < self._repeat_until_s[agent]:
                self._paused[agent] = loop.call_later(BUSY_PAUSE_S, self._send, agent, call)
            else:
                self._end(agent, call, result)

        def hear(result: SkillResult) -> None:
            loop.call_soon_threadsafe(answered, result)

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

    def halt(self) -> None:
        """Cancels every running call; each ends as soon as its agent stands."""
        for agent, call in list(self._running.items()):
            self._repeat_until_s[agent] = -math.inf
            if (paused := self._paused.pop(agent, None)) is None:
                self._cancel(agent)
            else:
                paused.cancel()
                self._end(agent, call, SkillResult.failure(SkillCode.CANCELED, "It never began."))

    async def stop(self) -> None:
        """Cancels every running call; returns when all agents have stopped."""
        self.halt()
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
