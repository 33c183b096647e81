"""Every field of what comes from outside has a bound, and what is out of bounds is named."""

from __future__ import annotations

import math
from importlib.util import find_spec
from typing import Any

import planner_msgs.action
import planner_msgs.srv
import pytest
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from geometry_msgs.msg import PoseArray
from hypothesis import given
from hypothesis import strategies as st
from nav_msgs.msg import MapMetaData, OccupancyGrid, Odometry
from planner_msgs.action import ExecutePrimitive, ExecuteSkill, FollowInstruction
from planner_msgs.msg import (
    ApprovalQuestion,
    EntityList,
    EntityState,
    Evaluation,
    Heartbeat,
    InstructStatus,
    MemoryUpdate,
    Operation,
    PlannerTrace,
    SkillReport,
    WorldGraph,
    WorldGraphEdge,
    WorldGraphNode,
    WorldInfo,
    WorldState,
)
from planner_msgs.srv import EditMemory, LoadMemory
from sensor_msgs.msg import BatteryState, CameraInfo, Image, JointState
from std_msgs.msg import Bool, Header, String, UInt8MultiArray
from tf2_msgs.msg import TFMessage

from planner.ros.conversions import time_message
from planner.ros.qos import message_class
from planner.ros.subscriptions import MessageBounds, bounds_of, type_name
from planner.world.bounds import MAX_COORDINATE_M, Bound, Number, OneOf, Text, UnboundedFieldError
from planner.world.field_bounds import BOUNDS, WHOLE_MESSAGES, bound_of

NOW_S = 1000.0
GOAL = ExecutePrimitive.Goal


def parts(module: Any, part: str) -> list[Any]:
    """The goals or requests of every interface of a module."""
    kinds = [getattr(module, name) for name in dir(module) if not name.startswith("_")]
    return [getattr(kind, part) for kind in kinds if hasattr(kind, part)]


INTERFACES = [*parts(planner_msgs.action, "Goal"), *parts(planner_msgs.srv, "Request")]
TOPICS = {
    "planner_msgs/Heartbeat": Heartbeat,
    "/people": PoseArray,
    "/instruct/answer": String,
    "/robot_description": String,
    "/says": String,
    "/voice": String,
    "/lockstep": Header,
    **{
        type_name(kind): kind
        for kind in (
            BatteryState,
            Bool,
            CameraInfo,
            DiagnosticArray,
            DiagnosticStatus,
            ExecutePrimitive.Feedback,
            ExecutePrimitive.Result,
            ExecuteSkill.Result,
            Image,
            OccupancyGrid,
            UInt8MultiArray,
        )
    },
    "nav_msgs/Odometry": Odometry,
    "sensor_msgs/JointState": JointState,
    "tf2_msgs/TFMessage": TFMessage,
}
# Only with the interfaces of robots.
DETECTIONS = "vision_msgs/Detection3DArray"
if find_spec("vision_msgs") is not None:
    TOPICS[DETECTIONS] = message_class("vision_msgs/msg/Detection3DArray")
BETWEEN = {
    f"planner_msgs/{kind.__name__}": kind
    for kind in (
        ApprovalQuestion,
        EntityList,
        Evaluation,
        InstructStatus,
        MemoryUpdate,
        PlannerTrace,
        SkillReport,
        WorldGraph,
        WorldInfo,
        WorldState,
    )
}
TOPICS |= BETWEEN
# What has no agent of its own is refused.
FILLED: dict[str, dict[str, Any]] = {
    "planner_msgs/SkillReport": {"agent": "agent_0"},
    "nav_msgs/OccupancyGrid": {"info": MapMetaData(resolution=0.05, width=1, height=1)},
}


@pytest.mark.parametrize("kind", INTERFACES, ids=type_name)
def test_every_field_of_a_goal_or_request_has_a_bound(kind: Any) -> None:
    assert MessageBounds(kind).problem(kind(), NOW_S) is None


@pytest.mark.parametrize("name", TOPICS)
def test_every_field_of_a_command_has_a_bound(name: str) -> None:
    message = TOPICS[name](**FILLED.get(name, {}))
    assert MessageBounds(TOPICS[name], name).problem(message, NOW_S) is None


