"""An emulated Spot in real time behind a faulty link, with injected faults and ground truth."""

from __future__ import annotations

import json
import math
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from planner.bad_day.faults import Event, Fault, Schedule
from planner.bad_day.harness import GOAL_TIMEOUT_S, Faults, enable, safety_rules
from planner.bad_day.permission import (
    Cause,
    ClockSetBack,
    Motion,
    Request,
    Revocation,
    Sample,
    moving,
)
from planner.bad_day.schedule import FORMS
from planner.bad_day.watching.node import Operator
from planner.world.house_checks import load_episode
from planner.world.share import config_dir
from sim_bridge.opening import default_house, open_world
from sim_bridge.spot.emulator.faults import LinkRelay, Trouble, TroubleKind
from sim_bridge.spot.emulator.machine import WallClock
from sim_bridge.spot.emulator.server import SpotEmulator

# Ground truth of the emulated robot, recorded at every step of the emulator.


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


# Injects faults of link and robot into an emulator, and records when they forbid motion.

_KINDS = {
    Fault.DROP_REQUEST: TroubleKind.DROP_REQUEST,
    Fault.DROP_ANSWER: TroubleKind.DROP_ANSWER,
    Fault.REORDER: TroubleKind.REORDER,
}
# How long a request that is to be reordered waits for a later one.
_HOLD_S = 2.0


class RobotFaults(Faults):
    """Injects faults and records when they forbid motion."""

    def __init__(self, emulator: SpotEmulator) -> None:
        assert emulator.link is not None  # noqa: S101 - the harness makes it with one
        super().__init__()
        self._emulator, self._link = emulator, emulator.link

    @property
    def link(self) -> LinkRelay:
        """The relay in front of the emulator."""
        return self._link

    def inject(self, event: Event) -> bool:
        """Injects a fault; False if it is not one of link or robot."""
        now_s = time.time()
        match event.fault:
            case Fault.ROUND_TRIP:
                self._link.change(round_trip_s=event.value)
                self.longest_round_trip_s = max(self.longest_round_trip_s, event.value)
            case Fault.LOSS:
                self._link.change(loss=event.value)
            case Fault.STALL:
                self._link.stall(event.seconds)
                self._revoke(now_s, now_s + event.seconds, Cause.LINK_SILENT, ends=False)
            case Fault.CUT:
                self._link.cut()
            case Fault.DROP_REQUEST | Fault.DROP_ANSWER | Fault.REORDER:
                self._trouble(_KINDS[event.fault], method=event.name, seconds=_HOLD_S)
            case Fault.TAKE_LEASE:
                self._trouble(TroubleKind.TAKE_LEASE, name=event.name)
                self._revoke(now_s, math.inf, Cause.LEASE_TAKEN, ends=True)
            case Fault.CLOCK_STEP:
                skew_s = self._emulator.machine.skew_s + event.value
                self._trouble(TroubleKind.CLOCK_SKEW, value=skew_s)
                if event.value < 0:
                    self.set_back.append(ClockSetBack(now_s, -event.value))
            case Fault.ESTOP:
                self._trouble(TroubleKind.ESTOP, value=1.0)
                self._revoke(now_s, math.inf, Cause.ESTOP, ends=True)
            case _:
                return False
        return True

    def clear(self, event: Event) -> None:
        """Ends a fault of limited duration."""
        if event.fault is Fault.ESTOP:
            self._trouble(TroubleKind.ESTOP, value=0.0)
        elif event.fault is Fault.TAKE_LEASE:
            self._trouble(TroubleKind.RETURN_LEASE)

    def clear_all(self) -> None:
        """Restores a good link and drops pending faults."""
        self._link.change(round_trip_s=0.0, loss=0.0)
        self._emulator.forget_call_faults()
        self._trouble(TroubleKind.ESTOP, value=0.0)

    def _trouble(self, kind: TroubleKind, **more: object) -> None:
        self._emulator.trouble(Trouble.model_validate({"kind": kind, **more}))

    def _revoke(self, begins_s: float, ends_s: float, cause: Cause, *, ends: bool) -> None:
        self.revocations.append(Revocation(begins_s, ends_s, cause, ends))


