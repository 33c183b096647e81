"""The body moved step by step (LLAMAR-3.1): 0.25 m, turns of 90 degrees, the camera's tilt."""

from __future__ import annotations

import math

from planner.skills.attempt import Attempt, Motion, Routine
from planner.skills.moving import look
from planner.skills.preconditions import Arguments
from planner.skills.results import RefusalError, failure
from planner.world.geometry import Pose, Vec3, wrap_angle_rad
from planner.world.primitive import Primitive, PrimitiveCode, PrimitiveName, PrimitiveResult
from planner.world.skill import SkillCode

STEP_M = 0.25
QUARTER_RAD = math.pi / 2
ANGLES_DEG = (30, 60, 90, 120, 150, 180)
# A step that ends further from where it should, as before another agent, is a collision
# (LLAMAR-D26).
_OFF_M = 0.1
_POSE_PERIODS = 20
# The camera looks straight up, or straight down, at most.
_MAX_TILT_RAD = math.pi / 2
# Towards where a step goes, seen from the heading.
_SIDES_RAD = {"ahead": 0.0, "left": QUARTER_RAD, "back": math.pi, "right": -QUARTER_RAD}
_TURNS_RAD = {"left": QUARTER_RAD, "right": -QUARTER_RAD}
_BLOCKED = PrimitiveResult(PrimitiveCode.BLOCKED, "there is no free floor that way")


def move(attempt: Attempt, arguments: Arguments) -> Routine:
    """Moves by one step; the heading stays."""
    side_rad = _value(arguments.text, _SIDES_RAD)
    base = _base(attempt)
    result = yield from step(attempt, base.yaw_rad + side_rad, base.yaw_rad)
    if not result.succeeded:
        return failure(result, f"the way {arguments.text.lower()}", **attempt.evidence)
    return attempt.success()


def rotate(attempt: Attempt, arguments: Arguments) -> Routine:
    """Turns by a quarter on the spot."""
    turn_rad = _value(arguments.text, _TURNS_RAD)
    result = yield from face(attempt, _base(attempt).yaw_rad + turn_rad)
    if not result.succeeded:
        return failure(result, "the new heading", **attempt.evidence)
    return attempt.success()


def look_up(attempt: Attempt, arguments: Arguments) -> Routine:
    """Tilts the camera up."""
    return (yield from _tilt(attempt, arguments.text, -1))


def look_down(attempt: Attempt, arguments: Arguments) -> Routine:
    """Tilts the camera down."""
    return (yield from _tilt(attempt, arguments.text, 1))


def is_direction(_attempt: Attempt, arguments: Arguments) -> None:
    """The argument is a direction to step in.

    Raises:
        RefusalError: otherwise.
    """
    _value(arguments.text, _SIDES_RAD)


def is_turn(_attempt: Attempt, arguments: Arguments) -> None:
    """The argument is a direction to turn to.

    Raises:
        RefusalError: otherwise.
    """
    _value(arguments.text, _TURNS_RAD)


def is_angle(_attempt: Attempt, arguments: Arguments) -> None:
    """The argument is one of the paper's angles, in degrees.

    Raises:
        RefusalError: otherwise.
    """
    _value(arguments.text, {str(angle): float(angle) for angle in ANGLES_DEG})


def step(attempt: Attempt, towards_rad: float, yaw_rad: float) -> Motion:
    """One step in a direction of the map, ending with a heading.

    Ends as BLOCKED where there is no free floor, or another agent in the way.
    """
    start = _base(attempt).position_m
    end = _ahead(start, towards_rad, STEP_M)
    grid = attempt.scene.ground.grid
    if not all(grid.is_free(*_ahead(start, towards_rad, STEP_M * k / 2)[:2]) for k in (1, 2)):
        return _BLOCKED
    result = yield from _go(attempt, end, yaw_rad, "stepping")
    if result.code is PrimitiveCode.UNREACHABLE:
        return _BLOCKED
    for _ in range(_POSE_PERIODS):
        arrived = attempt.base
        near = arrived is not None and math.dist(arrived[:2], end[:2]) <= _OFF_M
        if not result.succeeded or near:
            return result
        # Over ROS the position comes later than the result.
        yield "stepping", attempt.share(1.0)
    return PrimitiveResult(PrimitiveCode.BLOCKED, "something stands in the way")


def face(attempt: Attempt, yaw_rad: float) -> Motion:
    """Turns to a heading of the map on the spot."""
    return (yield from _go(attempt, _base(attempt).position_m, yaw_rad, "turning"))


def _go(attempt: Attempt, point_m: Vec3, yaw_rad: float, phase: str) -> Motion:
    primitive = Primitive(
        PrimitiveName.NAVIGATE,
        (point_m[0], point_m[1], 0.0),
        heading_rad=wrap_angle_rad(yaw_rad),
        standoff_m=0.0,
    )
    return (yield from attempt.do(primitive, phase))


def _tilt(attempt: Attempt, text: str, sign: int) -> Routine:
    team, agent = attempt.scene.team, attempt.scene.agent
    before_rad = team.tilt_rad(agent)
    before_rad = attempt.camera.tilt_rad if before_rad is None else before_rad
    wanted_rad = before_rad + sign * math.radians(int(text))
    tilt_rad = max(-_MAX_TILT_RAD, min(_MAX_TILT_RAD, wanted_rad))
    if abs(tilt_rad - before_rad) < 1e-6:
        end = "up" if sign < 0 else "down"
        return attempt.failure(SkillCode.BLOCKED, f"The camera looks straight {end} already.")
    result = yield from look(attempt, ((0.0, tilt_rad),), "tilting the camera")
    if not result.succeeded:
        return failure(result, "the view", **attempt.evidence)
    return attempt.success()


def _value(text: str, values: dict[str, float]) -> float:
    found = values.get(text.strip().lower())
    if found is None:
        sentence = f"Expected one of {', '.join(values)}, got {text!r}."
        raise RefusalError(SkillCode.WRONG_ARGUMENTS, sentence)
    return found


def _ahead(start: Vec3, towards_rad: float, length_m: float) -> Vec3:
    x, y, _ = start
    return (x + length_m * math.cos(towards_rad), y + length_m * math.sin(towards_rad), 0.0)


def _base(attempt: Attempt) -> Pose:
    pose = attempt.base_pose()
    if pose is None:
        raise RefusalError(SkillCode.BACKEND_FAULT, "The agent's own position is unknown.")
    return pose
