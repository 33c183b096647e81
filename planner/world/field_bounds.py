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


def _of(*bounds: tuple[Bound, str], **further: Bound) -> dict[str, Bound]:
    """The bound of each of the fields that stand behind it."""
    return {name: bound for bound, names in bounds for name in names.split()} | further


# For parts of messages, by type, unless a whole message gives a bound for the same field.
_PARTS: dict[str, dict[str, Bound]] = {
    "std_msgs/Header": {"frame_id": _NAME},
    "geometry_msgs/Point": _of((POSITION, "x y z")),
    "geometry_msgs/Vector3": _of((POSITION, "x y z")),
    "geometry_msgs/Quaternion": _of((_UNIT, "x y z w")),
    "planner_msgs/Operation": {"kind": Unbounded("the memory knows the kinds")},
    "planner_msgs/Entity": _of(
        # A person may not know a position; the memory refuses what it cannot use.
        (Unbounded("the memory knows its ids"), "id"),
        (_NAME, "name room"),
        (_FLAG, "is_furniture picked"),
        (_TEXT, "description"),
        (POSITION_OR_NONE, "position.x position.y position.z"),
        (Number(-1.0, MAX_COORDINATE_M, "m", free=True), "seen_distance_m"),
        (_NOT_READ, "seen"),
    ),
}

# Of whatever is in the world, as it is and as it is believed.
_THING: dict[str, Bound] = _of(
    (_KIND, "kind"),
    (_NAME, "name class_name room affordances[] holding hands[]"),
    (_LENGTH, "size.x size.y size.z"),
    (Items(256), "affordances states"),
    (_OPENNESS, "openness"),
    (Items(16), "hands"),
)

# For parts of messages between the nodes, by type.
_PARTS_BETWEEN: dict[str, dict[str, Bound]] = {
    "diagnostic_msgs/KeyValue": {"key": _TEXT, "value": _LONG_TEXT},
    "planner_msgs/NamedState": {"name": _NAME, "value": _FLAG},
    "planner_msgs/EntityState": _of(
        (Unbounded("a number like others"), "instance_id"),
        (_NAME, "parent"),
        (OneOf(("", *(str(relation) for relation in Relation))), "relation"),
        **_THING,
    ),
    "planner_msgs/PropositionState": _of(
        (_COUNT, "index first_step"),
        (_LONG_TEXT, "text detail"),
        (_FLAG, "holds satisfied"),
        (_TEXT, "reason"),
    ),
    "planner_msgs/WorldGraphNode": _of(
        (Unbounded("a number like others"), "entity_id"),
        (_TEXT, "description"),
        (_SOURCE, "source"),
        (_AGE, "age_s"),
        **_THING,
    ),
    "planner_msgs/WorldGraphEdge": _of(
        (_NAME, "child parent"),
        (OneOf(("in", "on", "within", "held_by")), "relation"),
        (_SOURCE, "source"),
        (_AGE, "age_s"),
    ),
}

