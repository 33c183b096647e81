"""Routines for docking and undocking (rule 15)."""

from __future__ import annotations

import math
from collections.abc import Callable, Generator

from planner.world.primitive import Primitive, PrimitiveCode, PrimitiveName, PrimitiveResult
from sim_bridge.routine import Routine
from sim_bridge.spot.options import Dock
from sim_bridge.spot.robot import Robot
from sim_bridge.spot.routines import routine

TIMEOUT_S = 60.0
_GOING = "STATUS_IN_PROGRESS"


def before_dock(dock: Dock) -> Primitive:
    """The walk to where the robot sees the dock's marker."""
    x, y, yaw = dock.pose
    return Primitive(PrimitiveName.NAVIGATE, (x, y, 0.0), heading_rad=yaw, standoff_m=0.0)


def onto_dock(robot: Robot, dock: Dock) -> Routine:
    """Walks to the configured dock and onto it."""
    walk = before_dock(dock)
    there = yield from routine(robot, walk, walk.target_m, None)
    if not there.succeeded:
        return there
    status = yield from _follow(robot, lambda: robot.link.dock(dock.number), "docking")
    if status != "STATUS_DOCKED":
        return _failed(f"it did not get onto the dock {dock.number}: {status}")
    return PrimitiveResult(PrimitiveCode.SUCCESS, f"on the dock {dock.number}")


def off_dock(robot: Robot) -> Routine:
    """Walks off the dock and stops in front of it."""
    status = yield from _follow(robot, robot.link.undock, "undocking")
    if status != "STATUS_AT_PREP_POSE":
        return _failed(f"it did not get off the dock: {status}")
    return PrimitiveResult(PrimitiveCode.SUCCESS, "off the dock")


def _failed(text: str) -> PrimitiveResult:
    return PrimitiveResult(PrimitiveCode.BLOCKED, f"{text}; see to the robot")


def _follow(
    robot: Robot, begin: Callable[[], int], phase: str
) -> Generator[tuple[str, float], None, str]:
    """Extends the command until it has ended; returns the name of its last status."""
    number = begin()
    asked_s, until_s, status = -math.inf, robot.clock_s() + TIMEOUT_S, _GOING
    while status == _GOING and robot.clock_s() < until_s:
        if robot.clock_s() - asked_s >= robot.safety.motion.resend_s:
            status, asked_s = robot.link.docking(number), robot.clock_s()
        yield phase, 0.9
    return status
