"""Simulation steps of a task, counted from its instruction instead of from the load."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from planner.world.memory_wire import stamp_seconds

# Of PARTNR's simulator and ours; a real world has no steps of its own.
STEPS_PER_S = 30.0
# An instruction this much older than the previous one means that the world was reloaded.
_BACKWARDS_S = 0.5
_RUNNING = 1


def task_steps(step: int, stamp_s: float, start_s: float | None) -> int:
    """Simulation steps of a task up to a state of the world.

    Args:
        step: of the state, since the world was loaded.
        stamp_s: of the state, on the world's clock.
        start_s: time of the instruction on the same clock; None or NaN = unknown, so that all
            steps since the load count.
    """
    if start_s is None or not math.isfinite(start_s):
        return step
    return min(step, max(0, round((stamp_s - start_s) * STEPS_PER_S)))


def verdict_steps(message: Any) -> int:
    """Simulation steps of the task in a planner_msgs/Evaluation.

    In older messages, without the field `start_s`, `sim_step` has the steps of the task.
    """
    start_s = float(getattr(message, "start_s", math.nan))
    return task_steps(int(message.sim_step), stamp_seconds(message.header.stamp), start_s)


@dataclass(slots=True)
class TaskStart:
    """Time of the first instruction with a goal since the world was loaded.

    Attributes:
        start_s: on the world's clock; None = there was no such instruction.
    """

    start_s: float | None = None
    _newest_s: float = -math.inf

    def observe(self, status: Any) -> None:
        """Processes the next planner_msgs/InstructStatus."""
        stamp_s = stamp_seconds(status.header.stamp)
        if stamp_s < self._newest_s - _BACKWARDS_S:
            self.start_s = None
        self._newest_s = stamp_s
        has_goal = bool(status.goal and status.episode_id)
        if status.state == _RUNNING and has_goal and self.start_s is None:
            self.start_s = stamp_s
