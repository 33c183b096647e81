"""Ground truth of the emulated robot, recorded at every step of the emulator."""

from __future__ import annotations

import math

from planner.bad_day.motion import Motion, Sample, moving
from sim_bridge.spot.emulator.server import SpotEmulator


class TruthLog:
    """Records a sample of each step."""

    def __init__(self, emulator: SpotEmulator) -> None:
        """Starts recording an emulator whose clock is wall-clock time."""
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
                machine.lease.owner,
            )
        )

    def moving(self) -> list[Motion]:
        """Every step in which base or arm moved, oldest first."""
        return moving(self.samples)
