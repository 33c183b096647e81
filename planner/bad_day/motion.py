"""Samples of a robot's state, and the motions derived from them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

# Smaller changes between two steps are rounding.
_STILL_M, _STILL_RAD = 1e-4, 1e-4


@dataclass(frozen=True, slots=True)
class Sample:
    """The robot after one step; `at_s` is this machine's wall-clock time, `owner` of its lease."""

    at_s: float
    x_m: float
    y_m: float
    yaw_rad: float
    arm: tuple[float, float, float]
    powered: bool
    posture: str
    linear_m_s: float
    owner: str = ""


@dataclass(frozen=True, slots=True)
class Motion:
    """A motion of base or arm; `metres` is the distance the base covered."""

    begins_s: float
    ends_s: float
    metres: float
    base: bool


def moving(samples: Sequence[Sample]) -> list[Motion]:
    """Every step in which base or arm moved, oldest first."""
    found: list[Motion] = []
    for before, after in pairwise(samples):
        metres = math.dist((before.x_m, before.y_m), (after.x_m, after.y_m))
        turned = abs(math.remainder(after.yaw_rad - before.yaw_rad, math.tau)) > _STILL_RAD
        base = metres > _STILL_M or turned
        arm = any(abs(a - b) > _STILL_RAD for a, b in zip(before.arm, after.arm, strict=True))
        if base or arm:
            found.append(Motion(before.at_s, after.at_s, metres, base))
    return found


def joined(steps: Sequence[Motion], gap_s: float = 0.1) -> list[Motion]:
    """Merges consecutive steps into one motion each."""
    found: list[Motion] = []
    for step in steps:
        last = found[-1] if found else None
        if last is not None and step.begins_s - last.ends_s <= gap_s:
            metres, base = last.metres + step.metres, last.base or step.base
            found[-1] = Motion(last.begins_s, step.ends_s, metres, base)
        else:
            found.append(step)
    return found