# Messages between the nodes.
_BETWEEN: dict[str, dict[str, Bound]] = {
    "planner_msgs/WorldState": _of(
        (_WORLD_TIME, "header.stamp"),
        (_PATH, "house episode_id"),
        (_COUNT, "revision sim_step sequence"),
        (_FLAG, "keyframe"),
        (Items(MAX_THINGS), "entities removed"),
        (_NAME, "removed[]"),
    ),
    "planner_msgs/WorldInfo": _of(
        (_WORLD_TIME, "header.stamp"),
        (_NAME, "backend bodies[] time_mode idle_time version"),
        (_FLAG, "simulated"),
        (_PATH, "house layout episode_id"),
        (_LONG_TEXT, "house_json episode_json sensors_json"),
        (Items(MAX_AGENTS), "agents bodies"),
        (_AGENT, "agents[]"),
        (_SHOWN, "seed rate"),
    ),
    "planner_msgs/WorldGraph": _of(
        (_WORLD_TIME, "header.stamp"), (_COUNT, "sequence"), (Items(MAX_THINGS), "nodes edges")
    ),
    "planner_msgs/EntityList": _of(
        (_WORLD_TIME, "header.stamp"), (_COUNT, "sequence"), (Items(MAX_THINGS), "entities")
    ),
    "planner_msgs/MemoryUpdate": _of(
        (_WORLD_TIME, "header.stamp"),
        (_COUNT, "sequence"),
        (_NAME, "source"),
        (Items(MAX_THINGS), "operations"),
        (OneOf((0, 1, 2)), "operations[].kind"),
    ),
    "planner_msgs/InstructStatus": _of(
        (_WORLD_TIME, "header.stamp"),
        (_NAME, "id planner"),
        (_TEXT, "instruction dialogue[]"),
        (Items(MAX_AGENTS), "agents calls"),
        (_AGENT, "agents[]"),
        (Items(1000), "dialogue evidence"),
        (_PATH, "model house episode_id"),
        (_LONG_TEXT, "goal text question plan calls[]"),
        (OneOf((0, 1, 2, 3, 4, 5)), "state"),
        (_SHOWN, "code"),
        (_COUNT, "cycle"),
    ),
    "planner_msgs/SkillReport": _of(
        (_WORLD_TIME, "header.stamp"),
        (_AGENT, "agent"),
        (_LONG_TEXT, "call text part_of"),
        (OneOf(tuple(int(code) for code in SkillCode)), "code"),
        (_FLAG, "has_position has_holding"),
        (_NAME, "holding hands[]"),
        (Items(16), "hands"),
        (Number(0.0, math.inf, "s", free=True), "duration_s"),
        (_SHOWN, "rule"),
        (Items(1000), "evidence"),
    ),
    "planner_msgs/Evaluation": _of(
        (_WORLD_TIME, "header.stamp"),
        (_PATH, "episode_id"),
        (_COUNT, "sim_step seen_from_step unseen_states"),
        (OneOf((0, 1, 2)), "status"),
        (_NAME, "scoring variant criteria"),
        (_SHARE, "percent_complete"),
        (Items(10_000), "propositions"),
        (_LONG_TEXT, "explanation criteria_explanation"),
        (Number(-1e12, 1e12, "s", free=True), "start_s"),
    ),
    "planner_msgs/PlannerTrace": _of(
        (_WORLD_TIME, "header.stamp"),
        (_NAME, "planner agents[] role"),
        (_PATH, "model"),
        (Items(MAX_AGENTS), "agents calls"),
        (_COUNT, "cycle prompt_tokens cached_tokens reply_tokens"),
        (_LONG_TEXT, "prompt grammar reply calls[] error"),
        (Number(0.0, math.inf, "s", free=True), "first_token_s latency_s"),
        (Items(1000), "parameters"),
    ),
    "planner_msgs/ApprovalQuestion": _of(
        (_NAME, "question_id primitive thing_class picture_frame"),
        (Text(64), "agent"),
        (_TEXT, "why"),
        (_WORLD_TIME, "target.header.stamp issued expires"),
        (POSITION_OR_NONE, "target.point.x target.point.y target.point.z"),
        (_FLAG, "has_pixel"),
        (_SHOWN, "column row"),
    ),
}

