"""Walking as a routine: expiring goals, sent repeatedly."""

from __future__ import annotations

import math
from collections.abc import Callable

from planner.world.geometry import Pose, Vec3, wrap_angle_rad
from planner.world.primitive import Primitive, PrimitiveCode, PrimitiveResult
from sim_bridge.routine import Check, Ended, Motion, Routine, success
from sim_bridge.spot.advice import LATE_ERRORS
from sim_bridge.spot.permit import WithdrawnError
from sim_bridge.spot.robot import Robot

# Phases in which a robot only walks.
WALKING, ALONG_MAP = "walking", "walking along the map"
PHASES = frozenset({WALKING, ALONG_MAP})
NEAR_M, NEAR_RAD = 0.1, 0.1
EXACT_M, EXACT_RAD = 1e-3, 2e-3
SLOW_M_S = 0.02
STUCK_S = 20.0
# Minimum gain, metres, to use the recorded map.
GRAPH_SAVES_M = 2.0
SETTLE_S = 1.0
FACING_RAD = 0.02


def bearing(base: Pose, point_m: Vec3) -> float:
    """The yaw from a pose to a point; the pose's own if they coincide."""
    dx, dy = point_m[0] - base.position_m[0], point_m[1] - base.position_m[1]
    return base.yaw_rad if math.hypot(dx, dy) < 0.05 else math.atan2(dy, dx)


def navigate(
    robot: Robot, primitive: Primitive, target_m: Vec3, stow: Callable[[Robot], Motion]
) -> Routine:
    """Walks to where a target is within reach, after stowing the arm by `stow`."""
    way = robot.map.way(robot.base, target_m, primitive.standoff_m)
    if isinstance(way, PrimitiveResult):
        return way
    yield from stow(robot)
    if (yield from _along_graph(robot, way[-1])):
        # The recorded route ends near the goal; the rest is planned in the layout.
        way = robot.map.way(robot.base, target_m, primitive.standoff_m)
        if isinstance(way, PrimitiveResult):
            return way
    for index, (x, y) in enumerate(way):
        progress = index / len(way)
        base = robot.base
        if math.dist(base.position_m[:2], (x, y)) < EXACT_M:
            continue
        heading = bearing(base, (x, y, 0.0))
        yield from _go(robot, Pose.planar(*base.position_m[:2], heading), progress)
        yield from _go(robot, Pose.planar(x, y, heading), progress)
    heading = primitive.heading_rad
    if math.isnan(heading):
        heading = bearing(robot.base, target_m)
    yield from turn(robot, heading)
    gap = math.dist(robot.base.position_m[:2], target_m[:2])
    return success("arrived", distance_m=f"{gap:.2f}")


def _along_graph(robot: Robot, goal: tuple[float, float]) -> Check:
    """Walks along a recorded map to the waypoint nearest to a goal; False if not worth it."""
    graph = robot.graph
    if graph is None:
        return False
    waypoint, left_m = graph.map.nearest((*goal, 0.0))
    here_m = math.dist(robot.base.position_m[:2], goal)
    if here_m - left_m < GRAPH_SAVES_M:
        return False
    numbers: list[int] = []
    sent_s, answered_s, status = -math.inf, robot.clock_s(), "FOLLOWING_ROUTE"

    def go_on() -> None:
        numbers.append(graph.walk(waypoint, numbers[-1] if numbers else None))

    def ask() -> None:
        nonlocal status
        status = graph.status(numbers[-1]).removeprefix("STATUS_")

    while True:
        if robot.clock_s() - sent_s >= robot.safety.motion.resend_s:
            sent_s = robot.clock_s()
            answered_s = _send(robot, go_on, answered_s)
        if numbers:
            answered_s = _send(robot, ask, answered_s)
        if status == "REACHED_GOAL":
            return True
        if status not in ("FOLLOWING_ROUTE", "COMMAND_TIMED_OUT"):
            text = f"the walk along the recorded map ended as {status}"
            raise Ended(PrimitiveCode.BLOCKED, text, waypoint=waypoint)
        gone = math.dist(robot.base.position_m[:2], goal)
        yield ALONG_MAP, max(0.0, 1.0 - gone / max(here_m, 1e-6))


def turn(robot: Robot, heading: float) -> Motion:
    """Turns to a yaw in `map`, unless it already faces that way."""
    base = robot.base
    if abs(wrap_angle_rad(heading - base.yaw_rad)) > FACING_RAD:
        yield from _go(robot, Pose.planar(*base.position_m[:2], heading), 1.0)


def _go(robot: Robot, goal: Pose, progress: float) -> Motion:
    """Walks to a pose: sends it repeatedly until the robot is there and stands still."""
    link, motion = robot.link, robot.safety.motion
    began_s = better_s = answered_s = robot.clock_s()
    sent_s, best = -math.inf, math.inf
    while True:
        base, now_s = robot.base, robot.clock_s()
        gap = math.dist(base.position_m[:2], goal.position_m[:2])
        off = abs(wrap_angle_rad(goal.yaw_rad - base.yaw_rad))
        still = abs(robot.state.linear_m_s) < SLOW_M_S and abs(robot.state.angular_rad_s) < SLOW_M_S
        # A real robot settles near a goal, not exactly on it.
        near = gap < NEAR_M and off < NEAR_RAD and still and now_s - began_s > SETTLE_S
        if near or (gap < EXACT_M and off < EXACT_RAD):
            return
        if gap + off < best - 0.02:
            best, better_s = gap + off, now_s
        if now_s - better_s > STUCK_S:
            raise Ended(PrimitiveCode.BLOCKED, "something stands in the way")
        if now_s - sent_s >= motion.resend_s:
            odom = robot.to_odom(goal)
            x, y, yaw = *odom.position_m[:2], odom.yaw_rad
            answered_s = _send(robot, lambda: link.walk_to(x, y, yaw), answered_s)  # noqa: B023
            sent_s = now_s
        yield WALKING, progress


def _send(robot: Robot, send: Callable[[], object], answered_s: float) -> float:
    """Sends a goal; returns when the last one was answered.

    A late answer ends nothing: the previous goal is still valid, and then the robot stands.

    Raises:
        Error: of the SDK, if none was answered for so long that the link counts as lost (rule 7).
    """
    try:
        send()
    except WithdrawnError:
        # Paused: it is resumed or ended by the caller of the pause.
        return answered_s
    except LATE_ERRORS:
        if robot.clock_s() - answered_s > robot.safety.link.stale_after_s:
            raise
        return answered_s
    return robot.clock_s()
