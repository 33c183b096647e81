"""The embedded simulator in the robot's place: no link that could be bad, and no SDK needed."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

from planner.bad_day.calls.node import Operator
from planner.bad_day.motion import Motion, Sample
from planner.bad_day.safety_rules import safety_rules
from planner.bad_day.schedule import RECOVERY, Event, Schedule
from planner.bad_day.sides import READY_S, Faults
from planner.bad_day.watching.node import Watcher
from planner.world.errors import PlannerError
from planner.world.house_checks import load_house
from sim_bridge.opening import default_house

# A state is heard a little after the motion that it tells of.
HEARD_S = 0.3


class NoFaults(Faults):
    """A simulator in the bridge has no link and nobody else's lease."""

    def do(self, event: Event) -> bool:
        """None is of this kind."""
        del event
        return False

    def undo(self, event: Event) -> None:
        """Nothing was done."""

    def mend(self) -> None:
        """Nothing was broken."""


class SimSide:
    """Hears the simulator's truth; times are those of the day."""

    heard_s = HEARD_S

    def __init__(
        self, schedule: Schedule, folder: Path, rules: Mapping[str, Any], domain: int
    ) -> None:
        self._schedule, self._folder, self._rules = schedule, folder, rules
        self.house = load_house(default_house())
        self.faults: Faults = NoFaults()
        self.environment: Mapping[str, str] = {}
        self._watcher = Watcher(domain, clock=time.time)

    def __enter__(self) -> SimSide:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._watcher.close()

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
        """Simulated agents may do everything from the start.

        Raises:
            PlannerError: where the bridge does not come.
        """
        if not operator.reaches("claim", READY_S):
            raise PlannerError("the bridge does not come")
        operator.prepare("stop", "sit", "release", "power_off", *RECOVERY)
        operator.prepare("estop/gentle", "estop/hard")

    def stand_still(self) -> None:
        """The simulator ended with its bridge."""

    def moving(self) -> list[Motion]:
        """Every step in which the agent moved."""
        return [step for steps in self._watcher.moving.values() for step in steps]

    def samples(self) -> list[Sample]:
        """None: simulated agents walk at a speed of their own, and no rule bounds it."""
        return []
