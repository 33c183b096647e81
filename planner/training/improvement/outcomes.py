"""The set of traces that policy improvement collects: outcomes of tasks, and failure rates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from planner.training.improvement.sampler import Floats


@dataclass(frozen=True, slots=True)
class Draw:
    """A task, and how often it was tried before: together they name a roll-out."""

    task: str
    number: int


@dataclass(frozen=True, slots=True)
class Ended:
    """A roll-out that ended.

    Attributes:
        success: None if nothing could be judged, such as after a crash.
        trace: common start of the names of its files; "" = none.
    """

    draw: Draw
    success: bool | None
    trace: Path | None = None


class Tally:
    """How often each task was tried, and how often it failed."""

    def __init__(self, tasks: Sequence[str]) -> None:
        """Starts empty; `tasks` are in the order of all arrays."""
        self.tasks = tuple(tasks)
        self._place = {task: i for i, task in enumerate(self.tasks)}
        self._tried = np.zeros(len(self.tasks), np.int64)
        self._failed = np.zeros(len(self.tasks), np.int64)

    def copy(self) -> Tally:
        """An independent copy."""
        made = Tally(self.tasks)
        made._tried[:], made._failed[:] = self._tried, self._failed
        return made

    def add(self, ended: Ended) -> None:
        """Counts a roll-out; one without a verdict counts nowhere."""
        if ended.success is None:
            return
        place = self._place[ended.draw.task]
        self._tried[place] += 1
        self._failed[place] += not ended.success

    def without_verdict(self) -> tuple[str, ...]:
        """The tasks that no roll-out was judged of."""
        return tuple(task for task, n in zip(self.tasks, self._tried, strict=True) if not n)

    def only(self, tasks: Sequence[str]) -> Tally:
        """The counts of some of the tasks."""
        made = Tally(tasks)
        for i, task in enumerate(made.tasks):
            made._tried[i] = self._tried[self._place[task]]
            made._failed[i] = self._failed[self._place[task]]
        return made

    def failure_rates(self) -> Floats:
        """Failed / all of each task, (tasks,) (EPM-2.8, eq. 2).

        A task that was never judged has 1: nothing is known to solve it.
        """
        rates = np.ones(len(self.tasks))
        np.divide(self._failed, self._tried, out=rates, where=self._tried > 0)
        return rates
