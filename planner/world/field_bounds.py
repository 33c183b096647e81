"""The bound of each field of the messages that the nodes read.

A finite number can be as harmful as NaN: 1e18 m overflows a grid's index. So each field of each
goal, request, command and message between nodes has a bound here, by its path in the message or, if
that has none, by its place in the message type around it. `planner.ros.subscriptions` applies the
table.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from planner.world.bounds import (
    MAX_AGENTS,
    MAX_ANGLE_RAD,
    MAX_COORDINATE_M,
    MAX_DURATION_S,
    MAX_LONG_TEXT_LENGTH,
    MAX_NAME_LENGTH,
    MAX_NESTING,
    MAX_PATH_LENGTH,
    MAX_STANDOFF_M,
    MAX_TEXT_LENGTH,
    MAX_THINGS,
    Bound,
    Items,
    Number,
    OneOf,
    OutOfBounds,
    Stamp,
    Text,
    Unbounded,
    UnboundedFieldError,
)
from planner.world.skill import SkillCode
from planner.world.vocabulary import Relation

_AGENT_KIND = 3
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
_LONG_TEXT = Text(MAX_LONG_TEXT_LENGTH)
_AGENT = Text(64, names_topics=True)
_LENGTH = Number(0.0, MAX_COORDINATE_M, "m")
# The age of what was told before the clock began has no end.
_AGE = Number(0.0, math.inf, "s")
_KIND = OneOf((0, 1, 2, 3))
_SOURCE = OneOf((0, 1, 2))
_OPENNESS = Number(-1.0, 1.001)
_SHARE = Number(0.0, 1.001)
_PIXELS = Number(0, 20_000)
_CELLS = Number(1, 1_000_000)
_CODE = Unbounded("an unknown code is a fault")
_WORLD_TIME = Unbounded("a time of the world, which may begin anew")
_COUNT = Unbounded("a count")
_SHOWN = Unbounded("it is only shown")
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

# Of whatever is in the world, as it is and as it is believed.
_THING: dict[str, Bound] = {
    "kind": _KIND,
    "name": _NAME,
    "class_name": _NAME,
    "room": _NAME,
    "size.x": _LENGTH,
    "size.y": _LENGTH,
    "size.z": _LENGTH,
    "affordances": Items(256),
    "affordances[]": _NAME,
    "states": Items(256),
    "openness": _OPENNESS,
    "holding": _NAME,
    "hands": Items(16),
    "hands[]": _NAME,
}

# For parts of messages between the nodes, by type.
_PARTS_BETWEEN: dict[str, dict[str, Bound]] = {
    "diagnostic_msgs/KeyValue": {"key": _TEXT, "value": _LONG_TEXT},
    "planner_msgs/NamedState": {"name": _NAME, "value": _FLAG},
    "planner_msgs/EntityState": {
        **_THING,
        "instance_id": Unbounded("a number like others"),
        "parent": _NAME,
        "relation": OneOf(("", *(str(relation) for relation in Relation))),
    },
    "planner_msgs/PropositionState": {
        "index": _COUNT,
        "text": _LONG_TEXT,
        "holds": _FLAG,
        "satisfied": _FLAG,
        "first_step": _COUNT,
        "reason": _TEXT,
        "detail": _LONG_TEXT,
    },
    "planner_msgs/WorldGraphNode": {
        **_THING,
        "entity_id": Unbounded("a number like others"),
        "description": _TEXT,
        "source": _SOURCE,
        "age_s": _AGE,
    },
    "planner_msgs/WorldGraphEdge": {
        "child": _NAME,
        "relation": OneOf(("in", "on", "within", "held_by")),
        "parent": _NAME,
        "source": _SOURCE,
        "age_s": _AGE,
    },
}

# Messages between the nodes.
_BETWEEN: dict[str, dict[str, Bound]] = {
    "planner_msgs/WorldState": {
        "header.stamp": _WORLD_TIME,
        "house": _PATH,
        "episode_id": _PATH,
        "revision": _COUNT,
        "sim_step": _COUNT,
        "keyframe": _FLAG,
        "sequence": _COUNT,
        "entities": Items(MAX_THINGS),
        "removed": Items(MAX_THINGS),
        "removed[]": _NAME,
    },
    "planner_msgs/WorldInfo": {
        "header.stamp": _WORLD_TIME,
        "backend": _NAME,
        "simulated": _FLAG,
        "house": _PATH,
        "layout": _PATH,
        "house_json": _LONG_TEXT,
        "episode_id": _PATH,
        "episode_json": _LONG_TEXT,
        "agents": Items(MAX_AGENTS),
        "agents[]": _AGENT,
        "bodies": Items(MAX_AGENTS),
        "bodies[]": _NAME,
        "seed": _SHOWN,
        "time_mode": _NAME,
        "rate": _SHOWN,
        "idle_time": _NAME,
        "version": _NAME,
        "sensors_json": _LONG_TEXT,
    },
    "planner_msgs/WorldGraph": {
        "header.stamp": _WORLD_TIME,
        "sequence": _COUNT,
        "nodes": Items(MAX_THINGS),
        "edges": Items(MAX_THINGS),
    },
    "planner_msgs/EntityList": {
        "header.stamp": _WORLD_TIME,
        "sequence": _COUNT,
        "entities": Items(MAX_THINGS),
    },
    "planner_msgs/MemoryUpdate": {
        "header.stamp": _WORLD_TIME,
        "sequence": _COUNT,
        "source": _NAME,
        "operations": Items(MAX_THINGS),
        "operations[].kind": OneOf((0, 1, 2)),
    },
    "planner_msgs/InstructStatus": {
        "header.stamp": _WORLD_TIME,
        "id": _NAME,
        "instruction": _TEXT,
        "agents": Items(MAX_AGENTS),
        "agents[]": _AGENT,
        "dialogue": Items(1000),
        "dialogue[]": _TEXT,
        "planner": _NAME,
        "model": _PATH,
        "house": _PATH,
        "episode_id": _PATH,
        "goal": _LONG_TEXT,
        "state": OneOf((0, 1, 2, 3, 4, 5)),
        "code": _SHOWN,
        "text": _LONG_TEXT,
        "question": _LONG_TEXT,
        "cycle": _COUNT,
        "plan": _LONG_TEXT,
        "calls": Items(MAX_AGENTS),
        "calls[]": _LONG_TEXT,
        "evidence": Items(1000),
    },
    "planner_msgs/SkillReport": {
        "header.stamp": _WORLD_TIME,
        "agent": _AGENT,
        "call": _LONG_TEXT,
        "code": OneOf(tuple(int(code) for code in SkillCode)),
        "text": _LONG_TEXT,
        "has_position": _FLAG,
        "has_holding": _FLAG,
        "holding": _NAME,
        "hands": Items(16),
        "hands[]": _NAME,
        "duration_s": Number(0.0, math.inf, "s", free=True),
        "rule": _SHOWN,
        "part_of": _LONG_TEXT,
        "evidence": Items(1000),
    },
    "planner_msgs/Evaluation": {
        "header.stamp": _WORLD_TIME,
        "episode_id": _PATH,
        "sim_step": _COUNT,
        "status": OneOf((0, 1, 2)),
        "scoring": _NAME,
        "percent_complete": _SHARE,
        "propositions": Items(10_000),
        "explanation": _LONG_TEXT,
        "variant": _NAME,
        "seen_from_step": _COUNT,
        "unseen_states": _COUNT,
        "start_s": Number(-1e12, 1e12, "s", free=True),
        "criteria": _NAME,
        "criteria_explanation": _LONG_TEXT,
    },
    "planner_msgs/PlannerTrace": {
        "header.stamp": _WORLD_TIME,
        "planner": _NAME,
        "model": _PATH,
        "agents": Items(MAX_AGENTS),
        "agents[]": _NAME,
        "cycle": _COUNT,
        "prompt": _LONG_TEXT,
        "grammar": _LONG_TEXT,
        "reply": _LONG_TEXT,
        "calls": Items(MAX_AGENTS),
        "calls[]": _LONG_TEXT,
        "error": _LONG_TEXT,
        "prompt_tokens": _COUNT,
        "cached_tokens": _COUNT,
        "reply_tokens": _COUNT,
        "first_token_s": Number(0.0, math.inf, "s", free=True),
        "latency_s": Number(0.0, math.inf, "s", free=True),
        "parameters": Items(1000),
        "role": _NAME,
    },
    "planner_msgs/ApprovalQuestion": {
        "question_id": _NAME,
        "agent": Text(64),
        "primitive": _NAME,
        "thing_class": _NAME,
        "why": _TEXT,
        "target.header.stamp": _WORLD_TIME,
        "target.point.x": POSITION_OR_NONE,
        "target.point.y": POSITION_OR_NONE,
        "target.point.z": POSITION_OR_NONE,
        "has_pixel": _FLAG,
        "column": _SHOWN,
        "row": _SHOWN,
        "picture_frame": _NAME,
        "issued": _WORLD_TIME,
        "expires": _WORLD_TIME,
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
    "/robot_description": {"data": _LONG_TEXT},
    # What somebody says, in words and as sound.
    "/voice": {"data": _TEXT},
    "std_msgs/UInt8MultiArray": {
        "layout.dim": Items(16),
        "layout.dim[].label": _NOT_READ,
        "layout.dim[].size": _NOT_READ,
        "layout.dim[].stride": _NOT_READ,
        "layout.data_offset": _NOT_READ,
        "data": Items(64_000),
        "data[]": Unbounded("a byte"),
    },
    # Of an agent.
    "/says": {"data": Text(500)},
    "/lockstep": {
        "stamp": Unbounded("a time of the world, or the end of all time"),
        "frame_id": _NAME,
    },
    # What action servers answer; a code that is not known counts as a fault.
    "planner_msgs/ExecutePrimitive_Result": {
        "code": _CODE,
        "text": _LONG_TEXT,
        "has_position": _FLAG,
        "rule": _SHOWN,
        "evidence": Items(1000),
        "stamp": _WORLD_TIME,
        "pose.header.stamp": _WORLD_TIME,
    },
    "planner_msgs/ExecutePrimitive_Feedback": {
        "phase": _TEXT,
        "progress": _SHARE,
        "pose.header.stamp": _WORLD_TIME,
    },
    "planner_msgs/ExecuteSkill_Result": {
        "code": _CODE,
        "text": _LONG_TEXT,
        "has_position": _FLAG,
        "has_holding": _FLAG,
        "holding": _NAME,
        "hands": Items(16),
        "hands[]": _NAME,
        "duration_s": Number(0.0, math.inf, "s", free=True),
        "rule": _SHOWN,
        "evidence": Items(1000),
        "stamp": _WORLD_TIME,
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
    "sensor_msgs/CameraInfo": {
        "header.stamp": _AT_RECEIPT,
        "height": _PIXELS,
        "width": _PIXELS,
        "distortion_model": _NAME,
        "d": Items(100),
        **dict.fromkeys(("d[]", "k[]", "r[]", "p[]"), Number(-1e6, 1e6)),
        **dict.fromkeys(("binning_x", "binning_y", "roi.do_rectify"), _NOT_READ),
        **{f"roi.{name}": _NOT_READ for name in ("x_offset", "y_offset", "height", "width")},
    },
    "sensor_msgs/Image": {
        "header.stamp": _AT_RECEIPT,
        "height": _PIXELS,
        "width": _PIXELS,
        "encoding": _NAME,
        "is_bigendian": _FLAG,
        "step": _COUNT,
        "data": Items(1_000_000_000),
        "data[]": Unbounded("a byte"),
    },
    "nav_msgs/OccupancyGrid": {
        "header.stamp": _WORLD_TIME,
        "info.map_load_time": _WORLD_TIME,
        "info.resolution": Number(0.001, 100.0, "m"),
        "info.width": _CELLS,
        "info.height": _CELLS,
        "data": Items(64_000_000),
        "data[]": Unbounded("free, occupied or unknown, by ranges"),
    },
    "sensor_msgs/BatteryState": {
        "header.stamp": _AT_RECEIPT,
        "percentage": Number(0.0, 100.0, free=True),
        **dict.fromkeys(
            ("voltage", "temperature", "current", "charge", "capacity", "design_capacity"),
            _NOT_READ,
        ),
        **dict.fromkeys(("cell_voltage", "cell_temperature"), Items(10_000)),
        **dict.fromkeys(("cell_voltage[]", "cell_temperature[]"), _NOT_READ),
        **{f"power_supply_{name}": _NOT_READ for name in ("status", "health", "technology")},
        "present": _FLAG,
        "location": _NAME,
        "serial_number": _NAME,
    },
    "std_msgs/Bool": {"data": _FLAG},
    "diagnostic_msgs/DiagnosticStatus": {
        "level": _SHOWN,
        "name": _TEXT,
        "message": _LONG_TEXT,
        "hardware_id": _TEXT,
        "values": Items(10_000),
    },
    "diagnostic_msgs/DiagnosticArray": {"header.stamp": _AT_RECEIPT, "status": Items(10_000)},
    "tf2_msgs/TFMessage": {
        "transforms": Items(1000),
        "transforms[].header.stamp": _AT_RECEIPT,
        "transforms[].child_frame_id": _NAME,
    },
}

BOUNDS: Mapping[str, Mapping[str, Bound]] = {
    **_PARTS,
    **_PARTS_BETWEEN,
    **_BETWEEN,
    **_WHOLE,
}
WHOLE_MESSAGES = (*_BETWEEN, *_WHOLE)


def agent_name(message: Any) -> OutOfBounds | None:
    """Why an entity that is an agent cannot be one; its topics have its name."""
    if message.kind != _AGENT_KIND:
        return None
    reason = _AGENT.reason(message.name)
    return OutOfBounds("name", reason) if reason else None


def graph_parents(message: Any) -> OutOfBounds | None:
    """Which thing of a graph is in or on itself: a walk upwards would never end."""
    return _circle("edges", {str(edge.child): str(edge.parent) for edge in message.edges})


def state_parents(message: Any) -> OutOfBounds | None:
    """The same of a world's state."""
    above = {str(each.name): str(each.parent) for each in message.entities if each.parent}
    return _circle("entities", above)


def _circle(field: str, above: Mapping[str, str]) -> OutOfBounds | None:
    """A thing that is in or on itself, or in too many others; None if there is none."""
    height: set[str] = set(above)
    for _ in range(MAX_NESTING):
        height = {above[name] for name in height} & above.keys()
        if not height:
            return None
    # All that are left are around a circle, or above too many.
    name = min(height)
    for _ in range(len(above)):
        name = above.get(name, "")
    reason = f"more than {MAX_NESTING} things in each other"
    return OutOfBounds(field, f"{name!r} is in or on itself" if name else reason)


# What holds between the fields of one message, by its type.
RULES: Mapping[str, Callable[[Any], OutOfBounds | None]] = {
    "planner_msgs/EntityState": agent_name,
    "planner_msgs/WorldGraphNode": agent_name,
    "planner_msgs/WorldGraph": graph_parents,
    "planner_msgs/WorldState": state_parents,
}


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
        f"{owner}: the field {path} has no bound; give it one in planner/world/field_bounds.py"
    )
