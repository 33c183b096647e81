"""The embedded simulator as the robot under test: no network link, and no SDK needed."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from planner.bad_day.faults import RECOVERY, Event, Schedule
from planner.bad_day.harness import GOAL_TIMEOUT_S, READY_S, Faults, safety_rules
from planner.bad_day.permission import Motion, Sample
from planner.bad_day.watching.node import Operator, Watcher
from planner.world.errors import PlannerError
from planner.world.house_checks import load_house
from sim_bridge.opening import default_house

# A state message arrives a little after the motion it reports.
TRUTH_DELAY_S = 0.3


class NoFaults(Faults):
    """A simulator inside the bridge has no link and no lease."""

    def inject(self, event: Event) -> bool:
        """Injects nothing."""
        del event
        return False

    def clear(self, event: Event) -> None:
        """Nothing was injected."""

    def clear_all(self) -> None:
        """Nothing was injected."""


class SimHarness:
    """Subscribes to the simulator's ground truth; times are wall-clock time."""

    truth_delay_s = TRUTH_DELAY_S
    silent_bridge_s = 0.0
    goal_timeout_s = GOAL_TIMEOUT_S

    def __init__(
        self, _schedule: Schedule, folder: Path, rules: Mapping[str, Any], domain: int
    ) -> None:
        self._folder, self._rules = folder, rules
        self.house = load_house(default_house())
        self.faults: Faults = NoFaults()
        self.environment: Mapping[str, str] = {}
        self._watcher = Watcher(domain, clock=time.time)

    def __enter__(self) -> SimHarness:
        return self

    def __exit__(self, *_error: object) -> None:
        self._watcher.close()

    @property
    def places(self) -> list[tuple[float, float]]:
        """The furniture."""
        return [(piece.x_m, piece.y_m) for piece in self.house.furniture]

    def arguments(self) -> dict[str, str]:
        """The bridge's arguments."""
        safety = self._folder / "safety.json"
        safety.write_text(json.dumps(safety_rules(self._rules)), "utf-8")
        return {
            "backend": "embedded",
            "house": default_house(),
            "agents": "1",
            "safety_config": str(safety),
        }

    def make_ready(self, operator: Operator) -> None:
        """Waits for the bridge; simulated agents need no preparation.

        Raises:
            PlannerError: if the bridge does not start in time.
        """
        if not operator.reaches("claim", READY_S):
            raise PlannerError("the bridge did not start in time")
        operator.prepare("stop", "sit", "release", "power_off", *RECOVERY)
        operator.prepare("estop/gentle", "estop/hard")

    def stand_still(self) -> None:
        """Does nothing: the simulator ended with its bridge."""

    def moving(self) -> list[Motion]:
        """Every step in which the agent moved."""
        return [step for steps in self._watcher.moving.values() for step in steps]

    def samples(self) -> list[Sample]:
        """None: no rule bounds the speed of simulated agents."""
        return []

    def goal_holds(self) -> bool:
        """False: it has no task."""
        return False

    def programs(self) -> list[tuple[str, int | None, str]]:
        """None: it is part of the bridge."""
        return []
