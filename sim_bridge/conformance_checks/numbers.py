"""Numbers: whatever a finite float is, a primitive with it ends with a code and does no harm."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

from planner.world.bounds import (
    MAX_ANGLE_RAD,
    MAX_COORDINATE_M,
    MAX_DURATION_S,
    MAX_STANDOFF_M,
)
from planner.world.geometry import Vec3
from planner.world.primitive import Primitive, PrimitiveCode, PrimitiveName
from planner.world.vocabulary import Relation
from sim_bridge.conformance_checks.trial import ConformanceError, Trial, expect

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


CHECKS = (senseless_numbers_are_refused, extreme_numbers_end_somehow)
