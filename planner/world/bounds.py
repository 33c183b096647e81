"""Bounds for the numbers, texts, lists and stamps of incoming messages.

A finite number can be as harmful as NaN: 1e18 m overflows a grid's index. So each field of each
goal, request and command has a bound here, by its path in the message or, if that has none, by its
place in the message type around it. `planner.ros.message_bounds` applies the table.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

# Ten kilometres: far beyond any house, and far below values that break grids or rays.
MAX_COORDINATE_M = 10_000.0
MAX_STANDOFF_M = 100.0
# Several turns, so that angles need not be normalised.
MAX_ANGLE_RAD = 100.0
MAX_DURATION_S = 86_400.0
MAX_NAME_LENGTH = 256
MAX_TEXT_LENGTH = 10_000
MAX_PATH_LENGTH = 4096


@dataclass(frozen=True, slots=True)
class Number:
    """A finite number from `low` to `high`; `free` also allows NaN for no value."""

    low: float
    high: float
    unit: str = ""
    free: bool = False

    def reason(self, value: float) -> str:
        """Why a value is refused; empty if it is not."""
        if math.isnan(value):
            return "" if self.free else "not a number"
        if self.low <= value <= self.high:
            return ""
        unit = f" {self.unit}" if self.unit else ""
        return f"{value:g} is outside {self.low:g} to {self.high:g}{unit}"

    def first_invalid(self, values: Sequence[float]) -> int | None:
        """The index of the first value that is refused."""
        numbers = np.asarray(values, np.float64)
        good = (numbers >= self.low) & (numbers <= self.high)
        if self.free:
            good |= np.isnan(numbers)
        bad = np.flatnonzero(~good)
        return int(bad[0]) if len(bad) else None


@dataclass(frozen=True, slots=True)
class Text:
    """A text with a maximum number of characters, without NUL, which is invalid in paths."""

    max_length: int

    def reason(self, value: str) -> str:
        """Why a value is refused; empty if it is not."""
        if len(value) > self.max_length:
            return f"{len(value)} characters, more than {self.max_length}"
        return "a NUL character" if "\0" in value else ""


@dataclass(frozen=True, slots=True)
class Items:
    """An array with a maximum number of items."""

    max_count: int

    def reason(self, count: int) -> str:
        """Why a number of items is refused; empty if it is not."""
        return f"{count} items, more than {self.max_count}" if count > self.max_count else ""


@dataclass(frozen=True, slots=True)
class Stamp:
    """A time of the node's clock with a maximum age and lead; zero means now."""

    max_age_s: float
    max_ahead_s: float

    def reason(self, stamp_s: float, now_s: float) -> str:
        """Why a stamp is refused; empty if it is not."""
        if stamp_s == 0.0:
            return ""
        age_s = now_s - stamp_s
        if age_s > self.max_age_s:
            return f"{age_s:.1f} s old, more than {self.max_age_s:g} s; zero means now"
        if -age_s > self.max_ahead_s:
            return f"{-age_s:.1f} s ahead, more than {self.max_ahead_s:g} s; zero means now"
        return ""


@dataclass(frozen=True, slots=True)
class Unbounded:
    """Accepts every value of the field's type; `why` says what makes that safe."""

    why: str


Bound: TypeAlias = Number | Text | Items | Stamp | Unbounded


@dataclass(frozen=True, slots=True)
class OutOfBounds:
    """A field of a message, by its path, that is out of bounds, and the reason."""

    field: str
    reason: str

    def __str__(self) -> str:
        return f"{self.field}: {self.reason}"


class UnboundedFieldError(LookupError):
    """A field of a message without a bound."""


