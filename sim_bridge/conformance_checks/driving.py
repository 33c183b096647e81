"""Driving by velocities, and any finite numbers: motion ends with a code and keeps its limits."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

from planner.world.bounds import MAX_ANGLE_RAD, MAX_COORDINATE_M, MAX_DURATION_S, MAX_STANDOFF_M
from planner.world.geometry import Pose, Vec3, wrap_angle_rad
from planner.world.primitive import (
    MAX_DRIVE_S,
    Drive,
    DriveLimits,
    Primitive,
    PrimitiveCode,
    PrimitiveName,
)
from planner.world.vocabulary import Relation
from sim_bridge.conformance_checks.trial import (
    ConformanceError,
    Trial,
    UnsuitableError,
    expect,
    moved_m,
)
from sim_bridge.pacing import TICK_S

# For noise of localisation, and for a body that does not start and stop at once.
TURN_TOLERANCE_RAD = 0.25
WAY_TOLERANCE_M = 0.3
HEADINGS = 8


def driving_is_declared(trial: Trial) -> None:
    """A body has limits of its velocities if, and only if, it has the primitive."""
    for agent in trial.backend.agents:
        can = trial.backend.capabilities(agent)
        has = PrimitiveName.DRIVE in can.primitives
        expect(has == (can.drive is not None), f"{agent}: drive is {has}, its limits {can.drive}")
        if can.drive is not None:
            fields = (can.drive.forward_m_s, can.drive.turn_rad_s)
            expect(min(fields) > 0.0, f"{agent}: its limits {can.drive} let nothing move")


def driving_turns_and_moves(trial: Trial) -> None:
    """A body turns by its velocity times the duration, and moves where the floor is free."""
    limits = _limits(trial)
    turn = limits.turn_rad_s / 2
    before = trial.base()
    _drive(trial, Drive(0.5, turn_rad_s=turn))
    turned = wrap_angle_rad(trial.base().yaw_rad - before.yaw_rad)
    off = abs(turned - turn * 0.5)
    expect(off < TURN_TOLERANCE_RAD, f"it turned by {turned:.2f} rad, not {turn * 0.5:.2f}")
    forward = limits.forward_m_s
    most = 0.0
    for _ in range(HEADINGS):
        start = trial.base()
        _drive(trial, Drive(MAX_DRIVE_S, forward_m_s=forward))
        end = trial.base()
        most = max(most, _ahead_m(start, end))
        way = moved_m(start, end)
        expect(way < forward * MAX_DRIVE_S + WAY_TOLERANCE_M, f"it moved {way:.2f} m in a drive")
        _drive(trial, Drive(MAX_DRIVE_S, turn_rad_s=min(limits.turn_rad_s, math.pi / 4)))
    least = forward * MAX_DRIVE_S / 2 - WAY_TOLERANCE_M
    expect(most > max(least, 0.05), f"it moved at most {most:.2f} m ahead in any direction")


def a_drive_expires(trial: Trial) -> None:
    """It ends after its duration without being told, and the body stands still."""
    limits = _limits(trial)
    began_s = trial.backend.now_s()
    drive = Drive(0.5, turn_rad_s=limits.turn_rad_s / 2)
    handle = trial.backend.start(trial.agent, Primitive(PrimitiveName.DRIVE, drive=drive))
    expect(not trial.backend.poll(handle).done, "a drive ended before time passed")
    while not trial.backend.poll(handle).done:
        trial.backend.step(TICK_S)
        took_s = trial.backend.now_s() - began_s
        expect(took_s < 1.5, f"a drive of 0.5 s still runs after {took_s:.1f} s")
    result = trial.finish(handle)
    expect(result.succeeded, f"a drive ended as {result.code.name}: {result.text}")
    _rests(trial, "a drive")


def a_drive_can_be_stopped(trial: Trial) -> None:
    """`stop` and `cancel` end it at once."""
    limits = _limits(trial)
    drive = Drive(MAX_DRIVE_S, turn_rad_s=limits.turn_rad_s / 2)
    primitive = Primitive(PrimitiveName.DRIVE, drive=drive)
    for code in (PrimitiveCode.STOPPED, PrimitiveCode.CANCELED):
        handle = trial.backend.start(trial.agent, primitive)
        trial.step(0.2)
        if code is PrimitiveCode.STOPPED:
            trial.backend.stop(trial.agent)
        else:
            trial.backend.cancel(handle)
        result = trial.finish(handle)
        expect(result.code is code, f"a drive that was ended ended as {result.code.name}")
        _rests(trial, code.name)


def unbounded_drives_are_refused(trial: Trial) -> None:
    """No velocities, too fast, too long, or not a number: BAD_TARGET, and nothing moves."""
    limits = _limits(trial)
    before = trial.base()
    good = Drive(0.5)
    wrong = [
        None,
        *(replace(good, duration_s=s) for s in (0.0, -1.0, MAX_DRIVE_S * 1.01, math.nan, 1e18)),
        *(replace(good, forward_m_s=v) for v in (limits.forward_m_s * 1.01, math.nan, -1e18)),
        *(replace(good, turn_rad_s=v) for v in (-limits.turn_rad_s * 1.01, math.inf, math.nan)),
        *(replace(good, pan_rad_s=v) for v in (limits.hand_rad_s * 1.01 + 0.01, math.nan)),
        *(replace(good, tilt_rad_s=v) for v in (-limits.hand_rad_s * 1.01 - 0.01, math.nan)),
    ]
    for drive in wrong:
        asked = Primitive(PrimitiveName.DRIVE, drive=drive)
        trial.refused(PrimitiveCode.BAD_TARGET, f"{drive}", asked)
    moved = moved_m(before, trial.base())
    expect(moved < WAY_TOLERANCE_M, f"refused drives moved it by {moved:.2f} m")


def _limits(trial: Trial) -> DriveLimits:
    limits = trial.can().drive
    if limits is None:
        raise UnsuitableError(f"a {trial.can().kind} is not driven by velocities here")
    return limits


def _drive(trial: Trial, drive: Drive) -> None:
    primitive = Primitive(PrimitiveName.DRIVE, drive=drive)
    result = trial.finish(trial.backend.start(trial.agent, primitive))
    expect(result.succeeded, f"{drive} ended as {result.code.name}: {result.text}")


def _ahead_m(start: Pose, end: Pose) -> float:
    """How far a pose is ahead of another."""
    return start.inverse().apply(end.position_m)[0]


def _rests(trial: Trial, what: str) -> None:
    before = trial.base()
    trial.step(1.0)
    after = trial.base()
    turned = abs(wrap_angle_rad(after.yaw_rad - before.yaw_rad))
    expect(turned < TURN_TOLERANCE_RAD, f"after {what} it turned on by {turned:.2f} rad")
    expect(moved_m(before, after) < WAY_TOLERANCE_M, f"after {what} it moved on")


CHECKS = (
    driving_is_declared, driving_turns_and_moves, a_drive_expires, a_drive_can_be_stopped,
    unbounded_drives_are_refused,
)  # fmt: skip


# Numbers: whatever a finite float is, a primitive with it ends with a code and does no harm.

INVALID_NUMBERS = (1e18, -1e18, 1e308, -1e308, math.nextafter(MAX_COORDINATE_M, math.inf))
TINY = 5e-324
# Enough time for a primitive to use its numbers.
TICKS = 3


def senseless_numbers_are_refused(trial: Trial) -> None:
    """A finite number out of bounds ends a primitive as BAD_TARGET, in each field."""
    here = trial.base().position_m
    for name in sorted(trial.can().primitives):
        sound = _sound(name, here)
        for value in INVALID_NUMBERS:
            for what, primitive in _with_number(sound, value):
                trial.refused(PrimitiveCode.BAD_TARGET, f"{name} with {what} {value:g}", primitive)
            if abs(value) > MAX_DURATION_S:
                end = trial.finish(
                    trial.backend.start(trial.agent, replace(sound, timeout_s=value))
                )
                # A safety rule may refuse first.
                refused = end.code in (PrimitiveCode.BAD_TARGET, PrimitiveCode.NOT_ALLOWED)
                expect(refused, f"{name} with timeout {value:g} ended as {end.code.name}")


def extreme_numbers_end_somehow(trial: Trial) -> None:
    """The largest and smallest allowed numbers end a primitive with some code."""
    here = trial.base().position_m
    for name in sorted(trial.can().primitives):
        sound = _sound(name, here)
        for frame in ("map", f"{trial.agent}/odom", f"{trial.agent}/base_link"):
            for value in (MAX_COORDINATE_M, -MAX_COORDINATE_M, TINY, -TINY, 0.0):
                for axis in range(3):
                    target_m = _moved(here, axis, value)
                    _ends(trial, replace(sound, target_m=target_m, frame=frame))
        for extreme in _extremes(sound, here):
            _ends(trial, extreme)


def _sound(name: str, target_m: Vec3) -> Primitive:
    relation = Relation.ON if name is PrimitiveName.PLACE else None
    return Primitive(name, target_m, relation=relation)


def _moved(point_m: Vec3, axis: int, value: float) -> Vec3:
    x, y, z = (value if number == axis else old for number, old in enumerate(point_m))
    return (x, y, z)


def _with_number(sound: Primitive, value: float) -> Iterator[tuple[str, Primitive]]:
    for axis in range(3):
        target_m = _moved(sound.target_m, axis, value)
        yield f"target[{axis}]", replace(sound, target_m=target_m)
    yield "reference", replace(sound, reference_m=(value, 0.0, 0.0))
    yield "heading", replace(sound, heading_rad=value)
    yield "standoff", replace(sound, standoff_m=value)
    yield "tolerance", replace(sound, tolerance_m=value)
    yield "pan", replace(sound, views_rad=((value, 0.0),))
    yield "tilt", replace(sound, views_rad=((0.0, value),))


def _extremes(sound: Primitive, here: Vec3) -> Iterator[Primitive]:
    for angle in (MAX_ANGLE_RAD, -MAX_ANGLE_RAD, TINY):
        yield replace(sound, heading_rad=angle)
        if sound.name is PrimitiveName.LOOK:
            yield replace(sound, views_rad=((angle, angle),))
    for distance in (MAX_STANDOFF_M, TINY, 0.0):
        yield replace(sound, standoff_m=distance, tolerance_m=distance)
    for time in (MAX_DURATION_S, TINY):
        yield replace(sound, timeout_s=time)
    if sound.name is PrimitiveName.PLACE:
        for value in (MAX_COORDINATE_M, TINY):
            yield replace(sound, reference_m=(value, *here[1:]))


def _ends(trial: Trial, primitive: Primitive) -> None:
    backend = trial.backend
    try:
        handle = backend.start(trial.agent, primitive)
        for _ in range(TICKS):
            if backend.poll(handle).done:
                break
            trial.tick()
        backend.stop(trial.agent)
        trial.tick()
    except Exception as error:
        raise ConformanceError(f"{primitive} raised {error!r}") from error
    result = backend.poll(handle).result
    expect(result is not None, f"{primitive} goes on after a stop")


OF_NUMBERS = (senseless_numbers_are_refused, extreme_numbers_end_somehow)