_TICK_S = 0.02
_SCENARIOS = config_dir() / "spot_scenarios"
_THING, _GOAL = "cup_0", "sink_0"


class SpotHarness:
    """See `harness.RobotHarness`; its ground truth has no delay."""

    truth_delay_s = 0.0
    silent_bridge_s = 0.0
    goal_timeout_s = GOAL_TIMEOUT_S

    def __init__(
        self, schedule: Schedule, folder: Path, rules: Mapping[str, Any], _domain: int
    ) -> None:
        self._folder, self._rules = folder, rules
        self.emulator = SpotEmulator(WallClock(), link=True)
        self.emulator.calls.keep_requests = False
        self._layout = ""
        task = FORMS.get(schedule.form).task
        if task is not None:
            episode, self.house = load_episode(task.episode)
            self._layout = str(_SCENARIOS / "train_0_layout.yaml")
            self.emulator.load(self.house, episode, schedule.seed)
        else:
            opened = open_world(default_house(), "", schedule.seed, 1)
            self.house = opened.house
            self.emulator.load(opened.house, opened.episode, opened.seed)
        self.truth = TruthLog(self.emulator)
        self.faults: Faults = RobotFaults(self.emulator)
        self._over = threading.Event()
        self._pump = threading.Thread(target=self._advance, name="robot", daemon=True)

    def __enter__(self) -> SpotHarness:
        self._pump.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self.stand_still()
        self.emulator.close()

    def stand_still(self) -> None:
        """Stops its time; `truth` has what it did until now."""
        self._over.set()
        self._pump.join(2.0)
        self.emulator.advance()

    def moving(self) -> list[Motion]:
        """Every step in which base or arm moved, oldest first."""
        return self.truth.moving()

    def samples(self) -> list[Sample]:
        """The robot after every step."""
        return self.truth.samples

    def _advance(self) -> None:
        while not self._over.wait(_TICK_S):
            self.emulator.advance()

    def goal_holds(self) -> bool:
        """Whether the task's goal holds in the emulated world."""
        truth = self.emulator.truth()
        return truth is not None and truth.entities[_THING].parent == _GOAL

    @property
    def places(self) -> list[tuple[float, float]]:
        """The furniture."""
        return [(piece.x_m, piece.y_m) for piece in self.house.furniture]

    @property
    def environment(self) -> Mapping[str, str]:
        """The robot's credentials, as environment variables of the bridge."""
        return {
            "BOSDYN_CLIENT_USERNAME": self.emulator.user,
            "BOSDYN_CLIENT_PASSWORD": self.emulator.password,
        }

    def arguments(self) -> dict[str, str]:
        """The bridge's arguments for this robot."""
        spot: dict[str, Any] = {
            "version": 1,
            "target": "robot",
            "address": self.emulator.address,
            "port": self.emulator.port,
            "certificate": str(self.emulator.authority),
            "fiducials": [{"tag": 500, "position_m": [0.0, 0.0, 1.0], "yaw_rad": 0.0}],
            "layout": self._layout,
        }
        settings, safety = self._folder / "spot.json", self._folder / "safety.json"
        settings.write_text(json.dumps(spot), "utf-8")
        safety.write_text(json.dumps(safety_rules(self._rules)), "utf-8")
        return {"backend": "spot", "backend_config": str(settings), "safety_config": str(safety)}

    def make_ready(self, operator: Operator) -> None:
        """Claims it, powers it on and makes it stand.

        Raises:
            PlannerError: if one of these fails.
        """
        enable(operator, self._return_lease)

    def _return_lease(self, refused: Request) -> None:
        if "holds the lease" in refused.outcome:
            # The answer to its own claim came too late: there is no other client yet.
            self.emulator.trouble(Trouble(kind=TroubleKind.RETURN_LEASE))

    def programs(self) -> list[tuple[str, int | None, str]]:
        """None: it is part of this process."""
        return []
