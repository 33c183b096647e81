"""Checks requests to an agent, and why a backend refuses: the same texts for every backend."""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass

from planner.world.bounds import MAX_COORDINATE_M, Number, OutOfBounds
from planner.world.field_bounds import (
    ANGLE,
    ANGLE_OR_NONE,
    DISTANCE,
    DISTANCE_OR_NONE,
    DURATION,
    POSITION,
)
from planner.world.geometry import Vec3
from planner.world.primitive import (
    MAX_DRIVE_S,
    Capabilities,
    Drive,
    Primitive,
    PrimitiveCode,
    PrimitiveName,
    PrimitiveResult,
    all_primitives,
    primitive_named,
)
from planner.world.vocabulary import Hand, Relation

_PLACE_RELATIONS = {"": None, "on": Relation.ON, "within": Relation.WITHIN}


@dataclass(frozen=True, slots=True)
class Request:
    """An ExecutePrimitive goal as plain values; units and frames as in that file."""

    name: str
    target_m: Vec3
    frame: str
    relation: str = ""
    reference_m: Vec3 | None = None
    reference_frame: str = ""
    heading_rad: float = math.nan
    standoff_m: float = math.nan
    pan_rad: tuple[float, ...] = ()
    tilt_rad: tuple[float, ...] = ()
    timeout_s: float = 0.0
    tolerance_m: float = 0.0
    thing_class: str = ""
    hand: str = ""
    drive: Drive | None = None


def read_request(
    agent: str, agents: Collection[str], request: Request
) -> Primitive | PrimitiveResult:
    """The primitive of a request to `agent`, or the result that refuses it."""
    try:
        name = primitive_named(request.name)
    except ValueError:
        known = ", ".join(all_primitives())
        text = f"unknown primitive {request.name!r}; expected one of {known}"
        return PrimitiveResult(PrimitiveCode.UNKNOWN_PRIMITIVE, text)
    looks_around = name is PrimitiveName.LOOK and (request.pan_rad or request.tilt_rad)
    drives, talks = name == PrimitiveName.DRIVE, name == PrimitiveName.TALK
    has_no_target = looks_around or drives
    refusal = (
        (None if has_no_target else _check_frame(agent, agents, request.frame))
        or (None if has_no_target else _check_point("target", request.target_m))
        or _check_place(name, request)
        or _check_views(request)
        or _check_numbers(request)
        or _check_hand(request)
    )
    if refusal is not None:
        return refusal
    return Primitive(
        name=name,
        target_m=request.target_m,
        frame=request.frame or "map",
        relation=_PLACE_RELATIONS[request.relation],
        reference_m=request.reference_m,
        heading_rad=request.heading_rad,
        standoff_m=request.standoff_m,
        views_rad=tuple(zip(request.pan_rad, request.tilt_rad, strict=True)),
        timeout_s=request.timeout_s,
        tolerance_m=request.tolerance_m,
        thing_class="" if talks else request.thing_class,
        words=request.thing_class if talks else "",
        hand=Hand(request.hand) if request.hand else None,
        drive=request.drive if drives else None,
    )


def out_of_bounds(problem: OutOfBounds) -> PrimitiveResult:
    """The result that refuses a goal with a field out of bounds."""
    code = PrimitiveCode.BAD_TARGET
    if problem.field == "name":
        code = PrimitiveCode.UNKNOWN_PRIMITIVE
    elif problem.field.endswith("frame_id"):
        code = PrimitiveCode.BAD_FRAME
    return PrimitiveResult(code, f"the goal is out of bounds: {problem}")


def _check_frame(agent: str, agents: Collection[str], frame: str) -> PrimitiveResult | None:
    if frame in ("map", f"{agent}/odom", f"{agent}/base_link"):
        return None
    known = f"use map, {agent}/odom or {agent}/base_link"
    owner, slash, _ = frame.partition("/")
    if not frame:
        return PrimitiveResult(PrimitiveCode.BAD_FRAME, f"the target has no frame; {known}")
    if slash and owner.startswith("agent_") and owner not in agents:
        text = f"there is no agent {owner!r} (frame {frame!r}); there are: {', '.join(agents)}"
        return PrimitiveResult(PrimitiveCode.UNKNOWN_AGENT, text)
    return PrimitiveResult(PrimitiveCode.BAD_FRAME, f"unknown frame {frame!r}; {known}")


def _check_point(what: str, point_m: Vec3) -> PrimitiveResult | None:
    if all(math.isfinite(value) for value in point_m):
        return None
    text = f"the {what} {point_m} is not finite"
    return PrimitiveResult(PrimitiveCode.BAD_TARGET, text)


def _check_place(name: str, request: Request) -> PrimitiveResult | None:
    if request.relation not in _PLACE_RELATIONS:
        text = f"unknown relation {request.relation!r}; use on (also for the floor) or within"
        return PrimitiveResult(PrimitiveCode.BAD_TARGET, text)
    if name is PrimitiveName.PLACE and not request.relation:
        return PrimitiveResult(PrimitiveCode.BAD_TARGET, "place needs a relation: on or within")
    if request.reference_m is None:
        return None
    if request.reference_frame != request.frame:
        text = (
            f"the reference is in {request.reference_frame!r} and the target in "
            f"{request.frame!r}; give both in one frame"
        )
        return PrimitiveResult(PrimitiveCode.BAD_FRAME, text)
    return _check_point("reference", request.reference_m)


def _check_views(request: Request) -> PrimitiveResult | None:
    pans, tilts = len(request.pan_rad), len(request.tilt_rad)
    if pans != tilts:
        text = f"pan_rad has {pans} and tilt_rad {tilts} entries; a view is one of each"
        return PrimitiveResult(PrimitiveCode.BAD_TARGET, text)
    if not all(map(math.isfinite, (*request.pan_rad, *request.tilt_rad))):
        return PrimitiveResult(PrimitiveCode.BAD_TARGET, "a view's pan or tilt is not finite")
    return None


def _check_numbers(request: Request) -> PrimitiveResult | None:
    if math.isinf(request.heading_rad):
        return PrimitiveResult(PrimitiveCode.BAD_TARGET, "heading_rad is infinite; NaN means free")
    if math.isinf(request.standoff_m) or request.standoff_m < 0:
        text = f"standoff_m: expected a distance or NaN (within reach), got {request.standoff_m}"
        return PrimitiveResult(PrimitiveCode.BAD_TARGET, text)
    if not (math.isfinite(request.timeout_s) and request.timeout_s >= 0):
        text = f"timeout_s: expected 0 or more, got {request.timeout_s}"
        return PrimitiveResult(PrimitiveCode.BAD_TARGET, text)
    if not (math.isfinite(request.tolerance_m) and request.tolerance_m >= 0):
        text = f"tolerance_m: expected 0 or more, got {request.tolerance_m}"
        return PrimitiveResult(PrimitiveCode.BAD_TARGET, text)
    return None


def _check_hand(request: Request) -> PrimitiveResult | None:
    if request.hand in ("", *Hand):
        return None
    text = f"unknown hand {request.hand!r}; use right or left, or leave it empty"
    return PrimitiveResult(PrimitiveCode.BAD_TARGET, text)


# Why a backend refuses to start a primitive: the same codes and texts for every backend.


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
