"""Skill calls in PARTNR's syntax, their results, and their effects as data."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum, StrEnum
from typing import TypeAlias

from planner.world.geometry import Vec3
from planner.world.vocabulary import Hands, first_held

SUCCESS_TEXT = "Successful execution!"
FAILURE_PREFIX = "Unexpected failure! - "


class SkillName(StrEnum):
    """The skills of the papers; installed ones are in `planner.parts.calls.SKILLS`."""

    NAVIGATE = "Navigate"
    EXPLORE = "Explore"
    EXPLORE_FURNITURE = "ExploreFurniture"
    OPEN = "Open"
    CLOSE = "Close"
    PICK = "Pick"
    PLACE = "Place"
    REARRANGE = "Rearrange"
    WAIT = "Wait"
    DONE = "Done"
    CLEAN = "Clean"
    FILL = "Fill"
    POUR = "Pour"
    POWER_ON = "PowerOn"
    POWER_OFF = "PowerOff"
    FIND_OBJECT = "FindObjectTool"
    FIND_RECEPTACLE = "FindReceptacleTool"
    FIND_ROOM = "FindRoomTool"
    FIND_AGENT_ACTION = "FindAgentActionTool"


class Role(StrEnum):
    """What an argument must be."""

    OBJECT = "object"
    FURNITURE = "furniture"
    RECEPTACLE = "furniture, or an object with an inside or a top"
    ROOM = "room"
    OBJECT_OR_FURNITURE = "object or furniture"
    TARGET = "furniture, room or object"
    RELATION = "on or within"
    CONSTRAINT = "next_to or None"
    REFERENCE = "object, furniture or None"
    PERSON = "person"
    DESTINATION = "furniture, room or None"
    TEXT = "text"


ENTITY_ROLES = frozenset({
    Role.OBJECT, Role.FURNITURE, Role.RECEPTACLE, Role.ROOM, Role.OBJECT_OR_FURNITURE,
    Role.TARGET, Role.REFERENCE, Role.PERSON, Role.DESTINATION,
})  # fmt: skip
PLACE_ROLES = (Role.OBJECT, Role.RELATION, Role.RECEPTACLE, Role.CONSTRAINT, Role.REFERENCE)


class SkillCode(IntEnum):
    """How a skill call ended. The numbers are part of the ROS interface and never change."""

    SUCCESS = 0
    CANCELED = 1
    UNPARSABLE = 2
    UNKNOWN_SKILL = 3
    WRONG_ARGUMENTS = 4
    UNKNOWN_ENTITY = 5
    WRONG_ROLE = 6
    NOT_ABLE = 7
    NOT_GROUNDED = 8
    ALREADY_HOLDING = 9
    NOT_HOLDING = 10
    TOO_FAR = 11
    NOT_VISIBLE = 12
    NOT_ARTICULATED = 13
    FURNITURE_CLOSED = 14
    NO_AFFORDANCE = 15
    NO_FAUCET = 16
    REFERENCE_ELSEWHERE = 17
    HELD_BY_OTHER = 18
    UNREACHABLE = 19
    NO_PLACEMENT = 20
    GRASP_FAILED = 21
    TIMED_OUT = 22
    SOURCE_EMPTY = 23
    NOT_ALLOWED = 24
    BUSY = 25
    BLOCKED = 26
    BACKEND_FAULT = 27
    NEED_UNMET = 28


@dataclass(frozen=True, slots=True)
class SkillCall:
    """A parsed call; `arguments` has None for the syntax's None. Roles are not checked yet."""

    name: str
    arguments: tuple[str | None, ...] = ()

    def __str__(self) -> str:
        words = ", ".join("None" if a is None else a for a in self.arguments)
        return f"{self.name}[{words}]"


@dataclass(frozen=True, slots=True)
class SkillResult:
    """The result of a call.

    Attributes:
        code: stable.
        text: literal, for models.
        evidence: further information for people and logs; code reads only what
            `planner.world.primitive` describes, and what planners show models.
        position_m: where the object was picked up or put down, in `map`; None if unknown.
        hands: what each hand of the agent is believed to hold afterwards; None = unknown.
        duration_s: on the world's clock; None = unknown.
        part_of: the call of which this one was a step; "" = a call of its own.
        rule: number of the safety rule that refused; 0 = none.
        ended_s: when it ended, on the world's clock; None = unknown.
    """

    code: SkillCode
    text: str
    evidence: dict[str, str] = field(default_factory=dict)
    position_m: Vec3 | None = None
    hands: Hands | None = None
    duration_s: float | None = None
    part_of: str = ""
    rule: int = 0
    ended_s: float | None = None

    @property
    def holding(self) -> str | None:
        """What the first full hand is believed to hold, "" = nothing; None = unknown."""
        return None if self.hands is None else first_held(self.hands) or ""

    @property
    def succeeded(self) -> bool:
        """Whether the skill succeeded."""
        return self.code is SkillCode.SUCCESS

    @staticmethod
    def success(**evidence: str) -> SkillResult:
        """The paper's success text."""
        return SkillResult(SkillCode.SUCCESS, SUCCESS_TEXT, evidence)

    @staticmethod
    def failure(code: SkillCode, sentence: str, **evidence: str) -> SkillResult:
        """The paper's format of a failure (PARTNR-D48); the sentence ends with a full stop."""
        return SkillResult(code, FAILURE_PREFIX + sentence, evidence)


class CallError(ValueError):
    """A text that is not a skill call; `code` says why."""

    def __init__(self, code: SkillCode, reason: str) -> None:
        self.code = code
        super().__init__(reason)


# The effects of successful skills on the world, as data.
#
# The memory applies them, since cameras may miss them (PARTNR-5.3), and planners wait until their
# belief shows them. Arguments are given by their index in the call.


@dataclass(frozen=True, slots=True)
class PickedUp:
    """A thing is in the agent's hand."""

    thing: int = 0


@dataclass(frozen=True, slots=True)
class PutDown:
    """A thing is on or within furniture; if no argument names it, the position determines it."""

    thing: int = 0
    furniture: int = 2
    relation: int | None = 1


@dataclass(frozen=True, slots=True)
class OpenedTo:
    """Furniture is open (1) or closed (0)."""

    openness: float
    furniture: int = 0


@dataclass(frozen=True, slots=True)
class StateSet:
    """A thing or a piece of furniture has a state."""

    state: str
    value: bool
    entity: int = 0


@dataclass(frozen=True, slots=True)
class HeldStateSet:
    """What the agent holds has a state."""

    state: str
    value: bool


@dataclass(frozen=True, slots=True)
class StatesPoured:
    """A thing has those of some states that what the agent holds has."""

    states: tuple[str, ...]
    entity: int = 0


@dataclass(frozen=True, slots=True)
class Divided:
    """A thing whose class has slices is gone; the slices appear at its place."""

    entity: int = 0


@dataclass(frozen=True, slots=True)
class NameLearned:
    """A person has the name that the evidence says under `name`."""

    entity: int = 0


@dataclass(frozen=True, slots=True)
class AsReported:
    """What the result's evidence says, see `planner.world.primitive`: only the world knows it."""


SkillEffect: TypeAlias = (
    PickedUp
    | PutDown
    | OpenedTo
    | StateSet
    | HeldStateSet
    | StatesPoured
    | Divided
    | NameLearned
    | AsReported
)
