"""The base of bridge trials and stack trials."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from planner.bad_day.permission import Revocation
from planner.bad_day.processes import CpuLoad, Spawner
from planner.bad_day.schedule import Schedule


@dataclass(frozen=True, slots=True)
class Assignment:
    """One schedule and where it runs.

    Attributes:
        schedule: the faults.
        spawner: starts the processes.
        folder: for logs and bags.
        domain: the ROS domain, reserved for this trial.
        safety: overrides of the harness's safety rules, in the form of config/safety.yaml.
    """

    schedule: Schedule
    spawner: Spawner
    folder: Path
    domain: int
    safety: Mapping[str, Any]


class BaseTrial:
    """A run of one schedule."""

    def __init__(self, assignment: Assignment) -> None:
        """Prepares the run without starting it."""
        self.schedule, self._spawner = assignment.schedule, assignment.spawner
        self._folder, self._domain, self._safety = (
            assignment.folder,
            assignment.domain,
            assignment.safety,
        )
        self._busy = CpuLoad()
        self._revocations: list[Revocation] = []