def test_whatever_has_bounds_is_checked_by_this_test() -> None:
    checked = {type_name(kind) for kind in INTERFACES} | set(TOPICS) | {DETECTIONS}
    assert checked == set(WHOLE_MESSAGES)


def test_every_bound_is_of_a_field_that_there_is(monkeypatch: pytest.MonkeyPatch) -> None:
    used: set[tuple[str, str]] = set()

    def noted(owners: Any) -> Bound:
        bound = bound_of(owners)
        used.add(next(o for o in owners if BOUNDS.get(o[0], {}).get(o[1]) is bound))
        return bound

    monkeypatch.setattr("planner.ros.subscriptions.bound_of", noted)
    for kind in INTERFACES:
        MessageBounds(kind)
    for name, kind in TOPICS.items():
        MessageBounds(kind, name)
    tables = {
        owner: table for owner, table in BOUNDS.items() if owner != DETECTIONS or owner in TOPICS
    }
    assert {(owner, path) for owner, table in tables.items() for path in table} - used == set()


def test_a_field_that_nobody_gave_a_bound_is_named() -> None:
    class Grown(GOAL):  # type: ignore[misc]
        @classmethod
        def get_fields_and_field_types(cls) -> dict[str, str]:
            return {**GOAL.get_fields_and_field_types(), "speed_m_s": "double"}

    with pytest.raises(UnboundedFieldError, match="ExecutePrimitive_Goal: the field speed_m_s"):
        MessageBounds(Grown, type_name(GOAL))


def set_field(message: Any, path: str, value: Any) -> Any:
    *inner, last = path.split(".")
    owner = message
    for name in inner:
        owner = getattr(owner, name)
    setattr(owner, last, value)
    return message


NUMBERS = {
    path: bound
    for path, bound in BOUNDS[type_name(GOAL)].items()
    if isinstance(bound, Number) and not path.endswith("[]")
}


@given(
    path=st.sampled_from(sorted(NUMBERS)),
    value=st.one_of(
        st.floats(),
        st.sampled_from([1e18, -1e18, 1e308, 5e-324, -5e-324, MAX_COORDINATE_M, math.nan]),
    ),
)
def test_a_goal_is_in_bounds_exactly_where_its_numbers_are(path: str, value: float) -> None:
    bound = NUMBERS[path]
    good = bound.free if math.isnan(value) else bound.low <= value <= bound.high
    problem = bounds_of(GOAL).problem(set_field(GOAL(), path, value), NOW_S)
    assert (problem is None) is good
    assert problem is None or problem.field == path


@pytest.mark.parametrize(
    ("kind", "fields", "says"),
    [
        (GOAL, {"name": "x" * 65}, "name: 65 characters, more than 64"),
        (GOAL, {"target.header.frame_id": "x" * 257}, "target.header.frame_id: 257 characters"),
        (GOAL, {"pan_rad": [0.0] * 1001}, "pan_rad: 1001 items, more than 1000"),
        (GOAL, {"tilt_rad": [0.0, 1e18]}, "tilt_rad[1]: 1e+18 is outside -100 to 100 rad"),
        (GOAL, {"tilt_rad": [math.nan]}, "tilt_rad[0]: not a number"),
        (LoadMemory.Request, {"path": "a\0b"}, "path: a NUL character"),
        (FollowInstruction.Goal, {"dialogue": ["x" * 10_001]}, "dialogue[0]: 10001 characters"),
    ],
)
def test_texts_and_arrays(kind: Any, fields: dict[str, Any], says: str) -> None:
    message = kind()
    for path, value in fields.items():
        set_field(message, path, value)
    assert str(bounds_of(kind).problem(message, NOW_S)).startswith(says)


def node(name: str, **fields: Any) -> WorldGraphNode:
    return WorldGraphNode(name=name, **fields)


def edge(child: str, parent: str, relation: str = "on") -> WorldGraphEdge:
    return WorldGraphEdge(child=child, parent=parent, relation=relation)


