"""What the emulated robot really did: kept at every step of the emulator, and of nobody's word."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from sim_bridge.spot.emulator.server import SpotEmulator

# Less than this between two steps is rounding.
_STILL_M, _STILL_RAD = 1e-4, 1e-4


@dataclass(frozen=True, slots=True)
class Sample:
    """The robot after one step; `at_s` is the time of day of this machine."""

    at_s: float
    x_m: float
    y_m: float
    yaw_rad: float
    arm: tuple[float, float, float]
    powered: bool
    posture: str
    linear_m_s: float


@dataclass(frozen=True, slots=True)
class Motion:
    """A motion of base or arm; `metres` is the way of the base."""

    begins_s: float
    ends_s: float
    metres: float
    base: bool


class TruthLog:
    """Keeps a sample of each step."""

    def __init__(self, emulator: SpotEmulator) -> None:
        """Listens to an emulator, whose clock is the time of day, from now on."""
        self.samples: list[Sample] = []
        self._emulator = emulator
        self._inner = emulator.machine.on_step
        emulator.machine.on_step = self._step

    def _step(self, dt_s: float) -> None:
        if self._inner is not None:
            self._inner(dt_s)
        machine = self._emulator.machine
        world, agent = machine.world, machine.world.agent
        last = self.samples[-1] if self.samples else None
        gone_m = 0.0 if last is None else math.dist((agent.x_m, agent.y_m), (last.x_m, last.y_m))
        self.samples.append(
            Sample(
                machine.last_s,
                agent.x_m,
                agent.y_m,
                agent.yaw_rad,
                (agent.pan_rad, agent.tilt_rad, world.lift_m),
                machine.motors.value != "off",
                machine.posture.value,
                gone_m / max(dt_s, 1e-3),
            )
        )

    def moving(self) -> list[Motion]:
        """Every step in which base or arm moved, oldest first."""
        found: list[Motion] = []
        for before, after in zip(self.samples, self.samples[1:], strict=False):
            metres = math.dist((before.x_m, before.y_m), (after.x_m, after.y_m))
            turned = abs(math.remainder(after.yaw_rad - before.yaw_rad, math.tau)) > _STILL_RAD
            base = metres > _STILL_M or turned
            arm = any(abs(a - b) > _STILL_RAD for a, b in zip(before.arm, after.arm, strict=True))
            if base or arm:
                found.append(Motion(before.at_s, after.at_s, metres, base))
        return found


def joined(steps: Sequence[Motion], gap_s: float = 0.1) -> list[Motion]:
    """Steps that follow one another as one motion each."""
    found: list[Motion] = []
    for step in steps:
        last = found[-1] if found else None
        if last is not None and step.begins_s - last.ends_s <= gap_s:
            metres, base = last.metres + step.metres, last.base or step.base
            found[-1] = Motion(last.begins_s, step.ends_s, metres, base)
        else:
            found.append(step)
    return found