# For whole messages: by type, or by topic if a common type is used for commands.
_WHOLE: dict[str, dict[str, Bound]] = {
    "planner_msgs/ExecutePrimitive_Goal": _of(
        (Text(64), "name relation hand"),
        (COMMAND_STAMP, "target.header.stamp reference.header.stamp"),
        (POSITION_OR_NONE, "target.point.x target.point.y target.point.z"),
        (POSITION_OR_NONE, "reference.point.x reference.point.y reference.point.z"),
        (_FLAG, "has_reference"),
        (ANGLE_OR_NONE, "heading_rad"),
        (DISTANCE_OR_NONE, "standoff_m"),
        (Items(1000), "pan_rad tilt_rad"),
        (ANGLE, "pan_rad[] tilt_rad[]"),
        (DURATION, "timeout_s drive_s"),
        (DISTANCE, "tolerance_m"),
        (_NAME, "thing_class"),
        (SPEED, "forward_m_s"),
        (TURN_SPEED, "turn_rad_s pan_rad_s tilt_rad_s"),
    ),
    "planner_msgs/ExecuteSkill_Goal": _of(
        (_TEXT, "call"),
        (Items(64), "points"),
        (ANSWER_STAMP, "points[].header.stamp"),
        (DURATION, "timeout_s"),
    ),
    "planner_msgs/FollowInstruction_Goal": _of(
        (_TEXT, "instruction dialogue[]"),
        (Items(64), "agents"),
        (_NAME, "agents[]"),
        (Items(100), "dialogue"),
        (Number(0, 1_000_000), "max_calls"),
    ),
    "planner_msgs/EditMemory_Request": {"source": _NAME, "operations": Items(1000)},
    "planner_msgs/QueryMemory_Request": _of(
        (_TEXT, "text"),
        (_NAME, "room"),
        (Unbounded("a limit on what there is"), "limit"),
        (_FLAG, "with_updates"),
        (Unbounded("the memory knows its sequence"), "since_sequence"),
    ),
    "planner_msgs/SaveMemory_Request": {"path": _PATH},
    "planner_msgs/LoadMemory_Request": {"path": _PATH},
    "planner_msgs/LoadEpisode_Request": _of(
        (_PATH, "house episode"), (Unbounded("opening a world refuses what is not a seed"), "seed")
    ),
    "planner_msgs/StepWorld_Request": {"duration_s": DURATION},
    "planner_msgs/Heartbeat": _of(
        (_NAME, "executive"),
        (Unbounded("only one that is greater than the last counts"), "sequence"),
        (_FLAG, "leaving"),
        (Unbounded("of the sender's own clock: only differences are used"), "stamp"),
    ),
    "planner_msgs/AnswerQuestion_Request": _of(
        (_NAME, "question_id"),
        (_FLAG, "approve remember_kind has_target has_pixel"),
        (ANSWER_STAMP, "target.header.stamp"),
        (Unbounded("the picture knows its columns"), "column"),
        (Unbounded("the picture knows its rows"), "row"),
    ),
    "vision_msgs/Detection3DArray": _of(
        (Unbounded("compared with the stamps of /tf"), "header.stamp"),
        (Items(1000), "detections"),
        (_NOT_READ, "detections[].header.stamp"),
        (Items(100), "detections[].results"),
        (_NAME, "detections[].results[].hypothesis.class_id detections[].id"),
        (Number(0.0, 1.001, free=True), "detections[].results[].hypothesis.score"),
        (_NOT_READ, "detections[].results[].pose.covariance[]"),
        (_LENGTH, "detections[].bbox.size.x detections[].bbox.size.y detections[].bbox.size.z"),
    ),
    "/people": _of(
        (Unbounded("people.seen_for_s bounds it"), "header.stamp"),
        (Items(1000), "poses"),
        (_NOT_READ, "poses[].orientation.x poses[].orientation.y"),
        (_NOT_READ, "poses[].orientation.z poses[].orientation.w"),
    ),
    "/instruct/answer": {"data": _TEXT},
    "/robot_description": {"data": _LONG_TEXT},
    # What somebody says, in words and as sound.
    "/voice": {"data": _TEXT},
    "std_msgs/UInt8MultiArray": _of(
        (Items(16), "layout.dim"),
        (_NOT_READ, "layout.dim[].label layout.dim[].size layout.dim[].stride layout.data_offset"),
        (Items(64_000), "data"),
        (Unbounded("a byte"), "data[]"),
    ),
    # Of an agent.
    "/says": {"data": Text(500)},
    "/lockstep": {
        "stamp": Unbounded("a time of the world, or the end of all time"),
        "frame_id": _NAME,
    },
    # What action servers answer; a code that is not known counts as a fault.
    "planner_msgs/ExecutePrimitive_Result": _of(
        (_CODE, "code"),
        (_LONG_TEXT, "text"),
        (_FLAG, "has_position"),
        (_SHOWN, "rule"),
        (Items(1000), "evidence"),
        (_WORLD_TIME, "stamp pose.header.stamp"),
    ),
    "planner_msgs/ExecutePrimitive_Feedback": _of(
        (_TEXT, "phase"), (_SHARE, "progress"), (_WORLD_TIME, "pose.header.stamp")
    ),
    "planner_msgs/ExecuteSkill_Result": _of(
        (_CODE, "code"),
        (_LONG_TEXT, "text"),
        (_FLAG, "has_position has_holding"),
        (_NAME, "holding hands[]"),
        (Items(16), "hands"),
        (Number(0.0, math.inf, "s", free=True), "duration_s"),
        (_SHOWN, "rule"),
        (Items(1000), "evidence"),
        (_WORLD_TIME, "stamp"),
    ),
    "nav_msgs/Odometry": _of(
        (_AT_RECEIPT, "header.stamp"),
        (_NAME, "child_frame_id"),
        (_NOT_READ, "pose.covariance[] twist.covariance[]"),
        (Number(-100.0, 100.0), "twist.twist.linear.x twist.twist.linear.y twist.twist.linear.z"),
        (
            Number(-100.0, 100.0),
            "twist.twist.angular.x twist.twist.angular.y twist.twist.angular.z",
        ),
    ),
    "sensor_msgs/JointState": _of(
        (_AT_RECEIPT, "header.stamp"),
        (Items(256), "name position velocity effort"),
        (_NAME, "name[]"),
        (Number(-10_000.0, 10_000.0), "position[]"),
        (_NOT_READ, "velocity[] effort[]"),
    ),
    "sensor_msgs/CameraInfo": _of(
        (_AT_RECEIPT, "header.stamp"),
        (_PIXELS, "height width"),
        (_NAME, "distortion_model"),
        (Items(100), "d"),
        (Number(-1e6, 1e6), "d[] k[] r[] p[]"),
        (_NOT_READ, "binning_x binning_y roi.x_offset roi.y_offset roi.height roi.width"),
        (_NOT_READ, "roi.do_rectify"),
    ),
    "sensor_msgs/Image": _of(
        (_AT_RECEIPT, "header.stamp"),
        (_PIXELS, "height width"),
        (_NAME, "encoding"),
        (_FLAG, "is_bigendian"),
        (_COUNT, "step"),
        (Items(1_000_000_000), "data"),
        (Unbounded("a byte"), "data[]"),
    ),
    "nav_msgs/OccupancyGrid": _of(
        (_WORLD_TIME, "header.stamp info.map_load_time"),
        (Number(0.001, 100.0, "m"), "info.resolution"),
        (_CELLS, "info.width info.height"),
        (Items(64_000_000), "data"),
        (Unbounded("free, occupied or unknown, by ranges"), "data[]"),
    ),
    "sensor_msgs/BatteryState": _of(
        (_AT_RECEIPT, "header.stamp"),
        (Number(0.0, 100.0, free=True), "percentage"),
        (_FLAG, "present"),
        (_NAME, "location serial_number"),
        (_NOT_READ, "voltage temperature current charge capacity design_capacity"),
        (Items(10_000), "cell_voltage cell_temperature"),
        (_NOT_READ, "cell_voltage[] cell_temperature[]"),
        (_NOT_READ, "power_supply_status power_supply_health power_supply_technology"),
    ),
    "std_msgs/Bool": {"data": _FLAG},
    "diagnostic_msgs/DiagnosticStatus": _of(
        (_SHOWN, "level"),
        (_TEXT, "name hardware_id"),
        (_LONG_TEXT, "message"),
        (Items(10_000), "values"),
    ),
    "diagnostic_msgs/DiagnosticArray": {"header.stamp": _AT_RECEIPT, "status": Items(10_000)},
    "tf2_msgs/TFMessage": _of(
        (Items(1000), "transforms"),
        (_AT_RECEIPT, "transforms[].header.stamp"),
        (_NAME, "transforms[].child_frame_id"),
    ),
}

BOUNDS: Mapping[str, Mapping[str, Bound]] = _PARTS | _PARTS_BETWEEN | _BETWEEN | _WHOLE
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
