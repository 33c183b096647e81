"""The interface between a session and what executes its calls: ROS, or this process."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from pydantic import JsonValue

from planner.models.picture import Picture
from planner.planning.messages import TeamMessage
from planner.planning.planner import AgentResult
from planner.world.belief import Belief
from planner.world.house import House
from planner.world.primitive import Capabilities
from planner.world.skill import SkillCall, SkillResult

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

    async def stop(self) -> None:
        """Cancels every running call; returns when all agents have stopped."""

    def on_event(self, event: Event) -> None:
        """Receives each call that starts or ends, in order."""

    def on_status(self, status: Status) -> None:
        """Receives the status after each decision that gave calls."""

    def on_goal(self, goal: Mapping[str, JsonValue]) -> None:
        """Receives the goal that the planner has understood, whenever that has changed."""
