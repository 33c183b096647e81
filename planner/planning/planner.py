"""The seam between the task-planner node and a planner."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from pydantic import JsonValue

from planner.world.belief import Belief
from planner.world.house import House
from planner.world.instruct import InstructionCode
from planner.world.primitive import Capabilities
from planner.world.record import record
from planner.world.skill import SkillCall, SkillResult


@dataclass(frozen=True, slots=True)
class AgentResult:
    """A skill call of an agent that ended."""

    agent: str
    call: SkillCall
    result: SkillResult
    ended_s: float


@dataclass(frozen=True, slots=True)
class Task:
    """What is asked: the words, who shall do it, and the structured goal where there is one.

    `goal` is the `evaluation` of the episode file (PARTNR-D7); None for free text.
    """

    instruction: str
    agents: tuple[str, ...]
    goal: Mapping[str, JsonValue] | None = None
    seed: int = 0


@dataclass(frozen=True, slots=True)
class Exchange:
    """A question to the person and the answer; None where none came in time."""

    question: str
    answer: str | None


def no_deltas(_since: int) -> Sequence[str]:
    """For planners that read the belief only."""
    return ()


@record
class Context:
    """What a planner may know when it decides.

    Attributes:
        belief: the memory's snapshot.
        layout: the house's rooms, doors and furniture (its `objects` are empty).
        capabilities: what each agent of the task can do.
        running: the call that each busy agent is carrying out.
        idle: the agents that need a call now.
        now_s: seconds of the world's clock.
        deltas: the memory's lines since a sequence number up to the belief's, net effect per
            entity (EPM-2.5).
        answers: what the person was asked so far, oldest first.
    """

    task: Task
    belief: Belief
    layout: House
    capabilities: Mapping[str, Capabilities]
    running: Mapping[str, SkillCall]
    idle: tuple[str, ...]
    now_s: float
    deltas: Callable[[int], Sequence[str]] = no_deltas
    answers: tuple[Exchange, ...] = ()


@record
class Decision:
    """Calls for idle agents (each may be missing: it stays idle), and why, for people.

    `Done[]` of every agent ends the task. `question` is asked back instead of acting;
    `failure` gives up in words, with `end` as the code of the task's end. `evidence` is kept with
    the task's result, the newest value of each key.
    """

    calls: Mapping[str, SkillCall] = field(default_factory=dict)
    thought: str = ""
    question: str = ""
    failure: str = ""
    end: InstructionCode = InstructionCode.GAVE_UP
    evidence: Mapping[str, str] = field(default_factory=dict)


class Planner(Protocol):
    """Decides what agents do next. One instance carries out one task."""

    @property
    def name(self) -> str:
        """As in the bring-up's argument `planner`."""

    async def decide(self, context: Context) -> Decision:
        """What the idle agents do now; awaited off the node's callbacks, may be cancelled.

        Raises:
            PlannerError: where the planner cannot work, such as without its model.
        """

    def observe(self, results: tuple[AgentResult, ...]) -> None:
        """Takes note of calls that ended, before the next `decide`."""