POSITION = Number(-MAX_COORDINATE_M, MAX_COORDINATE_M, "m")
# NaN if the field is not used; otherwise the reader requires finite numbers.
POSITION_OR_NONE = Number(-MAX_COORDINATE_M, MAX_COORDINATE_M, "m", free=True)
DISTANCE = Number(0.0, MAX_STANDOFF_M, "m")
DISTANCE_OR_NONE = Number(0.0, MAX_STANDOFF_M, "m", free=True)
ANGLE = Number(-MAX_ANGLE_RAD, MAX_ANGLE_RAD, "rad")
ANGLE_OR_NONE = Number(-MAX_ANGLE_RAD, MAX_ANGLE_RAD, "rad", free=True)
DURATION = Number(0.0, MAX_DURATION_S, "s")
# Every body is slower; what it may do is in its capabilities.
SPEED = Number(-10.0, 10.0, "m/s")
TURN_SPEED = Number(-10.0, 10.0, "rad/s")
_UNIT = Number(-1.001, 1.001)
_NAME, _TEXT, _PATH = Text(MAX_NAME_LENGTH), Text(MAX_TEXT_LENGTH), Text(MAX_PATH_LENGTH)
# Commands are for now: in the frame of a moving body, an old point is a different place.
COMMAND_STAMP = Stamp(max_age_s=10.0, max_ahead_s=1.0)
# A person may answer a question up to a minute old.
ANSWER_STAMP = Stamp(max_age_s=60.0, max_ahead_s=1.0)
_FLAG = Unbounded("a flag")
_NOT_READ = Unbounded("nobody reads it")
_AT_RECEIPT = Unbounded("the time of receipt counts")

# For parts of messages, by type, unless a whole message gives a bound for the same field.
_PARTS: dict[str, dict[str, Bound]] = {
    "std_msgs/Header": {"frame_id": _NAME},
    "geometry_msgs/Point": {"x": POSITION, "y": POSITION, "z": POSITION},
    "geometry_msgs/Vector3": {"x": POSITION, "y": POSITION, "z": POSITION},
    "geometry_msgs/Quaternion": {"x": _UNIT, "y": _UNIT, "z": _UNIT, "w": _UNIT},
    "planner_msgs/Operation": {"kind": Unbounded("the memory knows the kinds")},
    "planner_msgs/Entity": {
        "id": Unbounded("the memory knows its ids"),
        "name": _NAME,
        "is_furniture": _FLAG,
        "description": _TEXT,
        "room": _NAME,
        # A person may not know a position; the memory refuses what it cannot use.
        "position.x": POSITION_OR_NONE,
        "position.y": POSITION_OR_NONE,
        "position.z": POSITION_OR_NONE,
        "seen_distance_m": Number(-1.0, MAX_COORDINATE_M, "m", free=True),
        "seen": _NOT_READ,
        "picked": _FLAG,
    },
}

