"""Whatever floats a goal message has: the bridge ends it with a code and lives on."""

from __future__ import annotations

import math
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from planner_msgs.action import ExecutePrimitive

from planner.ros.subscriptions import bounds_of
from planner.world.primitive import PrimitiveCode, all_primitives
from sim_bridge.agent.node import read_goal
from sim_bridge.embedded.backend import EmbeddedBackend
from sim_bridge.opening import default_house, open_world
from sim_bridge.runtime import Job, Runtime, out_of_bounds

AGENT = "agent_0"
FRAMES = ("map", f"{AGENT}/odom", f"{AGENT}/base_link")
SPECIAL = (1e18, -1e18, 1e308, -1e308, 1e4, -1e4, 5e-324, -5e-324, -0.0, math.nan)
numbers = st.one_of(st.sampled_from(SPECIAL), st.floats(), st.floats(-10.0, 10.0))


@st.composite
def goals(draw: st.DrawFn) -> ExecutePrimitive.Goal:
    goal = ExecutePrimitive.Goal(
        name=draw(st.sampled_from(sorted(all_primitives()))),
        relation=draw(st.sampled_from(["", "on", "within"])),
        has_reference=draw(st.booleans()),
        heading_rad=draw(st.one_of(st.just(math.nan), numbers)),
        standoff_m=draw(st.one_of(st.just(math.nan), numbers)),
        timeout_s=draw(st.one_of(st.just(0.0), numbers)),
        tolerance_m=draw(st.one_of(st.just(0.0), numbers)),
        drive_s=draw(st.one_of(st.just(0.5), numbers)),
        forward_m_s=draw(st.one_of(st.floats(-0.8, 0.8), numbers)),
        turn_rad_s=draw(st.one_of(st.floats(-1.2, 1.2), numbers)),
        pan_rad_s=draw(st.one_of(st.just(0.0), numbers)),
        tilt_rad_s=draw(st.one_of(st.just(0.0), numbers)),
    )
    frame = draw(st.sampled_from(FRAMES))
    for stamped in (goal.target, goal.reference):
        stamped.header.frame_id = frame
        point = stamped.point
        point.x, point.y, point.z = draw(st.tuples(numbers, numbers, numbers))
    views = draw(st.lists(st.tuples(numbers, numbers), max_size=2))
    goal.pan_rad, goal.tilt_rad = [pan for pan, _ in views], [tilt for _, tilt in views]
    return goal


@pytest.fixture(scope="module")
def runtime() -> Iterator[Runtime]:
    opened = open_world(default_house(), "", 7, 1)
    made = Runtime(EmbeddedBackend())
    made.load(opened.house, opened.episode, 7)
    yield made
    made.close()


def begin(runtime: Runtime, goal: ExecutePrimitive.Goal) -> Job:
    """As the bridge's node does it."""
    problem = bounds_of(ExecutePrimitive.Goal).problem(goal, runtime.now_s())
    if problem:
        return runtime.refuse(AGENT, goal.name, out_of_bounds(problem))
    return runtime.begin(AGENT, read_goal(goal))


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(goal=goals())
def test_a_goal_ends_with_a_code_whatever_its_numbers(
    runtime: Runtime, goal: ExecutePrimitive.Goal
) -> None:
    runtime.gate.take_receipts()
    job = begin(runtime, goal)
    for _ in range(3):
        runtime.step()
    runtime.cancel(job)
    result = job.status.result
    assert result is not None
    assert result.code is not PrimitiveCode.BACKEND_FAULT
    assert all(map(math.isfinite, runtime.sense(AGENT, ()).base.position_m))
    assert len(runtime.gate.take_receipts()) == 1