@pytest.mark.parametrize(
    ("message", "says"),
    [
        (
            WorldState(entities=[EntityState(name="cup_1", relation="beside")]),
            "entities[0].relation: 'beside' is not one of '', 'on', 'within', 'held'",
        ),
        (WorldState(entities=[EntityState(kind=9)]), "entities[0].kind: '9' is not one of 0, 1"),
        (
            WorldState(entities=[EntityState(openness=math.nan)]),
            "entities[0].openness: not a number",
        ),
        (
            WorldState(entities=[EntityState(), EntityState(kind=3, name="a/b")]),
            "entities[1].name: 'a/b' cannot name an agent",
        ),
        (InstructStatus(state=255), "state: '255' is not one of 0, 1, 2, 3, 4, 5"),
        (InstructStatus(agents=["agent 0"]), "agents[0]: 'agent 0' cannot name an agent"),
        (
            MemoryUpdate(operations=[Operation(), Operation(kind=3)]),
            "operations[1].kind: '3' is not one of 0, 1, 2",
        ),
        (WorldInfo(agents=["agent_0", "../x"]), "agents[1]: '../x' cannot name an agent"),
        (WorldInfo(agents=[""]), "agents[0]: '' cannot name an agent"),
        (WorldInfo(agents=["a"] * 65), "agents: 65 items, more than 64"),
        (SkillReport(agent="agent_0", code=9999), "code: '9999' is not one of 0, 1"),
        (Evaluation(status=3), "status: '3' is not one of 0, 1, 2"),
        (WorldGraph(nodes=[node("a", source=3)]), "nodes[0].source: '3' is not one of 0, 1, 2"),
        (WorldGraph(nodes=[node("b c", kind=3)]), "nodes[0].name: 'b c' cannot name an agent"),
        (WorldGraph(edges=[edge("a", "b", "by")]), "edges[0].relation: 'by' is not one of 'in'"),
        (WorldGraph(edges=[edge("a", "a")]), "edges: 'a' is in or on itself"),
        (
            WorldGraph(edges=[edge("a", "b"), edge("b", "c"), edge("c", "b")]),
            "edges: 'c' is in or on itself",
        ),
        (
            WorldGraph(edges=[edge(f"t{i}", f"t{i + 1}") for i in range(100)]),
            "edges: more than 64 things in each other",
        ),
    ],
)
def test_messages_between_nodes(message: Any, says: str) -> None:
    assert str(bounds_of(type(message)).problem(message, 0.0)).startswith(says)


@given(st.lists(st.floats(allow_nan=True) | st.sampled_from([-1.0, 0.0, 1.0]), min_size=1))
def test_many_numbers_at_a_time_are_judged_as_each_by_itself(values: list[float]) -> None:
    for bound in (Number(-1.0, 1.0), Number(0.0, math.inf, free=True), Number(-1.0, 1e308)):
        assert bound.accepts(values) == all(not bound.reason(value) for value in values)


@given(st.lists(st.text("ab_0/\0", max_size=6), min_size=1))
def test_many_texts_at_a_time_are_judged_as_each_by_itself(values: list[str]) -> None:
    for bound in (Text(4), Text(4, names_topics=True), OneOf(("", "a"))):
        assert bound.accepts(values) == all(not bound.reason(value) for value in values)


def test_things_in_a_room_are_no_circle() -> None:
    edges = [edge("cup", "table"), edge("table", "kitchen", "in"), edge("jug", "table")]
    assert bounds_of(WorldGraph).problem(WorldGraph(edges=edges), 0.0) is None


def test_a_field_of_an_item_is_named_with_its_place() -> None:
    request = EditMemory.Request(operations=[Operation(), Operation()])
    request.operations[1].entity.position.y = 1e18
    problem = bounds_of(EditMemory.Request).problem(request, NOW_S)
    assert str(problem).startswith("operations[1].entity.position.y: 1e+18 is outside")


@pytest.mark.parametrize(
    ("stamp_s", "says"),
    [
        (0.0, ""),
        (NOW_S, ""),
        (NOW_S - 9.0, ""),
        (NOW_S + 0.5, ""),
        (NOW_S - 11.0, "11.0 s old"),
        (NOW_S + 2.0, "2.0 s ahead"),
        (2_000_000_000.0, "s ahead"),
    ],
)
def test_stamps(stamp_s: float, says: str) -> None:
    goal = GOAL()
    goal.target.header.stamp = time_message(stamp_s)
    problem = bounds_of(GOAL).problem(goal, NOW_S)
    assert says in str(problem)
    assert bool(problem) is bool(says)
