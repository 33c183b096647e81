"""Why a backend refuses to start a primitive: the same codes and texts for every backend."""

from __future__ import annotations

from planner.world.bounds import MAX_COORDINATE_M, Number
from planner.world.field_bounds import (
    ANGLE,
    ANGLE_OR_NONE,
    DISTANCE,
    DISTANCE_OR_NONE,
    DURATION,
    POSITION,
)
from planner.world.primitive import (
    MAX_DRIVE_S,
    Capabilities,
    Primitive,
    PrimitiveCode,
    PrimitiveName,
    PrimitiveResult,
    all_primitives,
)


def refusal_of(
    agent: str, can: Capabilities, primitive: Primitive, *, busy: bool
) -> PrimitiveResult | None:
    """The result that refuses a primitive of a known agent; None if it may start.

    Args:
        agent: whose primitive it is.
        can: what its body can do.
        primitive: the request.
        busy: whether the agent is running another primitive.
    """
    if primitive.name not in all_primitives():
        text = f"there is no primitive {primitive.name!r}"
        return PrimitiveResult(PrimitiveCode.UNKNOWN_PRIMITIVE, text)
    if primitive.name not in can.primitives:
        return PrimitiveResult(PrimitiveCode.NOT_ABLE, f"a {can.kind} cannot {primitive.name}")
    if primitive.hand is not None and primitive.hand.slot >= can.hands:
        text = f"a {can.kind} has no {primitive.hand} hand"
        return PrimitiveResult(PrimitiveCode.NOT_ABLE, text)
    if primitive.frame not in ("map", f"{agent}/odom", f"{agent}/base_link"):
        text = f"frame {primitive.frame!r} is none of map, {agent}/odom, {agent}/base_link"
        return PrimitiveResult(PrimitiveCode.BAD_FRAME, text)
    problem = _bad_numbers(primitive) or _bad_drive(can, primitive)
    if problem:
        return PrimitiveResult(PrimitiveCode.BAD_TARGET, problem)
    if busy:
        return PrimitiveResult(PrimitiveCode.BUSY, f"{agent} is doing something else")
    return None


def _bad_numbers(primitive: Primitive) -> str:
    """What is wrong with the numbers of a primitive; empty if nothing is."""
    looks_around = primitive.name is PrimitiveName.LOOK and primitive.views_rad
    has_no_target = looks_around or primitive.name == PrimitiveName.DRIVE
    points = {
        "target": None if has_no_target else primitive.target_m,
        "reference": primitive.reference_m,
    }
    for what, point_m in points.items():
        if point_m is not None and POSITION.first_invalid(point_m) is not None:
            return f"the {what} {point_m} is not a finite point within {MAX_COORDINATE_M:g} m"
    numbers: list[tuple[str, float, Number]] = [
        *(("a view", angle, ANGLE) for view in primitive.views_rad for angle in view),
        ("the heading", primitive.heading_rad, ANGLE_OR_NONE),
        ("the standoff", primitive.standoff_m, DISTANCE_OR_NONE),
        ("the timeout", primitive.timeout_s, DURATION),
        ("the tolerance", primitive.tolerance_m, DISTANCE),
    ]
    for what, value, bound in numbers:
        reason = bound.reason(value)
        if reason:
            return f"{what}: {reason}"
    return ""


def _bad_drive(can: Capabilities, primitive: Primitive) -> str:
    """What is wrong with the velocities of a `drive`; empty if nothing is."""
    if primitive.name != PrimitiveName.DRIVE:
        return ""
    drive, limits = primitive.drive, can.drive
    if drive is None or limits is None:
        return "a drive needs velocities"
    if not 0.0 < drive.duration_s <= MAX_DRIVE_S:
        return f"drive_s: expected above 0 and at most {MAX_DRIVE_S:g}, got {drive.duration_s:g}"
    speeds = (
        ("forward_m_s", drive.forward_m_s, limits.forward_m_s),
        ("turn_rad_s", drive.turn_rad_s, limits.turn_rad_s),
        ("pan_rad_s", drive.pan_rad_s, limits.hand_rad_s),
        ("tilt_rad_s", drive.tilt_rad_s, limits.hand_rad_s),
    )
    for what, speed, most in speeds:
        # Not a number is not within the limits either.
        if not abs(speed) <= most:
            return f"{what}: a {can.kind} may be driven with at most {most:g}, got {speed:g}"
    return ""
