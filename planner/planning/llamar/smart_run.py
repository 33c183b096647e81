"""Carries out a program of SmartLLM in joint steps: at most one action of each robot in a step."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from planner.planning.llamar.actions import Action
from planner.planning.llamar.smart_program import Allocation, Function, Functions, Join, Run


@dataclass
class _Active:
    """A function that runs; `at` is its next step."""

    function: Function
    robots: tuple[str, ...]
    thread: str
    at: int = 0

    @property
    def is_over(self) -> bool:
        return self.at == len(self.function.steps)


class ProgramRun:
    """One program. What becomes of an action is not looked at: the next one follows."""

    def __init__(self, functions: Functions, allocation: Allocation) -> None:
        """Nothing has been called."""
        self._functions, self._lines = functions.by_name, allocation.lines
        self._at = 0
        self._active: list[_Active] = []
        self._calling: _Active | None = None
        self.given = 0
        self.steps = sum(
            len(functions.by_name[line.function].steps)
            for line in allocation.lines
            if isinstance(line, Run)
        )

    def next(self) -> Mapping[str, Action]:
        """The next action of each robot that has one; empty once the program has ended.

        To be called after the actions of the last call have ended. Where several threads want the
        same robot, the one that began first has it.
        """
        self._advance()
        taken: dict[str, Action] = {}
        for active in self._active:
            step = active.function.steps[active.at]
            robot = active.robots[step.robot]
            if robot not in taken:
                taken[robot] = step.action
                active.at += 1
        self.given += len(taken)
        return taken

    @property
    def running(self) -> tuple[str, ...]:
        """The names of the functions that run."""
        return tuple(dict.fromkeys(active.function.name for active in self._active))

    def _advance(self) -> None:
        """Goes on to the first line that has to wait."""
        self._active = [active for active in self._active if not active.is_over]
        while self._at < len(self._lines) and not self._waits(self._lines[self._at]):
            self._at += 1

    def _waits(self, line: Run | Join) -> bool:
        """Whether a line, which is begun if it was not, has still to wait."""
        if isinstance(line, Join):
            return any(active.thread == line.thread for active in self._active)
        if self._calling is None:
            active = _Active(self._functions[line.function], line.robots, line.thread)
            if not active.is_over:
                self._active.append(active)
            if line.thread:
                return False
            self._calling = active
        is_running = not self._calling.is_over
        if not is_running:
            self._calling = None
        return is_running
