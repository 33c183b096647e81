"""Injects the events of a schedule when they are due, and ends those of limited duration."""

from __future__ import annotations

import time
from collections.abc import Callable

from planner.bad_day.schedule import Event, Schedule

_TICK_S = 0.02


class Timeline:
    """Runs one schedule, starting now."""

    def __init__(self, schedule: Schedule) -> None:
        self._seconds = schedule.seconds
        self._due: list[tuple[float, bool, Event]] = [
            (event.at_s, True, event) for event in schedule.events
        ]

    def run(
        self,
        inject: Callable[[Event], None],
        clear: Callable[[Event], None],
        is_over: Callable[[], bool] = lambda: False,
    ) -> None:
        """Returns after the schedule's duration or once `is_over()`, with all faults ended."""
        began_s = time.monotonic()
        while (now_s := time.monotonic() - began_s) < self._seconds and not is_over():
            self._due.sort(key=lambda each: each[0])
            if not self._due or self._due[0][0] > now_s:
                time.sleep(_TICK_S)
                continue
            _, begins, event = self._due.pop(0)
            if not begins:
                clear(event)
                continue
            inject(event)
            if event.seconds:
                self._due.append((now_s + event.seconds, False, event))
        for _, begins, event in self._due:
            if not begins:
                clear(event)
