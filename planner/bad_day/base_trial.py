"""What the trials of the bridge and of whole stacks are given, and both keep."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from planner.bad_day.permission import Silence
from planner.bad_day.processes import Busy, Spawner
from planner.bad_day.schedule import Schedule


@dataclass(frozen=True, slots=True)
class Assignment:
    """One schedule and where it runs.

    Attributes:
        schedule: what goes wrong and when.
        spawner: starts the processes.
        folder: for logs and bags.
        domain: the ROS domain, this trial's alone.
        safety: changes to the harness's own safety rules, as config/safety.yaml has them.
    """

    schedule: Schedule
    spawner: Spawner
    folder: Path
    domain: int
    safety: Mapping[str, Any]


class BaseTrial:
    """One schedule that is run."""

    def __init__(self, given: Assignment) -> None:
        """Runs nothing yet."""
        self.schedule, self._spawner = given.schedule, given.spawner
        self._folder, self._domain, self._safety = given.folder, given.domain, given.safety
        self._busy = Busy()
        self._silences: list[Silence] = []
