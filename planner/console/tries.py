"""The tries at one task: up to three until one succeeds; the best counts (PARTNR-10)."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field

from planner.console.table import Json

# PARTNR-10: each task has up to three tries.
MAX_TRIES = 3


@dataclass(slots=True)
class Try:
    """One try.

    Attributes:
        number: 1 = the first.
        percent: share of the task that was done, 0 to 1; None = nobody judged it.
        state: `running`, `succeeded` or `failed`, as the judge says.
    """

    number: int
    percent: float | None = None
    state: str = "running"
    # The judge repeats its last verdict until it judges anew; that one is not of this try.
    is_judged: bool = False

    def as_json(self) -> dict[str, Json]:
        """For the page and the record."""
        return {"number": self.number, "percent": self.percent, "state": self.state}


@dataclass(slots=True)
class Tries:
    """The tries at the task that was begun last; its methods may be called from any thread.

    Attributes:
        task: its words; "" = none was begun.
        who: began the newest try, for the record.
        together: whether persons do the newest try by themselves, so that no planner ends it.
    """

    task: str = ""
    who: str = ""
    together: bool = False
    _tries: list[Try] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def begin(
        self, task: str, who: str = "", *, together: bool = False, first: bool = False
    ) -> int:
        """A try at a task begins, or the `first` one anew; returns its number."""
        with self._lock:
            self.who, self.together = who, together
            if first or task != self.task:
                self.task, self._tries = task, []
            self._tries.append(Try(len(self._tries) + 1))
            return len(self._tries)

    def judged(self, percent: float | None, state: str) -> Try | None:
        """What the judge says of the running try; returns the try if that ends it."""
        with self._lock:
            if not self._tries or self._tries[-1].state != "running":
                return None
            now = self._tries[-1]
            now.is_judged |= state == "running"
            if not now.is_judged:
                return None
            now.percent, now.state = percent, state
            return now if state != "running" else None

    def expect_verdict(self) -> None:
        """The judge was asked for its verdict: the next one is of the running try."""
        with self._lock:
            if self._tries:
                self._tries[-1].is_judged = True

    def give_up(self) -> Try | None:
        """The running try ends as it is, without a verdict; None if there is none."""
        with self._lock:
            if not self._tries or self._tries[-1].state != "running":
                return None
            self._tries[-1].state = "failed"
            return self._tries[-1]

    def running(self) -> Try | None:
        """The running try; None if there is none."""
        with self._lock:
            last = self._tries[-1] if self._tries else None
            return last if last is not None and last.state == "running" else None

    def is_open(self) -> bool:
        """Whether persons do a try by themselves now."""
        with self._lock:
            return self.together and bool(self._tries) and self._tries[-1].state == "running"

    def best(self) -> int:
        """The number of the successful try, else of the one with most done; 0 = none was begun."""
        with self._lock:
            ranked = [(each.state == "succeeded", each.percent or 0.0) for each in self._tries]
            return ranked.index(max(ranked)) + 1 if ranked else 0

    def refusal(self) -> str:
        """Why the task is not offered again; "" = it is."""
        with self._lock:
            if not self._tries:
                return "no task was begun at this console"
            if any(each.state == "succeeded" for each in self._tries):
                return "the task has succeeded"
            if len(self._tries) >= MAX_TRIES:
                return f"the task had its {MAX_TRIES} tries"
            return ""

    def number(self) -> int:
        """Of the running or last try; 0 = none was begun."""
        with self._lock:
            return len(self._tries)

    def as_json(self) -> dict[str, Json]:
        """All of them, for the page."""
        best, refusal = self.best(), self.refusal()
        with self._lock:
            return {
                "task": self.task,
                "most": MAX_TRIES,
                "best": best,
                "again": refusal,
                "together": self.together,
                "tries": [each.as_json() for each in self._tries],
            }
