"""An emulated Spot in real time behind a faulty link, and its ground truth."""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from planner.bad_day.calls.node import Operator
from planner.bad_day.harness import GOAL_TIMEOUT_S, Faults, enable
from planner.bad_day.motion import Motion, Sample
from planner.bad_day.records import Request
from planner.bad_day.robot_faults import RobotFaults
from planner.bad_day.safety_rules import safety_rules
from planner.bad_day.schedule import Form, Schedule
from planner.bad_day.truth import TruthLog
from planner.world.house_checks import load_episode
from planner.world.share import config_dir
from sim_bridge.opening import default_house, open_world
from sim_bridge.spot.emulator.clock import WallClock
from sim_bridge.spot.emulator.faults import Trouble, TroubleKind
from sim_bridge.spot.emulator.server import SpotEmulator

_TICK_S = 0.02
_SCENARIOS = config_dir() / "spot_scenarios"
SCENARIO = _SCENARIOS / "spot_1_cup_to_sink.json"
_THING, _GOAL = "cup_0", "sink_0"


class SpotHarness:
    """See `harness.RobotHarness`; its ground truth has no delay."""

    truth_delay_s = 0.0
    silent_bridge_s = 0.0
    goal_timeout_s = GOAL_TIMEOUT_S

    def __init__(self, schedule: Schedule, folder: Path, rules: Mapping[str, Any]) -> None:
        self._folder, self._rules = folder, rules
        self.emulator = SpotEmulator(WallClock(), link=True)
        self.emulator.calls.keep_requests = False
        self._layout = ""
        if schedule.form is Form.SPOT:
            episode, self.house = load_episode(SCENARIO)
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
        """Whether the goal of `SCENARIO` holds in the emulated world."""
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
