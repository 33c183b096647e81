"""Primitives: the actions of a body, and their results."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from enum import IntEnum, StrEnum

from planner.world.geometry import Vec3
from planner.world.hands import Hand
from planner.world.record import record
from planner.world.state_skills import default_state_skills
from planner.world.vocabulary import Relation


class PrimitiveName(StrEnum):
    """The actions of bodies, besides the skills that change states (`state_skills`)."""

    NAVIGATE = "navigate"
    LOOK = "look"
    # Velocities for a short time, for policies and for operators (`Drive`).
    DRIVE = "drive"
    PICK = "pick"
    PLACE = "place"
    OPEN = "open"
    CLOSE = "close"
    # Of rescuers. Approach goes to the free place nearest to the target, scout some way in a
    # random direction; the others act on what is at the target.
    APPROACH = "approach"
    SCOUT = "scout"
    TAKE_SAND = "take_sand"
    TAKE_WATER = "take_water"
    USE_SAND = "use_sand"
    USE_WATER = "use_water"
    STORE_SUPPLIES = "store_supplies"
    DISCARD_SUPPLIES = "discard_supplies"
    CARRY = "carry"
    DROP_OFF = "drop_off"


def all_primitives() -> tuple[str, ...]:
    """The names of all primitives."""
    return (*PrimitiveName, *default_state_skills())


def primitive_named(word: str) -> str:
    """The primitive of that name.

    Raises:
        ValueError: if there is none.
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


# No body is driven longer than this by one request: what sends none any more moves nothing.
MAX_DRIVE_S = 1.0


@record
class Drive:
    """Velocities that a body keeps for a short time; then it stands still.

    Attributes:
        duration_s: until it stands, above 0.
        forward_m_s: of the base, along its x axis; negative = backwards.
        turn_rad_s: of the base, to the left.
        pan_rad_s: of the hand about the base, to the left.
        tilt_rad_s: of the hand's camera, downwards.
    """

    duration_s: float
    forward_m_s: float = 0.0
    turn_rad_s: float = 0.0
    pan_rad_s: float = 0.0
    tilt_rad_s: float = 0.0

    @property
    def moves_arm(self) -> bool:
        """Whether it moves more than the base."""
        return self.pan_rad_s != 0.0 or self.tilt_rad_s != 0.0


@dataclass(frozen=True, slots=True)
class DriveLimits:
    """The greatest velocities with which a body may be driven, in both directions.

    Attributes:
        forward_m_s: of the base.
        turn_rad_s: of the base.
        hand_rad_s: of the hand's pan and tilt; 0 = the hand cannot be driven.
    """

    forward_m_s: float
    turn_rad_s: float
    hand_rad_s: float = 0.0


@record
class Primitive:
    """One request to one body.

    Targets are points, never names of entities, so that the same request makes sense on a real
    robot.

    Attributes:
        name: the action.
        target_m: the target point, in `frame`; unused by a `look` with views.
        frame: `map`, `<agent>/odom` or `<agent>/base_link`.
        relation: for `place`: on a surface or the floor, or within an interior.
        reference_m: for `place`: a point of the object to put it next to, in `frame`.
        heading_rad: for `navigate`: final heading in `frame`; NaN = face the target.
        standoff_m: for `navigate`: maximum horizontal distance of the base from the target at the
            end; NaN = the body's reach, 0 = a target on free floor is stood on exactly.
        views_rad: for `look`: (pan, tilt) pairs relative to the body, tilt down positive, visited
            in order; empty = look at the target.
        timeout_s: simulated seconds until `TIMED_OUT`; 0 = the backend's default.
        tolerance_m: maximum distance of the intended object from the target (or the reference);
            0 = the backend's default. For `place` without a reference, a value above 0 means that
            the target is an object onto or into which to put the held one.
        thing_class: for `pick`: perceived class of the object at the target, shown to the operator
            for approval; not used to find it. Empty: unknown.
        hand: for `pick`, `place` and what is done with a held object: the hand to use; None = the
            first suitable one, the right one first.
        drive: for `drive`: the velocities; the target is unused.
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
    hand: Hand | None = None
    drive: Drive | None = None


@dataclass(frozen=True, slots=True)
class PrimitiveResult:
    """The end of a primitive.

    Attributes:
        code: stable.
        text: a sentence for people.
        evidence: further information for people and logs; code reads only what
            `planner.world.reported` describes, and what planners show models.
        position_m: where the object was picked up or put down, in `map`; None if unknown.
        rule: number of the safety rule that refused; 0 = none.
        ended_s: when it ended, on the world's clock; None = unknown.
    """

    code: PrimitiveCode
    text: str
    evidence: dict[str, str] = field(default_factory=dict)
    position_m: Vec3 | None = None
    rule: int = 0
    ended_s: float | None = None

    @property
    def succeeded(self) -> bool:
        """Whether the primitive succeeded."""
        return self.code is PrimitiveCode.SUCCESS


@record
class PrimitiveStatus:
    """A running or ended primitive: its phase, progress (0 to 1), and result."""

    phase: str
    progress: float
    result: PrimitiveResult | None

    @property
    def done(self) -> bool:
        """Whether the primitive has ended."""
        return self.result is not None


@dataclass(frozen=True, slots=True)
class Capabilities:
    """The capabilities of an agent here: kind, primitives, cameras, reach in metres, hands.

    `drive` limits the velocities of a body that has the primitive `drive`, else it is None.
    """

    kind: str
    primitives: frozenset[str]
    cameras: tuple[str, ...]
    reach_m: float
    radius_m: float
    ground_truth: bool
    hands: int = 1
    drive: DriveLimits | None = None
