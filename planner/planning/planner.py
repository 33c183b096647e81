"""The interface of planners: a task, what a planner sees and decides, and messages of a team."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from pydantic import JsonValue

from planner.models.chat import Picture
from planner.world.belief import Belief
from planner.world.episode import Episode, Prior
from planner.world.geometry import record
from planner.world.house import House
from planner.world.primitive import Capabilities
from planner.world.skill import SkillCall, SkillResult
from planner.world.topics import InstructionCode, one_line
from planner.world.vocabulary import Relation

if TYPE_CHECKING:
    # Commands that list planners load this module, and not the rules of language.
    from planner.language.goal_form import Goal as Meaning

# Messages between agents whose planners share nothing else (LLAMAR-D95).

MAX_CHARACTERS = 500


@record
class TeamMessage:
    """What one agent says to all others.

    Attributes:
        sender: the memory's name, `agent_0`.
        text: one line of at most `MAX_CHARACTERS`.
    """

    sender: str
    text: str

    @staticmethod
    def of(sender: str, text: str) -> TeamMessage:
        """Any text as a message; what is too long is cut."""
        return TeamMessage(sender, one_line(text)[:MAX_CHARACTERS])


@dataclass(frozen=True, slots=True)
class AgentResult:
    """The result of an agent's skill call."""

    agent: str
    call: SkillCall
    result: SkillResult
    ended_s: float


@dataclass(frozen=True, slots=True)
class Terms:
    """The terms of a task of ET-Plan-Bench, which tell nothing of its goal (ETPLAN-1.2).

    Attributes:
        prior: what is known at the start: P, FP or G.
        arms: how many things may be carried at a time.
        max_actions: after how many actions it has failed; None = by what is brought.
    """

    prior: Prior = "P"
    arms: int = 1
    max_actions: int | None = None


@dataclass(frozen=True, slots=True)
class Task:
    """A task: the instruction, the agents, and the structured goal if there is one.

    `goal` is the `evaluation` of the episode file (PARTNR-D7); None for free text. `terms` are
    those of a task with criteria; None for others. `meaning` is what the instruction means where
    that is known without reading it; None for most.
    """

    instruction: str
    agents: tuple[str, ...]
    goal: Mapping[str, JsonValue] | None = None
    seed: int = 0
    terms: Terms | None = None
    meaning: Meaning | None = None


def terms_of(episode: Episode) -> Terms | None:
    """The terms of an episode with criteria."""
    criteria = episode.criteria
    if criteria is None:
        return None
    return Terms(criteria.prior, criteria.arms, criteria.max_actions)


@dataclass(frozen=True, slots=True)
class Exchange:
    """A question to the person and the answer; None if there was none in time."""

    question: str
    answer: str | None


def no_deltas(_since: int) -> Sequence[str]:
    """For planners that read only the belief."""
    return ()


def no_picture(_agent: str) -> Picture | None:
    """For worlds in which nobody takes pictures for planners."""
    return None


@record
class Context:
    """The input of a decision.

    Attributes:
        belief: the memory's snapshot.
        layout: the house's rooms, doors and furniture (its `objects` are empty).
        capabilities: what each agent of the task can do.
        running: the call that each busy agent is carrying out.
        idle: the agents that need a call now.
        now_s: seconds of the world's clock.
        deltas: the memory's lines since a sequence number up to the belief's, net effect per
            entity (EPM-2.5).
        answers: questions to the person so far, oldest first.
        messages: what agents of the task said to each other so far, oldest first.
        picture: what an agent's hand camera shows now; None if there is no picture. Rendered or
            decoded only when it is called.
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
    picture: Callable[[str], Picture | None] = no_picture
    messages: tuple[TeamMessage, ...] = ()


@record
class Decision:
    """Calls for idle agents (an agent without one stays idle), and the reasoning, for people.

    `Done[]` of every agent ends the task. `question` asks the person instead of acting; `failure`
    ends the task with this text and the code `end`, and with `question` if that has to be answered
    first. `evidence` is added to the task's result. `goal` is what the planner has understood, for
    others to see; None = as before. `messages` are said before the calls begin; agents
    hear them in the next decision.
    """

    calls: Mapping[str, SkillCall] = field(default_factory=dict)
    thought: str = ""
    question: str = ""
    failure: str = ""
    end: InstructionCode = InstructionCode.GAVE_UP
    evidence: Mapping[str, str] = field(default_factory=dict)
    goal: Mapping[str, JsonValue] | None = None
    messages: tuple[TeamMessage, ...] = ()


class Planner(Protocol):
    """Decides what agents do next. One instance is used for one task."""

    @property
    def name(self) -> str:
        """The value of the bring-up argument `planner`."""

    async def decide(self, context: Context) -> Decision:
        """The calls for the idle agents; may be cancelled.

        Raises:
            PlannerError: if the planner cannot decide, for instance without its model.
        """

    def observe(self, results: tuple[AgentResult, ...]) -> None:
        """Receives the calls that have ended, before the next `decide`."""


@dataclass(frozen=True, slots=True)
class Change:
    """How an instruction was changed while it was carried out.

    Attributes:
        other: words of the new one that mean another thing than so far; "" = none.
        places: where things were that were picked up, also those that are held now.
    """

    other: str = ""
    places: Mapping[str, tuple[Relation, str]] = field(default_factory=dict)


@runtime_checkable
class Continues(Protocol):
    """A planner that can go on where another one was when the instruction was changed."""

    def take_over(self, former: Planner, change: Change) -> None:
        """Takes what is known of the task so far; called before the first `decide`."""


@runtime_checkable
class TellsParts(Protocol):
    """A planner that can say which parts of the instruction are done."""

    @property
    def parts(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """In words: what is done, and what is left."""
