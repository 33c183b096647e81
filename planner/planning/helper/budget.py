"""The limits of one task: skill calls and failures, each an end of its own (HELPER-D43)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from planner.world.skill import SkillCode, SkillName, SkillResult

# A call that was canceled, or for which the agent was not free, says nothing about the task.
_NO_FAILURES = frozenset({SkillCode.SUCCESS, SkillCode.CANCELED, SkillCode.BUSY})


class Limit(StrEnum):
    """What a task has used up."""

    STEPS = "step_limit"
    FAILURES = "failure_limit"


@dataclass
class Budget:
    """Counts what a task has used.

    Attributes:
        max_steps: skill calls.
        max_failures: skill calls that failed.
    """

    max_steps: int
    max_failures: int
    steps: int = 0
    failures: int = 0

    def count(self, name: str, result: SkillResult) -> None:
        """Counts a call that ended."""
        if name == SkillName.DONE:
            return
        self.steps += 1
        self.failures += result.code not in _NO_FAILURES

    @property
    def used_up(self) -> Limit | None:
        """The limit that is reached; None if none is."""
        if self.failures >= self.max_failures:
            return Limit.FAILURES
        return Limit.STEPS if self.steps >= self.max_steps else None

    @property
    def reason(self) -> str:
        """Why the task ends, in words; "" while it goes on."""
        match self.used_up:
            case Limit.FAILURES:
                return f"failure limit: {self.failures} skill calls failed"
            case Limit.STEPS:
                return f"step limit: {self.steps} skill calls were made"
            case None:
                return ""
