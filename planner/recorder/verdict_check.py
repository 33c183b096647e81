"""Whether a bag has every verdict that the evaluator reported. No ROS here.

A verdict is its publisher's only message, so a loss leaves no gap in the numbers; but `/evaluation`
repeats it every second.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field


@dataclass(slots=True)
class VerdictCheck:
    """Compares verdicts on `/evaluation/result` with those repeated on `/evaluation`."""

    _recorded: set[Hashable] = field(default_factory=set)
    _repeated: dict[Hashable, int] = field(default_factory=dict)

    def record(self, verdict: Hashable) -> None:
        """Notes a verdict that is in the bag."""
        self._recorded.add(verdict)

    def repeat(self, verdict: Hashable, received_ns: int) -> None:
        """Notes a repeated verdict."""
        self._repeated.setdefault(verdict, received_ns)

    def missing(self) -> list[int]:
        """When each verdict missing in the bag was first repeated, nanoseconds since the epoch."""
        return sorted(
            at_ns for verdict, at_ns in self._repeated.items() if verdict not in self._recorded
        )
