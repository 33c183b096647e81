"""Primitives: what a body can be asked to do, and how each attempt ends."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from enum import IntEnum, StrEnum

from planner.world.geometry import Vec3
from planner.world.record import record
from planner.world.state_skills import default_state_skills
from planner.world.vocabulary import Relation


class PrimitiveName(StrEnum):
    """What bodies can be asked to do, beside the skills that change states (`state_skills`)."""

    NAVIGATE = "navigate"
    LOOK = "look"
    PICK = "pick"
    PLACE = "place"
    OPEN = "open"
    CLOSE = "close"


def all_primitives() -> tuple[str, ...]:
    """The names of all primitives."""
    return (*PrimitiveName, *default_state_skills())


def primitive_named(word: str) -> str:
    """The primitive of that name.

    Raises:
        ValueError: where there is none.
    """
    if word in default_state_skills():
        return word
    return PrimitiveName(word)


class PrimitiveCode(IntEnum):
    """How a primitive ended. The numbers are part of the ROS interface and never change."""

    SUCCESS = 0
    CANCELED = 1
    UNKNOWN_PRIMITIVE = 2
    UNKNOWN_AGENT = 3
    NOT_ABLE = 4
    BAD_FRAME = 5
    BAD_TARGET = 6
    BUSY = 7
    TIMED_OUT = 8
    STOPPED = 9
    UNREACHABLE = 10
    BLOCKED = 11
    TOO_FAR = 12
    NO_LINE_OF_SIGHT = 13
    NOTHING_THERE = 14
    HAND_FULL = 15
    HAND_EMPTY = 16
    HELD_BY_OTHER = 17
    NOT_ARTICULATED = 18
    CLOSED = 19
    NO_SPACE = 20
    NO_AFFORDANCE = 21
    NO_FAUCET = 22
    SOURCE_EMPTY = 23
    GRASP_FAILED = 24
    NO_WORLD = 25
    NOT_ALLOWED = 26
    BACKEND_FAULT = 27
    NEED_UNMET = 28


@record
class Primitive:
    """One request to one body.

    Targets are points, never names of entities, so that the same request
    makes sense on a real robot.

    Attributes:
        name: what to do.
        target_m: the point meant, in `frame`; unused by a `look` with views.
        frame: `map`, `<agent>/odom` or `<agent>/base_link`.
        relation: for `place`: on a surface or the floor, or within an interior.
        reference_m: for `place`: a point of the object to end up next to, in `frame`.
        heading_rad: for `navigate`: final heading in `frame`; NaN faces the target.
        standoff_m: for `navigate`: how near the base must come to the target,
            horizontally; NaN leaves it to the body's reach.
        views_rad: for `look`: (pan, tilt) pairs relative to the body, tilt down
            positive, visited in order; empty means look at the target.
        timeout_s: simulated seconds before `TIMED_OUT`; 0 takes the backend's default.
        tolerance_m: how far the thing meant may be from the target (or the reference);
            0 takes the backend's own. For `place` without a reference more than 0 says that the
            target is a thing, onto or into which to put.
        thing_class: for `pick`: what perception takes the thing at the target for, as the
            operator is told who approves it; it is not found by it. Empty: unknown.
    """

    name: str
    target_m: Vec3 = (math.nan, math.nan, math.nan)
    frame: str = "map"
    relation: Relation | None = None
    reference_m: Vec3 | None = None
    heading_rad: float = math.nan
    standoff_m: float = math.nan
    views_rad: tuple[tuple[float, float], ...] = ()
    timeout_s: float = 0.0
    tolerance_m: float = 0.0
    thing_class: str = ""


@dataclass(frozen=True, slots=True)
class PrimitiveResult:
    """The end of a primitive.

    Attributes:
        code: stable.
        text: a sentence for people.
        evidence: what else is known, for people and logs; nothing is read back from it.
        position_m: where the thing was picked up or put down, in `map`; None where unknown.
        rule: number of the safety rule that refused; 0 = none.
    """

    code: PrimitiveCode
    text: str
    evidence: dict[str, str] = field(default_factory=dict)
    position_m: Vec3 | None = None
    rule: int = 0

    @property
    def succeeded(self) -> bool:
        """Whether the primitive did what was asked."""
        return self.code is PrimitiveCode.SUCCESS


@record
class PrimitiveStatus:
    """A running or ended primitive: what it is doing, how far it is (0 to 1), its result."""

    phase: str
    progress: float
    result: PrimitiveResult | None

    @property
    def done(self) -> bool:
        """Whether the primitive has ended."""
        return self.result is not None


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What an agent can do here: its kind, primitives, cameras and reach in metres."""

    kind: str
    primitives: frozenset[str]
    cameras: tuple[str, ...]
    reach_m: float
    radius_m: float
    ground_truth: bool