# For whole messages: by type, or by topic if a common type is used for commands.
_WHOLE: dict[str, dict[str, Bound]] = {
    "planner_msgs/ExecutePrimitive_Goal": {
        "name": Text(64),
        "target.header.stamp": COMMAND_STAMP,
        "target.point.x": POSITION_OR_NONE,
        "target.point.y": POSITION_OR_NONE,
        "target.point.z": POSITION_OR_NONE,
        "relation": Text(64),
        "has_reference": _FLAG,
        "reference.header.stamp": COMMAND_STAMP,
        "reference.point.x": POSITION_OR_NONE,
        "reference.point.y": POSITION_OR_NONE,
        "reference.point.z": POSITION_OR_NONE,
        "heading_rad": ANGLE_OR_NONE,
        "standoff_m": DISTANCE_OR_NONE,
        "pan_rad": Items(1000),
        "pan_rad[]": ANGLE,
        "tilt_rad": Items(1000),
        "tilt_rad[]": ANGLE,
        "timeout_s": DURATION,
        "tolerance_m": DISTANCE,
        "thing_class": _NAME,
        "hand": Text(64),
        "drive_s": DURATION,
        "forward_m_s": SPEED,
        "turn_rad_s": TURN_SPEED,
        "pan_rad_s": TURN_SPEED,
        "tilt_rad_s": TURN_SPEED,
    },
    "planner_msgs/ExecuteSkill_Goal": {
        "call": _TEXT,
        "points": Items(64),
        "points[].header.stamp": ANSWER_STAMP,
        "timeout_s": DURATION,
    },
    "planner_msgs/FollowInstruction_Goal": {
        "instruction": _TEXT,
        "agents": Items(64),
        "agents[]": _NAME,
        "dialogue": Items(100),
        "dialogue[]": _TEXT,
        "max_calls": Number(0, 1_000_000),
    },
    "planner_msgs/EditMemory_Request": {"source": _NAME, "operations": Items(1000)},
    "planner_msgs/QueryMemory_Request": {
        "text": _TEXT,
        "room": _NAME,
        "limit": Unbounded("a limit on what there is"),
        "with_updates": _FLAG,
        "since_sequence": Unbounded("the memory knows its sequence"),
    },
    "planner_msgs/SaveMemory_Request": {"path": _PATH},
    "planner_msgs/LoadMemory_Request": {"path": _PATH},
    "planner_msgs/LoadEpisode_Request": {
        "house": _PATH,
        "episode": _PATH,
        "seed": Unbounded("opening a world refuses what is not a seed"),
    },
    "planner_msgs/StepWorld_Request": {"duration_s": DURATION},
    "planner_msgs/Heartbeat": {
        "executive": _NAME,
        "sequence": Unbounded("only one that is greater than the last counts"),
        "leaving": _FLAG,
        "stamp": Unbounded("of the sender's own clock: only differences are used"),
    },
    "planner_msgs/AnswerQuestion_Request": {
        "question_id": _NAME,
        "approve": _FLAG,
        "remember_kind": _FLAG,
        "has_target": _FLAG,
        "target.header.stamp": ANSWER_STAMP,
        "has_pixel": _FLAG,
        "column": Unbounded("the picture knows its columns"),
        "row": Unbounded("the picture knows its rows"),
    },
    "/people": {
        "header.stamp": Unbounded("people.seen_for_s bounds it"),
        "poses": Items(1000),
        **{f"poses[].orientation.{axis}": _NOT_READ for axis in "xyzw"},
    },
    "/instruct/answer": {"data": _TEXT},
    # Of an agent.
    "/says": {"data": Text(500)},
    "/lockstep": {
        "stamp": Unbounded("a time of the world, or the end of all time"),
        "frame_id": _NAME,
    },
    "nav_msgs/Odometry": {
        "header.stamp": _AT_RECEIPT,
        "child_frame_id": _NAME,
        "pose.covariance[]": _NOT_READ,
        **{
            f"twist.twist.{part}.{axis}": Number(-100.0, 100.0)
            for part in ("linear", "angular")
            for axis in "xyz"
        },
        "twist.covariance[]": _NOT_READ,
    },
    "sensor_msgs/JointState": {
        "header.stamp": _AT_RECEIPT,
        "name": Items(256),
        "name[]": _NAME,
        "position": Items(256),
        "position[]": Number(-10_000.0, 10_000.0),
        "velocity": Items(256),
        "velocity[]": _NOT_READ,
        "effort": Items(256),
        "effort[]": _NOT_READ,
    },
    "tf2_msgs/TFMessage": {
        "transforms": Items(1000),
        "transforms[].header.stamp": _AT_RECEIPT,
        "transforms[].child_frame_id": _NAME,
    },
}

BOUNDS: Mapping[str, Mapping[str, Bound]] = {**_PARTS, **_WHOLE}
WHOLE_MESSAGES = tuple(_WHOLE)


def bound_of(owners: Sequence[tuple[str, str]]) -> Bound:
    """The bound of a field: that of the outermost message that has one.

    Args:
        owners: each message type (or topic) around the field, outermost first, with the field's
            path in it, such as `points[].header.stamp`.

    Raises:
        UnboundedFieldError: if none of them has one.
    """
    for owner, path in owners:
        bound = BOUNDS.get(owner, {}).get(path)
        if bound is not None:
            return bound
    owner, path = owners[0]
    raise UnboundedFieldError(
        f"{owner}: the field {path} has no bound; give it one in planner/world/bounds.py"
    )
