"""Primitives: the actions of a body, and their results."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import IntEnum, StrEnum
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from planner.world.errors import from_validation
from planner.world.geometry import Vec3, record
from planner.world.state import EntityState
from planner.world.states import default_state_skills
from planner.world.vocabulary import Hand, Relation


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
    # With persons: words said to the one at the target, and things that change hands.
    TALK = "talk"
    HAND_OVER = "hand_over"
    TAKE_FROM = "take_from"


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
        words: for `talk`: what is said, see `planner.world.person.Act`.
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
    words: str = ""


@dataclass(frozen=True, slots=True)
class PrimitiveResult:
    """The end of a primitive.

    Attributes:
        code: stable.
        text: a sentence for people.
        evidence: further information for people and logs; code reads only what
            `planner.world.primitive` describes, and what planners show models.
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


# What a world says in the evidence of a result, beyond its code.
#
# Under `CHANGED`, what a skill changed, where that cannot be concluded from the call, as JSON by
# entity: `{"fire_1": {"states": {"burning": false}}}`. Under `HAND_HOLDS`, whether the body feels
# something in its hand, `yes` or `no`: a result may have failed and the hand have closed. Under
# `REASON`, the word for why a safety rule refused. Under `ANSWER`, what a person replied.

CHANGED = "changed"
HAND_HOLDS = "hand_holds"
ANSWER = "answer"
REASON, OPERATOR_REFUSED = "reason", "REFUSED"
_FELT = {"yes": True, "no": False}


class Change(BaseModel):
    """What is different about one entity.

    Attributes:
        states: all that it has now; None = as before.
        parent: where it is now; "" = as before.
        relation: to the parent.
        position_m: of its middle in `map`, where the parent changed.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    states: dict[str, bool] | None = None
    parent: str = ""
    relation: Relation | None = None
    position_m: tuple[float, float, float] | None = None


_CHANGES = TypeAdapter(dict[Annotated[str, Field(min_length=1)], Change])


def changes_text(
    before: Mapping[str, EntityState], after: Mapping[str, EntityState], names: Iterable[str]
) -> str:
    """The changes of some entities between two states of the world; "" = none."""
    changes = {name: _change(before[name], after[name]) for name in names}
    found = {name: change for name, change in changes.items() if change != Change()}
    return _CHANGES.dump_json(found, exclude_defaults=True).decode() if found else ""


def moved_text(name: str, parent: str, relation: Relation, position_m: Vec3) -> str:
    """The change of an entity that is elsewhere now, with its middle there."""
    moved = Change(parent=parent, relation=relation, position_m=position_m)
    return _CHANGES.dump_json({name: moved}, exclude_defaults=True).decode()


def read_changes(evidence: Mapping[str, str]) -> Mapping[str, Change]:
    """The changes that a result reports, by entity; empty = none.

    Raises:
        FileError: with the field and the reason, if the text is anything else.
    """
    text = evidence.get(CHANGED, "")
    if not text:
        return {}
    try:
        return _CHANGES.validate_json(text)
    except ValidationError as error:
        raise from_validation(f"evidence {CHANGED}", error) from None


def holding_evidence(*, holds: bool) -> dict[str, str]:
    """The evidence that says whether a body feels something in its hand."""
    return {HAND_HOLDS: next(word for word, felt in _FELT.items() if felt is holds)}


def read_holding(evidence: Mapping[str, str]) -> bool | None:
    """Whether the body felt something in its hand at the end; None = the result does not say."""
    return _FELT.get(evidence.get(HAND_HOLDS, ""))


def operator_refused(evidence: Mapping[str, str]) -> bool:
    """Whether the operator was asked and refused: asked again, they would be pestered."""
    return evidence.get(REASON) == OPERATOR_REFUSED


def _change(before: EntityState, after: EntityState) -> Change:
    states = None if before.states == after.states else dict(after.states or {})
    if (before.parent, before.relation) == (after.parent, after.relation):
        return Change(states=states)
    return Change(
        states=states,
        parent=after.parent or "",
        relation=after.relation,
        position_m=after.box.center_m,
    )
